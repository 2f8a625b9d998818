package shufflelifecycle;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.celeborn.client.LifecycleManager;
import org.apache.celeborn.client.ShuffleCommittedInfo;
import org.apache.celeborn.client.commit.CommitHandler;
import org.apache.celeborn.common.meta.ShufflePartitionLocationInfo;
import org.apache.celeborn.common.meta.WorkerInfo;
import org.apache.celeborn.common.protocol.PartitionLocation;
import org.apache.celeborn.common.protocol.PbGetShuffleIdResponse;
import org.apache.spark.shuffle.celeborn.SparkShuffleManager;
import scala.Option;

/**
 * Celeborn's own books in the driver, as we use them: which ids an app shuffle has, where their files lie, and how both
 * are let go of. Clients 0.5.4 and 0.6.x; what differs between them is asked for by reflection.
 *
 * One app shuffle has one id for each attempt that had to write it anew, with a flag: is it valid. Celeborn answers every
 * reader and writer under the monitor of that map, so whoever holds the monitor decides what they are told next.
 */
public class CelebornClient {
  private final SparkShuffleManager manager;

  public CelebornClient(Object manager) {
    this.manager = (SparkShuffleManager) manager;
  }

  /** Null until the first shuffle of the application is registered. */
  LifecycleManager lifecycle() {
    return manager.getLifecycleManager();
  }

  /** Identifier of the attempt -> (id, is it valid), oldest first, which is also the monitor; null where Celeborn has none. */
  scala.collection.mutable.LinkedHashMap idsOf(int shuffle) throws Exception {
    return (scala.collection.mutable.LinkedHashMap) mapping().get(Integer.valueOf(shuffle));
  }

  /** App shuffle -> its ids, of those that Celeborn knows. */
  Map mapping() throws Exception {
    LifecycleManager lifecycle = lifecycle();
    return lifecycle == null ? new HashMap() : (Map) Reflect.get(lifecycle, "shuffleIdMapping");
  }

  /** All ids, oldest first. To be asked under the monitor. */
  static List all(scala.collection.mutable.LinkedHashMap ids) {
    return flagged(ids, null);
  }

  /** The valid ones. */
  static List valid(scala.collection.mutable.LinkedHashMap ids) {
    return flagged(ids, Boolean.TRUE);
  }

  /** Those that nobody is told any more. */
  static List invalid(scala.collection.mutable.LinkedHashMap ids) {
    return flagged(ids, Boolean.FALSE);
  }

  private static List flagged(scala.collection.mutable.LinkedHashMap ids, Boolean valid) {
    ArrayList found = new ArrayList();
    scala.collection.Iterator it = ids.iterator();
    while (it.hasNext()) {
      scala.Tuple2 id = (scala.Tuple2) ((scala.Tuple2) it.next())._2();
      if (valid == null || valid.equals(id._2())) {
        found.add(id._1());
      }
    }
    return found;
  }

  /** From here on no reader is told these ids, and no writer continues them. To be done under the monitor. */
  static void invalidate(scala.collection.mutable.LinkedHashMap ids, List which) {
    ArrayList identifiers = new ArrayList();
    ArrayList flagged = new ArrayList();
    scala.collection.Iterator it = ids.iterator();
    while (it.hasNext()) {
      scala.Tuple2 entry = (scala.Tuple2) it.next();
      Object id = ((scala.Tuple2) entry._2())._1();
      if (which.contains(id)) {
        identifiers.add(entry._1());
        flagged.add(new scala.Tuple2(id, Boolean.FALSE));
      }
    }
    for (int i = 0; i < identifiers.size(); i++) {
      ids.put(identifiers.get(i), flagged.get(i));
    }
  }

  /** Whether the next attempt to write the shuffle may continue what an earlier one wrote; null: it is not registered. */
  Boolean continues(int shuffle) throws Exception {
    return (Boolean) ((Map) Reflect.get(lifecycle(), "appShuffleDeterminateMap")).get(Integer.valueOf(shuffle));
  }

  void letContinue(int shuffle, boolean may) {
    lifecycle().registerAppShuffleDeterminate(shuffle, may);
  }

  /**
   * Whether a reader that asks for a shuffle without a valid id is told so, and calls it a failed fetch: from 0.6 on. Before,
   * its task fails.
   */
  static boolean tellsReadersOfNothing() {
    return Reflect.method(PbGetShuffleIdResponse.class, "getSuccess") != null;
  }

  /** Whether all that was written of an id is committed: until then Celeborn does not say where its files lie. */
  boolean isCommitted(Integer id) {
    return lifecycle().commitManager().isStageEnd(id.intValue());
  }

  /** Whether every map task of the shuffle has ended under this id: readers are told of no other. */
  boolean isWritten(Integer id) {
    int[] attempts = lifecycle().commitManager().getMapperAttempts(id.intValue());
    boolean isWritten = attempts != null;
    for (int i = 0; isWritten && i < attempts.length; i++) {
      isWritten = attempts[i] >= 0;
    }
    return isWritten;
  }

