import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

import org.apache.celeborn.client.ShuffleClient;
import org.apache.celeborn.common.CelebornConf;
import org.apache.celeborn.common.identity.UserIdentifier;

/**
 * Threads of one executor that ask Celeborn's LifecycleManager for the id of a shuffle that they read, through the stock
 * client. It remembers what a stage attempt was told, so each question is of another one.
 *
 * Arguments: host, port, application, app shuffle, threads, seconds to warm up, seconds. Prints answers a second.
 */
public final class AskLifecycleManager {
  private final ShuffleClient client;
  private final int appShuffle;
  private final AtomicLong asked = new AtomicLong();
  private final AtomicLong answered = new AtomicLong();
  private volatile boolean isOver = false;
  private volatile Throwable failure = null;

  private AskLifecycleManager(ShuffleClient client, int appShuffle) {
    this.client = client;
    this.appShuffle = appShuffle;
  }

  public static void main(String[] arguments) throws Exception {
    ShuffleClient client = ShuffleClient.get(
        arguments[2], arguments[0], Integer.parseInt(arguments[1]), new CelebornConf(), new UserIdentifier("default", "default"));
    AskLifecycleManager asking = new AskLifecycleManager(client, Integer.parseInt(arguments[3]));
    int threads = Integer.parseInt(arguments[4]);
    CountDownLatch ended = new CountDownLatch(threads);
    for (int number = 0; number < threads; number++) {
      asking.start(ended);
    }
    asking.await(Double.parseDouble(arguments[5]), ended);
    long before = asking.answered.get();
    long begun = System.nanoTime();
    asking.await(Double.parseDouble(arguments[6]), ended);
    double seconds = (System.nanoTime() - begun) / 1e9;
    long answers = asking.answered.get() - before;
    asking.isOver = true;
    ended.await();
    if (asking.failure != null) {
      throw new IllegalStateException("a question failed", asking.failure);
    }
    System.out.println("answers a second: " + answers / seconds);
    System.exit(0);
  }

  private void start(final CountDownLatch ended) {
    new Thread(new Runnable() {
      public void run() {
        try {
          ask();
        } catch (Throwable thrown) {
          failure = thrown;
        } finally {
          ended.countDown();
        }
      }
    }).start();
  }

  private void ask() {
    while (!isOver) {
      Object[] told = {client.getShuffleId(appShuffle, appShuffle + "-" + asked.getAndIncrement() + "-0", false, false)};
      if (!String.valueOf(told[0]).endsWith(",true)")) {
        throw new IllegalStateException("no id: " + told[0]);
      }
      answered.incrementAndGet();
    }
  }

  private void await(double seconds, CountDownLatch ended) throws Exception {
    ended.await((long) (seconds * 1000), TimeUnit.MILLISECONDS);
  }
}
