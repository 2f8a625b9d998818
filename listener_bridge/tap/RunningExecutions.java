package shufflelifecycle;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.execution.SQLExecution;

/**
 * Which SQL executions run, as Spark itself keeps them: an execution whose end was dropped on its way to us is not there.
 *
 * Reads only what is already there. A Spark that keeps them elsewhere is told as not knowing.
 */
public class RunningExecutions {
  private static final String FIELD = "executionIdToQueryExecution";

  private final Map running; // null: not known here

  RunningExecutions() {
    running = find();
  }

  private static Map find() {
    try {
      Class holder = SQLExecution.class.getClassLoader().loadClass(SQLExecution.class.getName() + "$");
      Field[] fields = holder.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        if (fields[i].getName().endsWith(FIELD)) {
          fields[i].setAccessible(true);
          boolean alone = Modifier.isStatic(fields[i].getModifiers());
          return (Map) fields[i].get(alone ? null : holder.getField("MODULE$").get(null));
        }
      }
    } catch (Exception e) {
      return null;
    }
    return null;
  }

  /** A JSON list of ids; null where they are not known. */
  void tell(StringBuilder json) {
    if (running == null) {
      json.append("null");
      return;
    }
    String comma = "[";
    Iterator it = running.keySet().iterator();
    while (it.hasNext()) {
      json.append(comma).append(it.next());
      comma = ",";
    }
    json.append(comma.equals("[") ? "[]" : "]");
  }
}
