package shufflelifecycle;

import org.apache.spark.scheduler.MapStatus;

/**
 * Which task wrote an output: Uniffle puts its partition and attempt where Spark puts the task's number, and the number
 * into the name of the executor that it makes up: `application_task_attempt` (0.9.2 and 0.10.0).
 */
class UniffleTasks implements TaskNumbers {
  public long of(MapStatus output) {
    String[] parts = String.valueOf(output.location().executorId()).split("_");
    try {
      return Long.parseLong(parts[parts.length - 2]);
    } catch (RuntimeException otherwise) {
      return output.mapId();
    }
  }
}
