package shufflelifecycle;

import java.util.ArrayDeque;

/**
 * The rows between the listener and Python: bounded, ordered, numbered without a gap.
 *
 * Invariant: a row that does not fit is dropped and counted, and a row in its place tells how many. It never blocks the
 * listener, and `take` is the only call that waits. A closed buffer takes no more rows.
 *
 * Each batch costs its taker, and everybody behind it, however small it is. So a prompt row is given at once, but in at most
 * 20 batches a second, and 40 more after a rest. Any other row waits for those that follow it, in at most two batches a
 * second: where little data lie on disk, little is won by being quick. Rows stay in their order, so a prompt one brings
 * all before it along.
 */
public class RowBuffer {
  private static final long GATHER_NS = 100000000L;

  private final ArrayDeque rows = new ArrayDeque();
  private final Allowance prompt = new Allowance(50000000L, 40L);
  private final Allowance patient = new Allowance(500000000L);
  private final long capacityChars;
  private long chars = 0L;
  private long seq = 0L;
  private long dropped = 0L;
  private boolean closed = false;
  private boolean isPrompt = false; // one of the rows that wait is prompt

  public RowBuffer(long capacityChars) {
    this.capacityChars = capacityChars;
  }

  public synchronized void put(Row row, boolean isPrompt) {
    if (closed) {
      return; // Spark's cleaner may just be telling us
    }
    String text = row.toString();
    if (chars + text.length() > capacityChars) {
      dropped++;
      hurry(); // room is wanted
      return;
    }
    tellDropped();
    add(text, isPrompt);
  }

  /** Facts that never became a row: an event whose handling failed, or that Spark's queue had no room for. */
  public synchronized void lost(long count, String where) {
    if (closed) {
      return;
    }
    add(new Row("dropped").number("count", count).text("where", where).toString(), true);
  }

  private void tellDropped() {
    if (dropped > 0L) {
      long count = dropped;
      dropped = 0L;
      lost(count, "tap");
    }
  }

  private void add(String text, boolean isPrompt) {
    String row = "{\"seq\":" + seq++ + "," + text + "}\n";
    rows.add(row);
    chars += row.length();
    if (isPrompt) {
      hurry();
    }
    if (rows.size() == 1) {
      notifyAll();
    }
  }

  private void hurry() {
    if (!isPrompt) {
      isPrompt = true;
      notifyAll();
    }
  }

  /**
   * Waits for the first row, and for more as said above; then gives up to `max`: "" where none
   * came in time, null when closed and empty.
   */
  public synchronized String take(int max, long timeoutMs) throws InterruptedException {
    long end = System.nanoTime() + timeoutMs * 1000000L;
    while (rows.isEmpty() && !closed && System.nanoTime() < end) {
      wait(Math.max(1L, (end - System.nanoTime()) / 1000000L));
    }
    gather(max);
    StringBuilder batch = new StringBuilder();
    for (int n = 0; n < max && !rows.isEmpty(); n++) {
      batch.append((String) rows.poll());
    }
    chars -= batch.length();
    if (rows.isEmpty()) {
      isPrompt = false;
      tellDropped();
    }
    return batch.length() == 0 && closed ? null : batch.toString();
  }

  private void gather(int max) throws InterruptedException {
    long beganNs = System.nanoTime();
    long pauseNs = pauseNs(beganNs);
    while (!rows.isEmpty() && rows.size() < max && !closed && pauseNs > 0L) {
      wait(Math.max(1L, pauseNs / 1000000L));
      pauseNs = pauseNs(beganNs);
    }
    if (!rows.isEmpty()) {
      prompt.spend();
      patient.spend();
    }
  }

  private long pauseNs(long beganNs) {
    long gatherNs = beganNs + GATHER_NS - System.nanoTime();
    return isPrompt ? prompt.pauseNs() : Math.max(gatherNs, patient.pauseNs());
  }

  public synchronized void close() {
    closed = true;
    notifyAll();
  }
}
