package shufflelifecycle;

import java.util.Set;
import org.apache.spark.CleanerListener;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.MapStatus;

/**
 * The fence of one generation, in the scheduler's thread: refuse, or have Spark forget the outputs. It is run twice
 * (`FenceDecision`).
 *
 * Order: locations before forgetting them; the marker after it, within the same run, so that no event comes between.
 */
public class FenceWork implements Work {
  private final Scheduler scheduler;
  private final MapOutputTrackerMaster tracker;
  private final Users users;
  private final Generations generations;
  private final Generations.Shuffle shuffle;
  private final FenceDecision decision;
  private final CleanerListener allocation;
  MapStatus[] outputs = null; // set where this run fenced

  FenceWork(
      Scheduler scheduler,
      MapOutputTrackerMaster tracker,
      Users users,
      Generations generations,
      CleanerListener allocation,
      int id,
      int expected) {
    this.scheduler = scheduler;
    this.tracker = tracker;
    this.users = users;
    this.generations = generations;
    this.allocation = allocation;
    this.shuffle = generations.of(id);
    this.decision = new FenceDecision(scheduler, shuffle, expected);
  }

  boolean foundNothing() {
    return decision.foundNothing;
  }

  /** A final answer; `AGAIN` after the first run. */
  public Object run() {
    scala.Option status = tracker.shuffleStatuses().get(Integer.valueOf(shuffle.id));
    if (!status.isDefined()) {
      generations.cleaned(shuffle.id); // to ask for it has made an entry
      return Answer.unregistered(shuffle.id);
    }
    Set who = decision.users(users);
    boolean isThere = Outputs.available((ShuffleStatus) status.get()) > 0;
    String answer = decision.of(isThere, who, !users.writersOf(shuffle.id).isEmpty());
    if (answer != null) {
      return answer;
    }
    return fence((ShuffleStatus) status.get());
  }

  private String fence(ShuffleStatus status) {
    outputs = (MapStatus[]) status.mapStatuses().clone();
    tracker.unregisterAllMapAndMergeOutput(shuffle.id); // throws where Spark's cleaner has just been here
    generations.owe(shuffle.id, scheduler.nextTaskId());
    shuffle.bytes = 0L;
    shuffle.pass(scheduler);
    letExecutorsGo();
    return Answer.FENCED;
  }

  /**
   * Where executors come and go with what they hold (`spark.dynamicAllocation.shuffleTracking.enabled`), who holds only
   * this may go. Told here, where no writer runs: what the next one writes is counted after it.
   */
  private void letExecutorsGo() {
    try {
      if (allocation != null) {
        allocation.shuffleCleaned(shuffle.id);
      }
    } catch (Throwable t) { // they stay until Spark's cleaner finds the shuffle, as they would without us
    }
  }
}
