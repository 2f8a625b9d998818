package shufflelifecycle;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.network.client.TransportClientFactory;
import org.apache.spark.network.shuffle.ExternalBlockStoreClient;
import org.apache.spark.network.shuffle.protocol.BlockTransferMessage;
import org.apache.spark.network.shuffle.protocol.BlocksRemoved;
import org.apache.spark.network.shuffle.protocol.RemoveBlocks;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.shuffle.ShuffleManager;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.BlockManagerMaster;
import org.apache.spark.storage.BlockManagerMessages;
import scala.concurrent.Await;
import scala.concurrent.duration.Duration;

/**
 * Deletes the files of a shuffle wherever they lie, and waits until they are gone.
 *
 * Never through the driver's own block manager, which would unregister the shuffle: readers would then find nothing
 * instead of failing. Files whose executor is gone are asked of the host's shuffle service, by name.
 */
public class Deletion {
  private final BlockManagerMaster executors;
  private final ShuffleManager local; // null unless the driver is the executor
  private final ExternalBlockStoreClient service; // null where there is no external shuffle service
  private final Silences silences = new Silences(); // of hosts' shuffle services
  private final Silences hung = new Silences(); // executors
  private final String checksum; // the suffix of checksum files, null where there are none

  public Deletion(Object executors, Object local, Object service, Object checksum) {
    this.executors = (BlockManagerMaster) executors;
    this.local = (ShuffleManager) local;
    this.service = (ExternalBlockStoreClient) service;
    this.checksum = (String) checksum;
  }

  /**
   * Asks every executor; gives who has not confirmed, with the reason. To be called while the outputs are held, with the
   * endpoints from before: the block manager's master, who knows them, may itself be waiting for the outputs. Nobody is
   * asked after `end`, when they are held no longer.
   */
  Map byExecutors(Generations.Shuffle shuffle, Map endpoints, long end) throws InterruptedException {
    Map silent = new HashMap();
    if (local != null) {
      String why = LocalFiles.delete(local, shuffle.id, shuffle.mapIds(), shuffle.bytesThere(), end);
      if (why != null) {
        silent.put("driver", why);
      }
    }
    Map asked = ask(shuffle.id, endpoints, end, silent);
    long limitMs = Silences.limitMs(end);
    Iterator it = asked.entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      String why = hear((String) entry.getKey(), (scala.concurrent.Future) entry.getValue(), end, limitMs);
      if (why != null) {
        silent.put(entry.getKey(), why);
      }
    }
    return silent;
  }

  /** Null where it has deleted them; else why not. One that hangs would keep each deletion waiting, and the outputs held. */
  private String hear(String executor, scala.concurrent.Future answer, long end, long limitMs) {
    String why = await(answer, end);
    if (answer.isCompleted()) {
      hung.heard(executor);
    } else if (Silences.isTime(limitMs)) {
      hung.note(executor);
    }
    return why;
  }

  private Map ask(int shuffle, Map endpoints, long end, Map silent) {
    Map asked = new HashMap();
    scala.reflect.ClassTag tag = scala.reflect.ClassTag$.MODULE$.apply(Boolean.class);
    Iterator it = endpoints.entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      String hangs = hung.of((String) entry.getKey());
      if (hangs != null) {
        silent.put(entry.getKey(), hangs);
      } else if (System.nanoTime() < end) {
        Object message = new BlockManagerMessages.RemoveShuffle(shuffle);
        asked.put(entry.getKey(), ((RpcEndpointRef) entry.getValue()).ask(message, tag));
      } else {
        silent.put(entry.getKey(), "not asked: the outputs were held no longer");
      }
    }
    return asked;
  }

  /** Executor -> where to ask it. */
  Map endpoints() {
    Map found = new HashMap();
    Iterator it = alive().iterator();
    while (it.hasNext()) {
      String executor = (String) it.next();
      scala.Option endpoint = executor.equals("driver") ? null : executors.getExecutorEndpointRef(executor);
      if (endpoint != null && endpoint.isDefined()) {
        found.put(executor, endpoint.get());
      }
    }
    return found;
  }

  private static String await(scala.concurrent.Future answer, long end) {
    try {
      long left = Math.max(1L, (end - System.nanoTime()) / 1000000L);
      Await.ready(answer, Duration.create(left, TimeUnit.MILLISECONDS));
      scala.util.Try result = (scala.util.Try) answer.value().get();
      return result.isSuccess() ? null : String.valueOf(result.failed().get());
    } catch (Throwable t) { // a timeout, which Scala does not declare
      return "no answer in time";
    }
  }

  /**
   * Executors that have files and can be asked: the driver itself only where it is the executor. It then is so for good,
   * although a fetch that failed has Spark strike its block manager off.
   */
  Set alive() {
    Set ids = new TreeSet();
    scala.collection.Iterator it = executors.getMemoryStatus().keysIterator();
    while (it.hasNext()) {
      BlockManagerId id = (BlockManagerId) it.next();
      if (!id.isDriver()) {
        ids.add(id.executorId());
      }
    }
    if (local != null) {
      ids.add("driver");
    }
    return ids;
  }

  /** Of these executors, the ones that were not asked, and can be another time: see `Scheduler.struckOff`. */
  Set unasked(Set living, Set asked) {
    Set found = new TreeSet(living);
    found.removeAll(asked);
    found.remove("driver"); // which is asked without an endpoint, or has no files
    if (outlives()) {
      found.retainAll(alive()); // for the others the host's shuffle service is asked
    }
    return found;
  }

  /** Whether files outlive their executor here. */
  boolean outlives() {
    return service != null;
  }

  /**
   * Has the host's shuffle service delete by name; how many files it removed. What it did not remove was not there, as where
   * it had done so after an earlier call had stopped waiting. Thrown: it did not answer, refused, or was not asked.
   */
  public int byService(int shuffle, Place place, long end) throws Exception {
    Patience patience = silences.ask(serviceOf(place), Silences.limitMs(end));
    TransportClient client = null;
    try {
      client = client(place);
      return ask(client, new RemoveBlocks((String) Reflect.get(service, "appId"), place.executor, names(shuffle, place)));
    } catch (Exception refused) {
      throw patience.told(refused, client == null); // which may be starting again
    } finally {
      patience.over();
    }
  }

  /** Spark's own connection. To a host that is gone one is made for two minutes; who asks is interrupted earlier. */
  private TransportClient client(Place place) throws Exception {
    return ((TransportClientFactory) Reflect.get(service, "clientFactory")).createClient(place.host, place.port);
  }

  /** Spark's own message, but not by `removeBlocks`: that one answers 0 for a refusal too. */
  private static int ask(TransportClient client, RemoveBlocks wish) throws Exception {
    ByteBuffer answer = client.sendRpcSync(wish.toByteBuffer(), 2L * Silences.LIMIT_MS);
    return ((BlocksRemoved) BlockTransferMessage.Decoder.fromByteBuffer(answer)).numRemovedBlocks;
  }

  private static String serviceOf(Place place) {
    return "the shuffle service at " + place.host + ":" + place.port;
  }

  /** How often in a row the host's shuffle service has not answered. */
  int silencesOf(Place place) {
    return silences.times(serviceOf(place));
  }

  private String[] names(int shuffle, Place place) {
    ArrayList names = new ArrayList();
    for (int i = 0; i < place.mapIds.size(); i++) {
      String base = "shuffle_" + shuffle + "_" + place.mapIds.get(i) + "_0";
      names.add(base + ".index");
      names.add(base + ".data");
      if (checksum != null) {
        names.add(base + checksum);
      }
    }
    return (String[]) names.toArray(new String[0]);
  }
}
