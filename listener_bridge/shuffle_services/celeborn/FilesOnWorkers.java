package shufflelifecycle;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.celeborn.client.ShuffleCommittedInfo;
import org.apache.celeborn.common.protocol.PartitionLocation;

/** The files of one id, by the name of the worker that has them, or may have them: {names of primaries, names of replicas}. */
class FilesOnWorkers {
  private FilesOnWorkers() {}

  static Map at(List locations) {
    Map found = new HashMap();
    for (int i = 0; i < locations.size(); i++) {
      PartitionLocation location = (PartitionLocation) locations.get(i);
      String worker = location.getWorker().toUniqueId();
      List[] files = (List[]) found.get(worker);
      if (files == null) {
        files = new List[] {new ArrayList(), new ArrayList()};
        found.put(worker, files);
      }
      boolean primary = location.getMode() == PartitionLocation.Mode.PRIMARY;
      files[primary ? 0 : 1].add(location.getUniqueId());
    }
    return found;
  }

  /**
   * Of an id whose commit lost a part the client keeps the names of all files, and no longer on whom: each of its workers
   * may have any of them, and passes over those that it has not.
   */
  static Map anywhere(Collection workers, ShuffleCommittedInfo committed) {
    List[] files = {new ArrayList(committed.failedPrimaryPartitionIds().keySet()),
        new ArrayList(committed.failedReplicaPartitionIds().keySet())};
    addAll(files[0], committed.committedPrimaryIds().values());
    addAll(files[1], committed.committedReplicaIds().values());
    Map found = new HashMap();
    boolean isEmpty = files[0].isEmpty() && files[1].isEmpty(); // nothing was lost: nothing was written
    for (Iterator it = workers.iterator(); it.hasNext() && !isEmpty;) {
      found.put(it.next(), files);
    }
    return found;
  }

  private static void addAll(List names, Collection lists) {
    for (Iterator it = lists.iterator(); it.hasNext();) {
      names.addAll((List) it.next());
    }
  }
}
