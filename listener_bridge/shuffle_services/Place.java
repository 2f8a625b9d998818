package shufflelifecycle;

import java.util.ArrayList;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockManagerId;

/** Where map outputs of a shuffle lie: one executor's files, and the host's shuffle service that outlives it. */
public class Place {
  public final String executor;
  public final String host;
  public final int port;
  public final ArrayList mapIds = new ArrayList(); // Long
  public long bytes = 0L;
  public int removed = 0; // files that the shuffle service has deleted
  public int silences = 0; // how often in a row the shuffle service was asked in vain

  public Place(String executor, String host, int port) {
    this.executor = executor;
    this.host = host;
    this.port = port;
  }

  public static Place of(BlockManagerId location) {
    return new Place(location.executorId(), location.host(), location.port());
  }

  /** How much of it so many removed files were: each output has one at least. */
  public long share(int removed) {
    return removed >= mapIds.size() ? bytes : bytes * removed / mapIds.size();
  }

  public void add(MapStatus output, MapSizes sizes) {
    mapIds.add(Long.valueOf(output.mapId()));
    bytes += sizes.total(output);
  }
}
