package shufflelifecycle;

import org.apache.spark.scheduler.MapStatus;

/** A shuffle service whose map outputs do not say, where Spark's own do, which task wrote them. */
public interface TaskNumbers {
  /** The task's number among all of the application; they grow. */
  long of(MapStatus output);
}
