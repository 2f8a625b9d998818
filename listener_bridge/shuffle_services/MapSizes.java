package shufflelifecycle;

import java.lang.ref.Reference;
import java.lang.reflect.Field;
import java.util.Collection;
import java.util.Iterator;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.MapStatus;

/**
 * The sizes of one shuffle's map outputs. Spark keeps a byte a block, a logarithm, so a total is right to about 5 percent.
 *
 * A map status does not say how many blocks it has, so its fields are read; of a class that we do not know the size is 0.
 * That takes a step a block: it is no work for the scheduler's thread, which only takes the statuses along.
 *
 * Above 2,000 blocks the status itself does not know, when it has come from a task, how many are not empty: Spark does
 * not send that number. Then the shuffle's partitioner says how many there are, as long as Spark's cleaner watches it.
 */
public class MapSizes {
  private static final double BASE = 1.1;
  private static final int UNASKED = -2;
  private static final int UNKNOWN = -1;
  private static final long[] SIZES = sizes(); // of a block, by the byte that is kept of it
  private static final ConcurrentHashMap FIELDS = new ConcurrentHashMap(); // "class.field" -> {Field}, empty: it has none

  private final int shuffle;
  private int blocks = UNASKED; // of each output

  public MapSizes(int shuffle) {
    this.shuffle = shuffle;
  }

  private static long[] sizes() {
    long[] sizes = new long[256];
    for (int i = 1; i < sizes.length; i++) {
      sizes[i] = i == 1 ? 1L : (long) Math.ceil(Math.pow(BASE, (double) i));
    }
    return sizes;
  }

  public long total(MapStatus output) {
    try {
      Object sizes = field(output, "compressedSizes");
      return sizes != null ? compressed((byte[]) sizes) : averaged(output);
    } catch (Exception unknown) {
      return 0L;
    }
  }

  /** Of all outputs that are there. */
  public long total(MapStatus[] outputs) {
    long total = 0L;
    for (int i = 0; i < outputs.length; i++) {
      total += outputs[i] == null ? 0L : total(outputs[i]);
    }
    return total;
  }

  private static long compressed(byte[] sizes) {
    long total = 0L;
    for (int i = 0; i < sizes.length; i++) {
      total += SIZES[sizes[i] & 255];
    }
    return total;
  }

  /** Above 2,000 blocks Spark keeps the average of the small ones, and the huge ones one by one. */
  private long averaged(MapStatus output) throws Exception {
    scala.collection.Map huge = (scala.collection.Map) field(output, "hugeBlockSizes");
    long filled = ((Number) field(output, "numNonEmptyBlocks")).longValue();
    if (filled < 0L) {
      if (blocks() == UNKNOWN) {
        return 0L;
      }
      filled = blocks() - ((Number) Reflect.call(field(output, "emptyBlocks"), "getCardinality")).longValue();
    }
    long total = (filled - huge.size()) * ((Number) field(output, "avgSize")).longValue();
    scala.collection.Iterator it = huge.valuesIterator();
    while (it.hasNext()) {
      total += SIZES[((Number) it.next()).byteValue() & 255];
    }
    return total;
  }

  private int blocks() throws Exception {
    if (blocks == UNASKED) {
      blocks = asked();
    }
    return blocks;
  }

  private int asked() throws Exception {
    Class contexts = Class.forName("org.apache.spark.SparkContext$", true, Thread.currentThread().getContextClassLoader());
    scala.Option context = (scala.Option) Reflect.call(Reflect.module(contexts), "getActive");
    if (context.isEmpty() || ((SparkContext) context.get()).cleaner().isEmpty()) {
      return UNKNOWN;
    }
    Object cleaner = ((SparkContext) context.get()).cleaner().get();
    Iterator it = ((Collection) Reflect.get(cleaner, "referenceBuffer")).iterator();
    while (it.hasNext()) {
      Object kept = ((Reference) it.next()).get();
      if (kept instanceof ShuffleDependency && ((ShuffleDependency) kept).shuffleId() == shuffle) {
        return ((ShuffleDependency) kept).partitioner().numPartitions();
      }
    }
    return UNKNOWN;
  }

  private static Object field(MapStatus output, String name) throws Exception {
    String key = output.getClass().getName() + "." + name;
    Field[] known = (Field[]) FIELDS.get(key);
    if (known == null) {
      known = find(output.getClass(), name);
      FIELDS.put(key, known);
    }
    return known.length == 0 ? null : known[0].get(output);
  }

  private static Field[] find(Class of, String name) {
    Field[] fields = of.getDeclaredFields();
    for (int i = 0; i < fields.length; i++) {
      if (fields[i].getName().equals(name)) {
        fields[i].setAccessible(true);
        return new Field[] {fields[i]};
      }
    }
    return new Field[0];
  }
}
