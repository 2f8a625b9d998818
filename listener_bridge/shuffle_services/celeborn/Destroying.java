package shufflelifecycle;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.celeborn.common.meta.WorkerInfo;
import org.apache.celeborn.common.protocol.PartitionLocation;
import org.apache.celeborn.common.rpc.RpcEndpointRef;
import scala.Option;
import scala.concurrent.Future;
import scala.reflect.ClassTag;

/**
 * Has the workers delete the files of one id, with the client's own message, and hears what each of them says.
 *
 * Files are gone when a worker has answered. A reader that still knows the id fails cleanly; nothing is erased from the
 * driver's books here. Invariant: nobody is waited for beyond the limit; a worker that has not answered is named, and not
 * asked again for a while.
 */
public class Destroying {
  private static final long LOOK_MS = 5L;
  private static final String COMMIT = "the commit";

  private final CelebornClient client;
  private final Silences silences = new Silences();

  Destroying(CelebornClient client) {
    this.client = client;
  }

  /** Null once it is known where the files of the id lie, or that nobody is committing it; else why not. */
  String awaitCommit(Integer id, long end) throws Exception {
    long limit = System.nanoTime() + (silences.of(COMMIT) == null ? Silences.limitMs(end) * 1000000L : 0L);
    while (client.isBeingCommitted(id) && System.nanoTime() < limit) {
      Thread.sleep(LOOK_MS);
    }
    if (!client.isBeingCommitted(id)) {
      return null;
    }
    silences.note(COMMIT);
    return "id " + id + " is still being committed by its workers; ask again";
  }

  /** Why it is not done, worker by worker; empty: all is gone. */
  List destroy(Integer id, List locations, long end) throws Exception {
    Map workers = client.workers(id);
    Map asked = new HashMap(); // name of the worker -> its answer to come
    ArrayList problems = new ArrayList();
    Map files = byWorker(locations);
    Iterator it = files.entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      WorkerInfo worker = (WorkerInfo) workers.get(entry.getKey());
      String silent = silences.of((String) entry.getKey());
      if (worker == null || worker.endpoint() == null) {
        problems.add("worker " + entry.getKey() + " is not known to this driver any more");
      } else if (silent != null) {
        problems.add("worker " + entry.getKey() + " " + silent);
      } else {
        asked.put(entry.getKey(), ask(worker, id, (List[]) entry.getValue()));
      }
    }
    hear(asked, problems, System.nanoTime() + Silences.limitMs(end) * 1000000L);
    return problems;
  }

  /** Worker -> {names of primary files, names of replicas}. */
  private static Map byWorker(List locations) {
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

  private Object ask(WorkerInfo worker, Integer id, List[] files) throws Exception {
    Constructor message = CelebornClient.messages("DestroyWorkerSlots").getConstructors()[0];
    Object wish = message.newInstance(new Object[] {client.key(id), files[0], files[1], Boolean.FALSE});
    Class tags = Class.forName("scala.reflect.ClassTag$");
    Class answer = CelebornClient.messages("DestroyWorkerSlotsResponse");
    Object tag = tags.getMethod("apply", new Class[] {Class.class}).invoke(Reflect.module(tags), new Object[] {answer});
    return ((RpcEndpointRef) worker.endpoint()).ask(wish, (ClassTag) tag);
  }

  private void hear(Map asked, List problems, long end) throws Exception {
    Iterator it = asked.entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      Future answer = (Future) entry.getValue();
      while (!answer.isCompleted() && System.nanoTime() < end) {
        Thread.sleep(LOOK_MS);
      }
      boolean isSilent = !answer.isCompleted();
      if (isSilent) {
        silences.note((String) entry.getKey());
      }
      String problem = isSilent ? "has not answered yet" : problemOf(answer.value());
      if (problem != null) {
        problems.add("worker " + entry.getKey() + " " + problem);
      }
    }
  }

  /** A worker that has never heard of the id, or has expired it, has none of its files. */
  private static String problemOf(Option told) throws Exception {
    scala.util.Try outcome = (scala.util.Try) told.get();
    if (!outcome.isSuccess()) {
      return "did not answer: " + ((scala.util.Failure) outcome).exception();
    }
    String status = String.valueOf(Reflect.call(outcome.get(), "status"));
    boolean gone = status.equals("SUCCESS") || status.equals("SHUFFLE_UNREGISTERED") || status.equals("SHUFFLE_NOT_REGISTERED");
    return gone ? null : "says " + status;
  }
}
