package shufflelifecycle;

import java.lang.reflect.Field;
import java.lang.reflect.Method;

/** Fields and methods of other people's objects by name, where versions differ or nothing is public. */
public class Reflect {
  public static Object get(Object of, String name) throws Exception {
    return field(of, name).get(of);
  }

  /** Of the object's class or one above it; made accessible. */
  public static Field field(Object of, String name) throws Exception {
    Class type = of.getClass();
    while (type != null) {
      Field[] fields = type.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        if (fields[i].getName().equals(name) || fields[i].getName().endsWith("$$" + name)) {
          fields[i].setAccessible(true);
          return fields[i];
        }
      }
      type = type.getSuperclass();
    }
    throw new NoSuchFieldException(of.getClass().getName() + " has no field " + name);
  }

  /** A public method without parameters; null where there is none. */
  public static Method method(Class of, String name) {
    Method[] methods = of.getMethods();
    for (int i = 0; i < methods.length; i++) {
      if (methods[i].getName().equals(name) && methods[i].getParameterTypes().length == 0) {
        return methods[i];
      }
    }
    return null;
  }

  public static Object call(Object of, String name) throws Exception {
    Method found = method(of.getClass(), name);
    if (found == null) {
      throw new NoSuchMethodException(of.getClass().getName() + " has no method " + name);
    }
    return found.invoke(of, new Object[0]);
  }

  /** The one instance of a Scala object. */
  public static Object module(Class of) throws Exception {
    return of.getField("MODULE$").get(null);
  }
}
