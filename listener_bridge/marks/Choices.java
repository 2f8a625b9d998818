package shufflelifecycle;

import java.util.List;
import java.util.Properties;
import org.apache.spark.scheduler.ActiveJob;

/** What the user says of the computation, and wants of a mix: of all jobs at once, or of one by its local properties. */
class Choices {
  static final String STRICT = Describe.PREFIX + "strict";
  static final String DETERMINISTIC = Describe.PREFIX + "deterministic";
  private volatile boolean strict;
  private volatile boolean deterministic;

  void choose(boolean strict, boolean deterministic) {
    this.strict = strict;
    this.deterministic = deterministic;
  }

  boolean isStrict(ActiveJob job) {
    return says(job.properties(), STRICT, strict);
  }

  boolean isDeterministic(ActiveJob job) {
    return says(job.properties(), DETERMINISTIC, deterministic);
  }

  /** `said`: what a job's properties said of it, where it is over by now; null: nothing. */
  boolean isDeterministic(String said) {
    return says(said, deterministic);
  }

  /** Not where there are none. */
  boolean areDeterministic(List jobs) {
    for (int i = 0; i < jobs.size(); i++) {
      if (!isDeterministic((ActiveJob) jobs.get(i))) {
        return false;
      }
    }
    return !jobs.isEmpty();
  }

  /** What a job's properties say of its computation. */
  static String saysOfItself(Properties properties) {
    return properties == null ? null : properties.getProperty(DETERMINISTIC);
  }

  private static boolean says(Properties properties, String name, boolean otherwise) {
    return says(properties == null ? null : properties.getProperty(name), otherwise);
  }

  private static boolean says(String said, boolean otherwise) {
    return said == null ? otherwise : Boolean.parseBoolean(said.trim());
  }
}
