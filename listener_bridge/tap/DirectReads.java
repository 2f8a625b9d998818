package shufflelifecycle;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.storage.RDDInfo;

/**
 * What a stage with persisted RDDs reads whatever is cached: the RDDs of other stages that it comes to without passing a
 * persisted one. One that is also behind an RDD that is not come to so does not count: two shuffles may be made of it.
 */
public class DirectReads {
  private final Map own = new HashMap(); // RDD id -> RDDInfo
  private final Set open = new HashSet(); // RDDs of the stage that are computed whatever is cached
  private final TreeSet direct = new TreeSet();
  private final Set hidden = new HashSet();

  private DirectReads(StageInfo stage) {
    scala.collection.Iterator it = stage.rddInfos().iterator();
    while (it.hasNext()) {
      RDDInfo rdd = (RDDInfo) it.next();
      own.put(Integer.valueOf(rdd.id()), rdd);
    }
  }

  /** Their ids, ascending. */
  public static TreeSet of(StageInfo stage) {
    DirectReads reads = new DirectReads(stage);
    reads.walk(((RDDInfo) stage.rddInfos().head()).id());
    scala.collection.Iterator it = stage.rddInfos().iterator();
    while (it.hasNext()) {
      reads.sort((RDDInfo) it.next());
    }
    reads.direct.removeAll(reads.hidden);
    return reads.direct;
  }

  private void walk(int last) {
    ArrayDeque toSee = new ArrayDeque();
    toSee.add(Integer.valueOf(last));
    while (!toSee.isEmpty()) {
      Integer id = (Integer) toSee.poll();
      RDDInfo rdd = (RDDInfo) own.get(id);
      if (rdd != null && !rdd.storageLevel().isValid() && open.add(id)) {
        scala.collection.Iterator it = rdd.parentIds().iterator();
        while (it.hasNext()) {
          toSee.add(it.next());
        }
      }
    }
  }

  private void sort(RDDInfo rdd) {
    Set found = open.contains(Integer.valueOf(rdd.id())) ? direct : hidden;
    scala.collection.Iterator it = rdd.parentIds().iterator();
    while (it.hasNext()) {
      Object parent = it.next();
      if (!own.containsKey(parent)) {
        found.add(parent);
      }
    }
  }
}
