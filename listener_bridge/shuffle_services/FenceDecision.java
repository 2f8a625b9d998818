package shufflelifecycle;

import java.util.Set;

/**
 * Whether a generation may be fenced now: the same question for every shuffle service, in the scheduler's thread. It is
 * asked twice.
 *
 * The first time it only looks. A writer that has ended may still have its output under way to the scheduler, in an event
 * that stands behind the first run, and would register an output of the old generation after the fence. Task sets stay
 * known until that event is posted; so what the first run does not see is handled before the second, which looks and acts.
 */
public class FenceDecision {
  public static final int ANY = -1;

  private final Scheduler scheduler;
  private final Generations.Shuffle shuffle;
  private final int expected;
  private boolean looked = false;
  boolean foundNothing = false; // it was answered so: Spark has outputs of no writer, and none runs

  public FenceDecision(Scheduler scheduler, Generations.Shuffle shuffle, int expected) {
    this.scheduler = scheduler;
    this.shuffle = shuffle;
    this.expected = expected;
  }

  /**
   * Who must not lose it: whoever uses it, and whoever waits to, unless a generation is named. What is named is suspect,
   * and who waits for it waits for another one.
   */
  public Set users(Users users) {
    return expected == ANY ? users.orWaiting(shuffle.id) : users.of(shuffle.id);
  }

  /**
   * The answer that it comes to now: a final one, or `AGAIN`; null: fence it, in this very run. `isThere`: something may
   * be there to be deleted, by Spark's outputs or by what the service keeps when Spark has lost them.
   */
  public String of(boolean isThere, Set users, boolean isWritten) {
    boolean begun = isThere || isWritten || shuffle.hasBegun;
    if (!begun && shuffle.present > 0 && (expected == ANY || expected == shuffle.present - 1)) {
      shuffle.markAgain(scheduler);
      return Answer.fenced(shuffle);
    }
    if (expected != ANY && expected != shuffle.present) {
      return Answer.superseded("generation " + shuffle.present + " of app shuffle " + shuffle.id);
    }
    if (!users.isEmpty()) {
      return Answer.busy(users);
    }
    if (!isThere && expected == ANY) {
      foundNothing = true;
      return Answer.superseded("nothing: app shuffle " + shuffle.id + " has no outputs, none was written or all are lost");
    }
    if (!looked) {
      looked = true;
      return Work.AGAIN;
    }
    return null;
  }
}
