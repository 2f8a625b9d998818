package shufflelifecycle;

/**
 * Work in the scheduler's thread that somebody waits for.
 *
 * Invariant: the work never runs after its caller has given up, and not more often than it asks for. Whether it may
 * still start is decided under this object's monitor; once it has started, the caller waits for its end.
 */
class Call implements Work {
  private static final int WAITING = 1;
  private static final int ACTING = 2;
  private static final int DONE = 3;
  private static final int CANCELLED = 4;

  private final Scheduler scheduler;
  private final Work work;
  private final boolean repeats; // the caller is told of the last run alone
  private Object outcome;
  private Throwable failure;
  private int state = WAITING;

  Call(Scheduler scheduler, Work work, boolean repeats) {
    this.scheduler = scheduler;
    this.work = work;
    this.repeats = repeats;
  }

  void post() {
    scheduler.post(new Ticket(this));
  }

  public Object run() {
    if (begin()) {
      act();
    }
    return null;
  }

  // Monitors are taken by blocks: Janino makes a private synchronized method lock the class instead of the object.
  private boolean begin() {
    synchronized (this) {
      if (state != WAITING) {
        return false;
      }
      state = ACTING;
      return true;
    }
  }

  private void act() {
    Object result = null;
    Throwable thrown = null;
    try {
      result = work.run();
    } catch (Throwable t) {
      thrown = t;
    }
    boolean again = repeats && AGAIN.equals(result);
    end(result, thrown, again);
    if (again) {
      post(); // the scheduler's thread comes to it by itself: nobody has to be woken in between
    }
  }

  private void end(Object result, Throwable thrown, boolean again) {
    synchronized (this) {
      outcome = result;
      failure = thrown;
      state = again ? WAITING : DONE;
      if (!again) {
        notifyAll();
      }
    }
  }

  /** The work's outcome, or null where it had not started in time and now never will. */
  public synchronized Object await(long timeoutMs) throws Exception {
    long end = System.nanoTime() + timeoutMs * 1000000L;
    while (state != DONE && (state == ACTING || System.nanoTime() < end)) {
      wait(Math.max(1L, (end - System.nanoTime()) / 1000000L));
    }
    if (state == WAITING) {
      state = CANCELLED;
      return null;
    }
    if (failure != null) {
      throw new IllegalStateException("work in the scheduler's thread failed: " + failure, failure);
    }
    return outcome;
  }
}
