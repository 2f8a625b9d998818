package shufflelifecycle;

/** The moment at which a look gives up. A look that gives up has found nothing, which keeps everything. */
public class Deadline {
  public static class Passed extends RuntimeException {
    Passed(String message) {
      super(message);
    }
  }

  private final long millis;
  private final long end;

  public Deadline(long millis) {
    this.millis = millis;
    this.end = System.nanoTime() + millis * 1000000L;
  }

  public void check() {
    if (System.nanoTime() - end > 0L) {
      throw new Passed("the look took longer than " + millis + " ms");
    }
  }
}
