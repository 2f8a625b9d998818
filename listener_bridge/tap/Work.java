package shufflelifecycle;

/** Something short to be done in the scheduler's thread, between two of its events. */
public interface Work {
  Object run() throws Throwable;
}
