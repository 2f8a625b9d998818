package shufflelifecycle;

import org.apache.spark.scheduler.SparkListenerEvent;

/** A fact of ours among Spark's events: whoever listens to them puts its row at its place. */
public class Told implements SparkListenerEvent {
  public final Row row;

  public Told(Row row) {
    this.row = row;
  }

  public boolean logEvent() {
    return false;
  }

  public String toString() {
    return "Told " + row;
  }
}
