package shufflelifecycle;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.scheduler.MapStatus;
import org.apache.uniffle.common.ShuffleServerInfo;

/** The servers of one generation: which partitions each of them keeps, as Uniffle's coordinator gave them out. */
public class UniffleHome {
  final Map partitions; // partition -> List of ShuffleServerInfo
  final Map ranges; // ShuffleServerInfo -> List of PartitionRange; null where the generation is registered there already
  Object told = null; // as executors are told of it: a broadcast

  UniffleHome(Map partitions, Map ranges) {
    this.partitions = partitions;
    this.ranges = ranges;
  }

  /** "host:port" -> the id by which Uniffle's coordinator knows the server. */
  TreeMap servers() {
    TreeMap found = new TreeMap();
    Iterator it = partitions.values().iterator();
    while (it.hasNext()) {
      Iterator servers = ((List) it.next()).iterator();
      while (servers.hasNext()) {
        ShuffleServerInfo server = (ShuffleServerInfo) servers.next();
        found.put(nameOf(server), server.getId());
      }
    }
    return found;
  }

  /**
   * "host:port" -> which of its partitions show whether it still has blocks: a server lets go of all of them at once, so one
   * that is not empty is enough. Where outputs are missing tasks that have failed may have left blocks in any.
   */
  Map telling(MapStatus[] outputs) {
    boolean isWhole = !Arrays.asList(outputs).contains(null);
    Map found = new HashMap();
    Iterator it = partitions.entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      Iterator servers = ((List) entry.getValue()).iterator();
      while (servers.hasNext()) {
        Set tell = of((ShuffleServerInfo) servers.next(), found);
        if (!isWhole || (tell.isEmpty() && hasBlocks(outputs, ((Integer) entry.getKey()).intValue()))) {
          tell.add(entry.getKey());
        }
      }
    }
    return found;
  }

  private static Set of(ShuffleServerInfo server, Map found) {
    Set known = (Set) found.get(nameOf(server));
    if (known == null) {
      known = new TreeSet();
      found.put(nameOf(server), known);
    }
    return known;
  }

  private static String nameOf(ShuffleServerInfo server) {
    return server.getHost() + ":" + server.getGrpcPort();
  }

  private static boolean hasBlocks(MapStatus[] outputs, int partition) {
    for (int i = 0; i < outputs.length; i++) {
      if (outputs[i].getSizeForBlock(partition) > 0L) {
        return true;
      }
    }
    return false;
  }

  /** The part of a locator that is Uniffle's: "partitions/server+server…". */
  String name() {
    StringBuilder text = new StringBuilder().append(partitions.size()).append('/');
    Iterator it = servers().keySet().iterator();
    while (it.hasNext()) {
      text.append(it.next()).append(it.hasNext() ? "+" : "");
    }
    return text.toString();
  }

  /** A server that is in both; null where there is none. */
  String meets(Set others) {
    TreeSet both = new TreeSet(servers().values());
    both.retainAll(others);
    return both.isEmpty() ? null : (String) both.first();
  }
}
