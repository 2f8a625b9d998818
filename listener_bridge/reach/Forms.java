package shufflelifecycle;

import java.lang.reflect.Method;
import org.apache.spark.sql.execution.SparkPlan;
import scala.Option;

/**
 * Canonical forms of plans: by their equality Spark finds an exchange that it can reuse.
 *
 * Making one copies the nodes of the plan, and some of these need a session that is active in the thread, as those of Python
 * UDFs do for their metrics in Spark 4.3. The look's thread has none. So the plan's own session is made the active one for
 * that time, as it is when Spark makes the form, and the one from before is put back.
 */
public class Forms {
  public static SparkPlan of(SparkPlan plan) {
    Object session = plan.session();
    if (session == null) {
      return (SparkPlan) plan.canonicalized();
    }
    Class type = session.getClass();
    Option before = (Option) call(named(type, "getActiveSession", 0), new Object[0]);
    call(named(type, "setActiveSession", 1), new Object[] {session});
    try {
      return (SparkPlan) plan.canonicalized();
    } finally {
      if (before.isDefined()) {
        call(named(type, "setActiveSession", 1), new Object[] {before.get()});
      } else {
        call(named(type, "clearActiveSession", 0), new Object[0]);
      }
    }
  }

  /** A static method by its name: the package of the session's class is another one since Spark 4.0. */
  private static Method named(Class type, String name, int parameters) {
    Method[] methods = type.getMethods();
    for (int i = 0; i < methods.length; i++) {
      if (methods[i].getName().equals(name) && methods[i].getParameterTypes().length == parameters) {
        return methods[i];
      }
    }
    throw new IllegalStateException(type.getName() + " has no method " + name);
  }

  private static Object call(Method method, Object[] arguments) {
    try {
      return method.invoke(null, arguments);
    } catch (Exception refused) {
      throw new IllegalStateException(method + " failed: " + refused, refused);
    }
  }
}
