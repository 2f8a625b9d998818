package shufflelifecycle;

/**
 * A shuffle service that has to know which shuffles are written again as a whole, because it would otherwise let a new
 * attempt continue an older one. Called in the scheduler's thread.
 */
public interface Rewrites {
  void begins(int shuffle);

  void ends(int shuffle);

  /** Spark was told to forget what was written of it: nothing of that may be continued. */
  void forgotten(int shuffle);

  /** A map stage of it has ended, and something of it was forgotten before; answers whether all of it can be read. */
  boolean isReadable(int shuffle);

  /** Whether an executor reads, for all of an attempt, what the first task of it there was told: any thread. */
  boolean areReadersToldOnce();
}
