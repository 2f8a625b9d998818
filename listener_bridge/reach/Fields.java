package shufflelifecycle;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Reads fields, and calls nothing: a lazy value that nobody has asked for yet is not computed by it.
 *
 * Scala keeps a lazy value in a field that is null until it was computed; Spark 4 keeps some of them in a `LazyTry`.
 */
public class Fields {
  private static final ConcurrentHashMap FIELDS = new ConcurrentHashMap(); // class -> its Field[], superclasses' too
  private static final ConcurrentHashMap BY_NAME = new ConcurrentHashMap(); // class -> map: name -> Field or ABSENT
  private static final Object ABSENT = new Object();

  /** All fields of a class that hold references, those of its superclasses too. */
  public static Field[] of(Class type) {
    Field[] known = (Field[]) FIELDS.get(type);
    if (known == null) {
      known = find(type);
      FIELDS.put(type, known);
    }
    return known;
  }

  private static Field[] find(Class type) {
    ArrayList found = new ArrayList();
    for (Class part = type; part != null && part != Object.class; part = part.getSuperclass()) {
      Field[] fields = part.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        if (!Modifier.isStatic(fields[i].getModifiers()) && !fields[i].getType().isPrimitive()) {
          fields[i].setAccessible(true);
          found.add(fields[i]);
        }
      }
    }
    return (Field[]) found.toArray(new Field[found.size()]);
  }

  public static boolean has(Object object, String name) {
    return named(object.getClass(), name) != null;
  }

  /** What the field `name` holds; null where there is no such field, or nothing in it yet. */
  public static Object get(Object object, String name) {
    return object == null ? null : get(object.getClass(), object, name);
  }

  /** The same, of the part of the object that is of class `type`. */
  public static Object get(Class type, Object object, String name) {
    Field field = named(type, name);
    return field == null ? null : opened(read(field, object));
  }

  /** What one of these fields (`of`) holds, as it is. */
  public static Object read(Field field, Object object) {
    try {
      return field.get(object);
    } catch (IllegalAccessException refused) {
      throw new IllegalStateException(field + " cannot be read: " + refused, refused);
    }
  }

  /** What is in a `LazyTry`, null where nobody has asked it yet; anything else as it is. */
  public static Object opened(Object value) {
    if (value == null || !value.getClass().getName().equals("org.apache.spark.util.LazyTry")) {
      return value;
    }
    Object outcome = get(value, "tryT");
    return outcome instanceof scala.util.Success ? ((scala.util.Success) outcome).value() : null;
  }

  /** Scala writes the class in front of the name of a field that it had to open: `…$$name`. */
  private static Field named(Class type, String name) {
    ConcurrentHashMap names = (ConcurrentHashMap) BY_NAME.get(type);
    if (names == null) {
      names = new ConcurrentHashMap();
      BY_NAME.put(type, names);
    }
    Object known = names.get(name);
    if (known == null) {
      known = search(type, name);
      names.put(name, known);
    }
    return known == ABSENT ? null : (Field) known;
  }

  private static Object search(Class type, String name) {
    Field[] fields = of(type);
    for (int i = 0; i < fields.length; i++) {
      if (fields[i].getName().equals(name) || fields[i].getName().endsWith("$$" + name)) {
        return fields[i];
      }
    }
    return ABSENT;
  }
}
