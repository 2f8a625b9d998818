package shufflelifecycle;

import java.lang.reflect.Field;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.MapStatus;

/**
 * The size of one map output. Spark keeps a byte a block, a logarithm, so a total is right to about 5 percent.
 *
 * A map status does not say how many blocks it has, so its fields are read; of a class that we do not know the size is 0.
 */
public class MapSizes {
  private static final double BASE = 1.1;

  public static long total(MapStatus output) {
    try {
      Object sizes = field(output, "compressedSizes");
      return sizes != null ? compressed((byte[]) sizes) : averaged(output);
    } catch (Exception unknown) {
      return 0L;
    }
  }

  /** Of all outputs that are there. */
  public static long total(ShuffleStatus status) {
    long total = 0L;
    Object[] outputs = status.mapStatuses();
    for (int i = 0; i < outputs.length; i++) {
      total += outputs[i] == null ? 0L : total((MapStatus) outputs[i]);
    }
    return total;
  }

  private static long compressed(byte[] sizes) {
    long total = 0L;
    for (int i = 0; i < sizes.length; i++) {
      total += size(sizes[i]);
    }
    return total;
  }

  /** Above 2,000 blocks Spark keeps the average of the small ones, and the huge ones one by one. */
  private static long averaged(MapStatus output) throws Exception {
    scala.collection.Map huge = (scala.collection.Map) field(output, "hugeBlockSizes");
    long small = ((Number) field(output, "numNonEmptyBlocks")).longValue() - huge.size();
    long total = small * ((Number) field(output, "avgSize")).longValue();
    scala.collection.Iterator it = huge.valuesIterator();
    while (it.hasNext()) {
      total += size(((Number) it.next()).byteValue());
    }
    return total;
  }

  private static long size(byte compressed) {
    int exponent = compressed & 255;
    return exponent == 0 ? 0L : exponent == 1 ? 1L : (long) Math.ceil(Math.pow(BASE, (double) exponent));
  }

  private static Object field(MapStatus output, String name) throws Exception {
    Field[] fields = output.getClass().getDeclaredFields();
    for (int i = 0; i < fields.length; i++) {
      if (fields[i].getName().equals(name)) {
        fields[i].setAccessible(true);
        return fields[i].get(output);
      }
    }
    return null;
  }
}
