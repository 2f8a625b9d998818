package shufflelifecycle;

import java.util.ArrayDeque;

/**
 * The rows between the listener and Python: bounded, ordered, numbered without a gap.
 *
 * Invariant: a row that does not fit is dropped and counted, and a row in its place says how many. It never blocks the
 * listener, and `take` is the only call that waits.
 *
 * Whoever takes has work with every batch, however small, and so has everybody behind him. A row that comes alone is
 * given at once; where rows keep coming, 20 batches a second are enough.
 */
public class RowBuffer {
  private static final long A_BATCH_NS = 50000000L;
  private static final long AHEAD_NS = 4L * A_BATCH_NS; // so many batches may follow one another without a pause

  private final ArrayDeque rows = new ArrayDeque();
  private final long capacityChars;
  private long chars = 0L;
  private long seq = 0L;
  private long dropped = 0L;
  private boolean closed = false;
  private long paidNs = System.nanoTime(); // until when the batches given so far would have kept him busy

  public RowBuffer(long capacityChars) {
    this.capacityChars = capacityChars;
  }

  public synchronized void put(Row row) {
    String text = row.toString();
    if (chars + text.length() > capacityChars) {
      dropped++;
      return;
    }
    tellDropped();
    add(text);
  }

  /** Facts that never became a row: an event whose handling failed, or that Spark's queue had no room for. */
  public synchronized void lost(long count, String where) {
    add(new Row("dropped").number("count", count).text("where", where).toString());
  }

  private void tellDropped() {
    if (dropped > 0L) {
      long count = dropped;
      dropped = 0L;
      lost(count, "tap");
    }
  }

  private void add(String text) {
    String row = "{\"seq\":" + seq++ + "," + text + "}\n";
    rows.add(row);
    chars += row.length();
    if (rows.size() == 1) {
      notifyAll();
    }
  }

  /**
   * Waits for the first row, and for more where many batches were given lately; then gives up to `max`: "" where none
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
      tellDropped();
    }
    return batch.length() == 0 && closed ? null : batch.toString();
  }

  private void gather(int max) throws InterruptedException {
    while (!rows.isEmpty() && rows.size() < max && !closed && System.nanoTime() - paidNs < -AHEAD_NS) {
      wait(Math.max(1L, (paidNs - AHEAD_NS - System.nanoTime()) / 1000000L));
    }
    if (!rows.isEmpty()) {
      paidNs = Math.max(paidNs, System.nanoTime()) + A_BATCH_NS;
    }
  }

  public synchronized void close() {
    closed = true;
    notifyAll();
  }
}
