package shufflelifecycle;

import java.util.Set;
import java.util.TreeSet;

/**
 * A result stage that has read, or may have read, the old generation of what is written again: will it mix two generations?
 *
 * Its tasks that began before that was heard of are the old ones: they have read the old generation. The result mixes if an
 * old task delivers its partition and a later task another one. That is known as soon as a later task begins; a speculative
 * copy of an old task may never deliver, so that one counts when it does. If the old tasks have not all read the same
 * generation (`isTorn`), one of them that delivers is enough.
 */
class WatchedResult {
  private static final int ENDED = -1;
  final History.Result result;
  final int input; // the shuffle that is written again
  private final int attempt; // the attempt that has read the old generation; ENDED: the job was over already
  private final long since; // the first task that is not an old one
  private final boolean isTorn; // old tasks have read both generations, or a mix
  private int delivered; // how many partitions old tasks have delivered
  private final Set deliveredAnew = new TreeSet(); // the partitions that later tasks have delivered
  private boolean areOldEnded = false;
  private boolean hasBegunAnew = false; // a later attempt, or a later task

  WatchedResult(History.Result result, int input, int attempt, long since, int delivered, boolean isTorn) {
    this.result = result;
    this.input = input;
    this.attempt = attempt;
    this.since = since;
    this.delivered = delivered;
    this.isTorn = isTorn;
  }

  /** Of a job that was over when this was found, while none of its tasks had been heard of. */
  static WatchedResult ofEnded(History.Result result, int input, long since) {
    return new WatchedResult(result, input, ENDED, since, 0, false);
  }

  boolean isOfEndedThatReadAnew() {
    return attempt == ENDED && !deliveredAnew.isEmpty();
  }

  int delivered() {
    return delivered;
  }

  boolean isLater(int attempt) {
    return attempt > this.attempt;
  }

  /** Whether what is told of it from now on is told task by task. */
  boolean hasBegunAnew() {
    return hasBegunAnew;
  }

  void beginsAnew() {
    hasBegunAnew = true;
  }

  void begins(long task, boolean isSpeculative) {
    hasBegunAnew |= task >= since && !isSpeculative;
  }

  /** Spark takes the first one of a partition, and says of each later one that it succeeded too. */
  void delivers(long task, int partition) {
    Integer part = Integer.valueOf(partition);
    if (task >= since) {
      hasBegunAnew = true;
      deliveredAnew.add(part);
    } else if (!deliveredAnew.contains(part)) {
      delivered++;
    }
  }

  boolean mixes() {
    return (hasBegunAnew || isTorn) && delivered > 0;
  }

  /** Whether the old ones that run would make it a mix, and do not have to: said once. */
  boolean takeToBeginAgain() {
    boolean isTo = hasBegunAnew && delivered == 0 && !areOldEnded;
    areOldEnded |= isTo;
    return isTo;
  }

  /** Whether what it has read was of both already, as long as a task runs, or has delivered, that was old then. */
  boolean isTornSince(long first) {
    return (isTorn || hasBegunAnew) && first < since;
  }

  boolean isOld(long task) {
    return task < since;
  }

  /** Where all has been delivered: what was not by later tasks was by old ones, also by those nobody counted. */
  boolean hasMixed() {
    return !deliveredAnew.isEmpty() && deliveredAnew.size() < result.partitions;
  }
}
