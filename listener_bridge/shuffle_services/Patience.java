package shufflelifecycle;

/**
 * A limit for one call of somebody else's client that has none of its own, or too long a one: who waits for too long is
 * interrupted, again and again until it gives up.
 *
 * Invariant: nobody is interrupted after `over`, and whoever called it carries no interrupt of ours on.
 */
public class Patience extends Thread {
  private static final long AGAIN_MS = 100L;

  private final Thread waiting = Thread.currentThread();
  private final Silences silences;
  private final String whom;
  private final long limitMs;
  private boolean hasRunOut = false;
  private boolean isSilent = false;
  private boolean isOver = false;

  Patience(Silences silences, String whom, long limitMs) {
    super("shuffle-lifecycle-patience");
    this.silences = silences;
    this.whom = whom;
    this.limitMs = limitMs;
    setDaemon(true);
  }

  public synchronized void run() {
    try {
      long end = System.nanoTime() + limitMs * 1000000L;
      for (long left = limitMs; !isOver; left = (end - System.nanoTime()) / 1000000L) {
        if (left <= 0L) {
          hasRunOut = true;
          waiting.interrupt();
        }
        wait(left > 0L ? left : AGAIN_MS);
      }
    } catch (InterruptedException e) { // nobody does
    }
  }

  /** What it came to, for whoever waited: the client's own word, or that there was no answer. */
  public Exception told(Exception thrown) {
    return told(thrown, false);
  }

  /** The same, where the client's own word may be that it has reached nobody: that is silence too. */
  public synchronized Exception told(Exception thrown, boolean hasReachedNobody) {
    isSilent = hasRunOut || hasReachedNobody;
    if (isSilent) {
      silences.note(whom);
    }
    return hasRunOut ? new IllegalStateException(whom + " has not answered within " + limitMs + " ms") : thrown;
  }

  /** The call has come back. To be called by whoever waited. */
  public synchronized void over() {
    isOver = true;
    notifyAll();
    if (hasRunOut) {
      Thread.interrupted();
    } else if (!isSilent) {
      silences.heard(whom);
    }
  }
}
