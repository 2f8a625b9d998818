package shufflelifecycle;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** Processor time of the calling thread, in nanoseconds; clock time in a JVM that does not count it. */
public class Effort {
  private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
  private final boolean isCounted = threads.isCurrentThreadCpuTimeSupported() && threads.isThreadCpuTimeEnabled();

  public long nanos() {
    return isCounted ? threads.getCurrentThreadCpuTime() : System.nanoTime();
  }
}
