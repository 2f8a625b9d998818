package shufflelifecycle;

import java.lang.reflect.Method;
import org.apache.spark.sql.execution.SparkPlan;
import scala.Option;

/**
 * Canonical forms of plans: by these Spark finds an exchange that it can reuse.
 *
 * To make one is to make the plan's nodes anew, and some take what they need from the session that is active in their
 * thread: a Python UDF's metrics in Spark 4.3. Ours has none. So the plan's own session is active while its form is made,
 * as it is where Spark does it, and what was active before is so again behind it.
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

  /** Its package is another one since Spark 4.0, so its class is never named here. */
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
