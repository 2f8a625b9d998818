package shufflelifecycle;

import java.util.Iterator;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.sql.execution.SparkPlanInfo;
import org.apache.spark.storage.RDDInfo;

/** How Spark's descriptions of stages, jobs and plans are put into rows. */
public class Describe {
  public static final String PREFIX = "spark.shuffleLifecycle.";

  /** RDD id -> the level that it declared, where somebody of ours has marked the RDD with another one. */
  public final ConcurrentHashMap declaredLevels = new ConcurrentHashMap();

  public void stage(StringBuilder to, StageInfo stage) {
    stage(to, stage, false);
  }

  /** One that runs: what it reads whatever is cached, too, which takes a walk over its RDDs where some are persisted. */
  public void running(StringBuilder to, StageInfo stage) {
    stage(to, stage, true);
  }

  private void stage(StringBuilder to, StageInfo stage, boolean runs) {
    to.append("{\"id\":").append(stage.stageId()).append(",\"attempt\":").append(stage.attemptNumber());
    to.append(",\"tasks\":").append(stage.numTasks()).append(",\"writes\":").append(Row.shuffleOf(stage));
    to.append(",\"parents\":");
    numbers(to, stage.parentIds().iterator());
    to.append(",\"name\":");
    Row.quote(to, stage.name());
    to.append(",\"site\":");
    Row.quote(to, Row.firstLine(stage.details()));
    rdds(to, stage, runs);
    to.append('}');
  }

  private void rdds(StringBuilder to, StageInfo stage, boolean runs) {
    StringBuilder ids = new StringBuilder();
    StringBuilder cached = new StringBuilder();
    String level = "DETERMINATE";
    boolean barrier = false;
    boolean first = true;
    scala.collection.Iterator it = stage.rddInfos().iterator();
    while (it.hasNext()) {
      RDDInfo rdd = (RDDInfo) it.next();
      append(ids, rdd.id());
      if (rdd.storageLevel().isValid()) {
        append(cached, rdd.id());
      }
      if (first) {
        level = levelOf(rdd);
        first = false;
      }
      barrier = barrier || rdd.isBarrier();
    }
    to.append(",\"level\":\"").append(level).append("\",\"barrier\":").append(barrier);
    to.append(",\"rdds\":[").append(ids).append("],\"cached\":[").append(cached).append(']');
    if (runs && cached.length() > 0) {
      to.append(",\"direct\":").append(DirectReads.of(stage));
    }
  }

  private String levelOf(RDDInfo rdd) {
    Object declared = declaredLevels.get(Integer.valueOf(rdd.id()));
    return declared == null ? rdd.outputDeterministicLevel().toString() : (String) declared;
  }

  public void stages(StringBuilder to, scala.collection.Iterator infos) {
    to.append('[');
    boolean first = true;
    while (infos.hasNext()) {
      if (!first) {
        to.append(',');
      }
      first = false;
      stage(to, (StageInfo) infos.next());
    }
    to.append(']');
  }

  /** What a job's local properties say that concerns us. */
  public void properties(StringBuilder to, Properties of) {
    to.append("\"execution\":").append(executionOf(of)).append(",\"group\":");
    Row.quote(to, property(of, "spark.jobGroup.id", null));
    to.append(",\"callSite\":");
    Row.quote(to, property(of, "callSite.short", null));
    String query = property(of, "sql.streaming.queryId", null);
    boolean isOfStream = query != null || property(of, "spark.streaming.internal.batchTime", null) != null;
    to.append(",\"stream\":").append(isOfStream).append(",\"query\":");
    Row.quote(to, query);
    to.append(",\"properties\":{");
    Iterator names = of == null ? new TreeSet().iterator() : new TreeSet(of.stringPropertyNames()).iterator();
    boolean first = true;
    while (names.hasNext()) {
      String name = (String) names.next();
      if (name.startsWith(PREFIX)) {
        if (!first) {
          to.append(',');
        }
        first = false;
        Row.quote(to, name);
        to.append(':');
        Row.quote(to, of.getProperty(name));
      }
    }
    to.append('}');
  }

  /** A number, or null: a program may put anything there, which Spark itself then takes for no execution. */
  private static String executionOf(Properties of) {
    try {
      return String.valueOf(Long.parseLong(property(of, "spark.sql.execution.id", "")));
    } catch (NumberFormatException none) {
      return "null";
    }
  }

  private static String property(Properties of, String name, String otherwise) {
    String value = of == null ? null : of.getProperty(name);
    return value == null ? otherwise : value;
  }

  /** Whether a plan holds a command or an operator that writes a table or files. */
  public static boolean writes(SparkPlanInfo plan) {
    String node = plan.nodeName();
    if (node.equals("WriteFiles") || node.startsWith("AppendData") || node.startsWith("Overwrite")
        || node.startsWith("ReplaceData") || node.startsWith("WriteDelta") || node.startsWith("WriteToDataSourceV2")
        || node.startsWith("Execute InsertInto") || node.startsWith("Execute SaveInto") || node.contains("TableAsSelect")) {
      return true;
    }
    scala.collection.Iterator it = plan.children().iterator();
    while (it.hasNext()) {
      if (writes((SparkPlanInfo) it.next())) {
        return true;
      }
    }
    return false;
  }

  private static void numbers(StringBuilder to, scala.collection.Iterator it) {
    to.append('[');
    boolean first = true;
    while (it.hasNext()) {
      if (!first) {
        to.append(',');
      }
      first = false;
      to.append(it.next());
    }
    to.append(']');
  }

  private static void append(StringBuilder to, int id) {
    if (to.length() > 0) {
      to.append(',');
    }
    to.append(id);
  }
}
