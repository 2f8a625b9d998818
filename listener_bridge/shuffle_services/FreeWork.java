package shufflelifecycle;

import java.util.Set;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;

/** The check before a deletion, in the scheduler's thread: is it still the last generation; then hold the outputs. */
public class FreeWork implements Work {
  public static final String CLEAR = "clear";

  private final MapOutputTrackerMaster tracker;
  private final Users users;
  private final Generations.Shuffle shuffle;
  private final int generation;
  private final long limitMs;
  Hold hold = null; // set where the outputs are held

  FreeWork(MapOutputTrackerMaster tracker, Users users, Generations.Shuffle shuffle, int generation, long limitMs) {
    this.tracker = tracker;
    this.users = users;
    this.shuffle = shuffle;
    this.generation = generation;
    this.limitMs = limitMs;
  }

  public Object run() throws Exception {
    scala.Option status = tracker.shuffleStatuses().get(Integer.valueOf(shuffle.id));
    if (!status.isDefined()) {
      return CLEAR; // Spark's cleaner was here: nobody writes this shuffle any more
    }
    if (generation >= shuffle.present) {
      return Answer.failed("generation " + generation + " of app shuffle " + shuffle.id + " is not fenced; fence it first");
    }
    if (generation < shuffle.present - 1) {
      return Answer.superseded("generation " + (shuffle.present - 1) + " of app shuffle " + shuffle.id + ", fenced too");
    }
    Set writers = users.writersOf(shuffle.id);
    int available = Outputs.available((ShuffleStatus) status.get());
    if (available > 0 || !writers.isEmpty()) {
      String what = available > 0 ? available + " outputs" : writers.toString();
      return Answer.superseded("generation " + shuffle.present + " of app shuffle " + shuffle.id + ": " + what);
    }
    Hold wanted = new Hold((ShuffleStatus) status.get(), limitMs);
    if (!wanted.take()) {
      return Answer.failed("the outputs of app shuffle " + shuffle.id + " are in use; ask again");
    }
    hold = wanted;
    return CLEAR;
  }
}
