package shufflelifecycle;

import java.util.HashMap;
import java.util.Map;

/**
 * Servers that have not answered in time. They are not asked again for a while: directives are carried out one after the
 * other, and each that asks such a server would keep all others waiting as long.
 */
public class Silences {
  /** It was not asked. */
  public static class NotAsked extends IllegalStateException {
    NotAsked(String why) {
      super(why);
    }
  }

  public static final long LIMIT_MS = 5000L;
  public static final int TIMES_MAX = 10; // in a row; then it is gone for good, or will never answer this
  private static final long PAUSE_MS = 20000L;
  private static final long LEAST_MS = 1000L; // who had no time to answer was not silent

  private final Map until = new HashMap(); // whom -> Long, by System.nanoTime
  private final Map times = new HashMap(); // whom -> Integer, since it answered last

  /** How long to wait for one answer, where all has to be over by `end`. */
  public static long limitMs(long end) {
    return Math.max(1L, Math.min(LIMIT_MS, (end - System.nanoTime()) / 1000000L));
  }

  /** Why it is not asked now; null: ask it. */
  public synchronized String of(String whom) {
    Long end = (Long) until.get(whom);
    if (end == null || System.nanoTime() - end.longValue() >= 0L) {
      until.remove(whom);
      return null;
    }
    return "did not answer a moment ago, and is asked again in a while";
  }

  /** The same, where it would have so long to answer. */
  public String of(String whom, long limitMs) {
    return isTime(limitMs) ? of(whom) : "was not asked: no time was left";
  }

  /** Whether who has not answered within so long may be taken for silent. */
  public static boolean isTime(long limitMs) {
    return limitMs >= LEAST_MS;
  }

  public synchronized void note(String whom) {
    until.put(whom, Long.valueOf(System.nanoTime() + PAUSE_MS * 1000000L));
    times.put(whom, Integer.valueOf(times(whom) + 1));
  }

  public synchronized void heard(String whom) {
    times.remove(whom);
  }

  /** How often in a row it has not answered. */
  public synchronized int times(String whom) {
    Integer known = (Integer) times.get(whom);
    return known == null ? 0 : known.intValue();
  }

  /** Before a call; `NotAsked` where it is not to be asked. `over` has to be called after it. */
  public Patience ask(String whom, long limitMs) {
    String why = of(whom, limitMs);
    if (why != null) {
      throw new NotAsked(whom + " " + why);
    }
    Patience patience = new Patience(this, whom, limitMs);
    patience.start();
    return patience;
  }
}
