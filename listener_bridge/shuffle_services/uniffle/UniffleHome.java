package shufflelifecycle;

import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
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
        found.put(server.getHost() + ":" + server.getGrpcPort(), server.getId());
      }
    }
    return found;
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
