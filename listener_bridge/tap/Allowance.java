package shufflelifecycle;

/** So many batches a second, and a few that may follow one another without a pause. */
class Allowance {
  private static final long AHEAD = 4L;

  private final long priceNs;
  private long paidNs; // until when the batches given so far would last

  Allowance(long priceNs) {
    this.priceNs = priceNs;
    this.paidNs = System.nanoTime() - AHEAD * priceNs;
  }

  /** How long the next batch has to wait; nothing where it is not positive. */
  long pauseNs() {
    return paidNs - System.nanoTime();
  }

  /** A batch is given, perhaps before its time: that one costs no more than any other. */
  void spend() {
    long now = System.nanoTime();
    paidNs = Math.min(Math.max(paidNs, now - AHEAD * priceNs), now) + priceNs;
  }
}
