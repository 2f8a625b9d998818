package shufflelifecycle;

import org.apache.spark.scheduler.SparkListenerEvent;

/** A point in the order of events: posted on the listener bus, it arrives at its place among Spark's own events. */
public class Marker implements SparkListenerEvent {
  public final String name;
  public final String payload;

  public Marker(String name, String payload) {
    this.name = name;
    this.payload = payload;
  }

  /** Never enters Spark's event log, where nobody could read it back. */
  public boolean logEvent() {
    return false;
  }

  public String toString() {
    return "Marker " + name;
  }
}
