package shufflelifecycle;

import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.apache.spark.ShuffleStatus;

/**
 * Holds the map outputs of one shuffle, so that its map stage cannot be submitted: the scheduler asks them which outputs
 * are missing before it makes the first task, and waits here. Everything else in the scheduler goes on.
 *
 * Executors delete "what they have of this app shuffle"; files of a writer that began meanwhile would go too. Held from
 * the check in the scheduler's thread until the executors have answered, no such writer can exist.
 *
 * Invariant: the lock is let go after `limitMs`, whatever became of whoever asked for it. Where an executor has not
 * answered by then, a map stage may begin, and the executor delete its files when it comes to the message at last. That
 * costs a fetch failure and a stage attempt, since files are unlinked and a reader misses them; holding on would cost the
 * application its scheduler, which waits for this lock with every job (ADR 5). For the same reason the scheduler's thread
 * waits a second at most, whatever becomes of this one.
 */
public class Hold extends Thread {
  private static final long LOCK_MS = 200L;
  private static final long TAKEN_MS = 1000L;

  private final ReentrantReadWriteLock.WriteLock lock;
  private final long limitMs;
  private volatile long endNs = 0L;
  private final CountDownLatch taken = new CountDownLatch(1);
  private final CountDownLatch done = new CountDownLatch(1);
  private final CountDownLatch over = new CountDownLatch(1);
  private volatile boolean held = false;

  Hold(ShuffleStatus status, long limitMs) throws Exception {
    super("shuffle-lifecycle-hold");
    Method lock = ShuffleStatus.class.getDeclaredMethod("writeLock", new Class[0]);
    lock.setAccessible(true);
    this.lock = (ReentrantReadWriteLock.WriteLock) lock.invoke(status, new Object[0]);
    this.limitMs = limitMs;
    setDaemon(true);
  }

  /** Scheduler's thread: true once the outputs are held. Who has them now has them for microseconds. */
  boolean take() throws InterruptedException {
    start();
    if (!taken.await(TAKEN_MS, TimeUnit.MILLISECONDS)) {
      done.countDown(); // should it come to hold them after all, it lets them go at once
      return false;
    }
    return held;
  }

  /** Until when the outputs are held at the most, by `System.nanoTime`. */
  long endNs() {
    return endNs;
  }

  public void run() {
    try {
      tryToTake();
      if (held) {
        done.await(limitMs, TimeUnit.MILLISECONDS);
      }
    } catch (InterruptedException e) { // nobody does; the outputs are let go
    } finally {
      if (held) {
        lock.unlock();
      }
      over.countDown();
    }
  }

  private void tryToTake() throws InterruptedException {
    try {
      held = lock.tryLock(LOCK_MS, TimeUnit.MILLISECONDS);
      endNs = System.nanoTime() + limitMs * 1000000L;
    } finally {
      taken.countDown();
    }
  }

  void release() throws InterruptedException {
    done.countDown();
    over.await();
  }
}
