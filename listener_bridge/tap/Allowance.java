package shufflelifecycle;

/** So many batches a second, and a few that may follow one another without a pause. */
class Allowance {
  private final long priceNs;
  private final long aheadNs;
  private long paidNs; // until when the batches given so far would last

  Allowance(long priceNs) {
    this(priceNs, 4L);
  }

  Allowance(long priceNs, long ahead) {
    this.priceNs = priceNs;
    this.aheadNs = ahead * priceNs;
    this.paidNs = System.nanoTime() - aheadNs;
  }

  /** How long the next batch has to wait; nothing where it is not positive. */
  long pauseNs() {
    return paidNs - System.nanoTime();
  }

  /** A batch is given, perhaps before its time: that one costs no more than any other. */
  void spend() {
    long now = System.nanoTime();
    paidNs = Math.min(Math.max(paidNs, now - aheadNs), now) + priceNs;
  }
}
