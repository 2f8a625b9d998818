package shufflelifecycle;

/** Something short to be done in the scheduler's thread, between two of its events. */
public interface Work {
  /** What work answers that wants to be run once more, behind all that waits for the scheduler now. */
  String AGAIN = "again";

  Object run() throws Throwable;
}