  /** When its last map task has ended the client has the workers commit it, a moment later. */
  boolean isBeingCommitted(Integer id) {
    boolean hasBegun = lifecycle().commitManager().isStageEndOrInProcess(id.intValue());
    return !isCommitted(id) && (hasBegun || isWritten(id));
  }

  /** The files of an id by worker, where each lies or may lie; null where there are none. */
  Map files(Integer id) throws Exception {
    List locations = locations(id);
    if (locations == null || !locations.isEmpty() || !isCommitted(id)) {
      return locations == null ? null : FilesOnWorkers.at(locations);
    }
    Object committed = lifecycle().commitManager().committedPartitionInfo().get(id);
    return committed == null ? null : FilesOnWorkers.anywhere(workers(id).keySet(), (ShuffleCommittedInfo) committed);
  }

  /**
   * Where the files of an id lie, or may lie where it is half-written; replicas too; null where there are none. Empty where
   * its commit lost a part of it.
   */
  List locations(Integer id) throws Exception {
    return isCommitted(id) ? committed(id) : given(id);
  }

  /** Nothing more of it will be committed. For an id that nobody writes, and nobody was ever told to read. */
  void end(Integer id) {
    lifecycle().commitManager().setStageEnd(id.intValue());
  }

  /** Where slots were given out to its writers. */
  private List given(Integer id) throws Exception {
    Map snapshots = lifecycle().workerSnapshots(id.intValue());
    if (snapshots == null) {
      return null;
    }
    ArrayList found = new ArrayList();
    Iterator it = snapshots.values().iterator();
    while (it.hasNext()) {
      ShufflePartitionLocationInfo worker = (ShufflePartitionLocationInfo) it.next();
      found.addAll(worker.getPrimaryPartitions(Option.apply((Object) null)));
      found.addAll(worker.getReplicaPartitions(Option.apply((Object) null)));
    }
    return found;
  }

  private List committed(Integer id) throws Exception {
    CommitHandler handler = lifecycle().commitManager().getCommitHandler(id.intValue());
    Map groups = (Map) ((Map) Reflect.get(handler, "reducerFileGroupsMap")).get(id);
    if (groups == null) {
      return null;
    }
    ArrayList found = new ArrayList();
    Iterator partitions = groups.values().iterator();
    while (partitions.hasNext()) {
      Iterator it = ((Set) partitions.next()).iterator();
      while (it.hasNext()) {
        PartitionLocation location = (PartitionLocation) it.next();
        found.add(location);
        if (location.getPeer() != null) {
          found.add(location.getPeer());
        }
      }
    }
    return found;
  }

  /** What the workers said they have committed; -1 from clients before 0.6, which do not keep it. */
  static long bytes(List locations) throws Exception {
    long bytes = 0L;
    for (int i = 0; i < locations.size(); i++) {
      Object storage = ((PartitionLocation) locations.get(i)).getStorageInfo();
      Method size = Reflect.method(storage.getClass(), "getFileSize");
      if (size == null) {
        return -1L;
      }
      bytes += ((Number) size.invoke(storage, new Object[0])).longValue();
    }
    return bytes;
  }

  /** Unique id of a worker -> the worker, as the slots of this id were given out. */
  Map workers(Integer id) throws Exception {
    Map found = new HashMap();
    Map snapshots = lifecycle().workerSnapshots(id.intValue());
    if (snapshots == null) {
      return found;
    }
    Iterator it = snapshots.entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      Object key = entry.getKey(); // the worker itself, before 0.6
      Object worker = key instanceof WorkerInfo ? key : Reflect.call(entry.getValue(), "workerInfo");
      found.put(((WorkerInfo) worker).toUniqueId(), worker);
    }
    return found;
  }

  /** Its name with the workers and the master. */
  String key(Integer id) throws Exception {
    return Reflect.get(lifecycle(), "appUniqueId") + "-" + id;
  }

  /**
   * Has the client erase the id from its own books and the master's, when it comes to that next, by itself: its files are
   * gone already, so nobody waits for it. To hurry it would have it ask the master for each id that is due, in the
   * threads that answer tasks. A task that was told the id before would read nothing after it, silently.
   *
   * Of an id that is not committed it would have the workers do that first, and wait for them for minutes.
   */
  void erase(Integer id) throws Exception {
    LifecycleManager lifecycle = lifecycle();
    if (isCommitted(id)) {
      lifecycle.unregisterShuffle(id.intValue());
    }
    ((Map) Reflect.get(lifecycle, "unregisterShuffleTime")).put(id, Long.valueOf(0L)); // due then, not the time after
  }

  static Class messages(String name) throws Exception {
    ClassLoader loader = LifecycleManager.class.getClassLoader();
    return Class.forName("org.apache.celeborn.common.protocol.message.ControlMessages$" + name, true, loader);
  }
}
