package shufflelifecycle;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** What the calling thread has taken of a processor; a JVM that does not count it is timed by the clock. */
public class Effort {
  private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
  private final boolean isCounted = threads.isCurrentThreadCpuTimeSupported() && threads.isThreadCpuTimeEnabled();

  public long nanos() {
    return isCounted ? threads.getCurrentThreadCpuTime() : System.nanoTime();
  }
}
