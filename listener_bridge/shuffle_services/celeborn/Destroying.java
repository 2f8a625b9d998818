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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.concurrent.Future;
import scala.reflect.ClassTag;

/**
 * Has the workers delete the files of one id, with the client's own message, and hears what each of them says.
 *
 * Files are gone when a worker has answered. A reader that still knows the id fails cleanly; nothing is erased from the
 * driver's books here. Invariant: nobody is waited for beyond the limit; a worker that has not answered is named, and not
 * asked again for a while. One that was asked in vain too often is given up: Celeborn itself has it delete what it knows
 * of an id that is forgotten, if it ever comes back.
 */
public class Destroying {
  private static final Logger LOG = LoggerFactory.getLogger("shuffle_lifecycle");
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

  /** What became of the files of an id. */
  static class Outcome {
    final List problems = new ArrayList(); // why it is not done, worker by worker; empty: it is
    boolean hasGivenUp = false; // on a worker, whose files may be left

    boolean isDone() {
      return problems.isEmpty();
    }
  }

  Outcome destroy(Integer id, List locations, long end) throws Exception {
    Map workers = client.workers(id);
    Map asked = new HashMap(); // name of the worker -> its answer to come
    Map problems = new HashMap(); // name of the worker -> why it is not done
    Map files = byWorker(locations);
    Iterator it = files.entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      WorkerInfo worker = (WorkerInfo) workers.get(entry.getKey());
      String silent = silences.of((String) entry.getKey());
      if (silent != null) {
        problems.put(entry.getKey(), silent);
      } else if (worker == null || worker.endpoint() == null) {
        problems.put(entry.getKey(), "is not known to this driver any more");
        silences.note((String) entry.getKey());
      } else {
        asked.put(entry.getKey(), ask(worker, id, (List[]) entry.getValue()));
      }
    }
    hear(asked, problems, System.nanoTime() + Silences.limitMs(end) * 1000000L);
    return outcome(id, problems);
  }

  private Outcome outcome(Integer id, Map problems) {
    Outcome outcome = new Outcome();
    Iterator it = problems.entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      if (silences.times((String) entry.getKey()) < Silences.TIMES_MAX) {
        outcome.problems.add("worker " + entry.getKey() + " " + entry.getValue());
      } else {
        outcome.hasGivenUp = true;
        LOG.warn("files of Celeborn's id {} may be left on worker {}, which was asked {} times in vain",
            new Object[] {id, entry.getKey(), Integer.valueOf(Silences.TIMES_MAX)});
      }
    }
    return outcome;
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

  private void hear(Map asked, Map problems, long end) throws Exception {
    Iterator it = asked.entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      Future answer = (Future) entry.getValue();
      while (!answer.isCompleted() && System.nanoTime() < end) {
        Thread.sleep(LOOK_MS);
      }
      String silence = silenceOf(answer.value());
      if (silence == null) {
        silences.heard((String) entry.getKey());
      } else {
        silences.note((String) entry.getKey());
      }
      String problem = silence == null ? refusalOf((scala.util.Try) answer.value().get()) : silence;
      if (problem != null) {
        problems.put(entry.getKey(), problem);
      }
    }
  }

  /** Null where it has answered. */
  private static String silenceOf(Option told) {
    if (!told.isDefined()) {
      return "has not answered yet";
    }
    scala.util.Try outcome = (scala.util.Try) told.get();
    return outcome.isSuccess() ? null : "did not answer: " + ((scala.util.Failure) outcome).exception();
  }

  /** A worker that has never heard of the id, or has expired it, has none of its files. */
  private static String refusalOf(scala.util.Try outcome) throws Exception {
    String status = String.valueOf(Reflect.call(outcome.get(), "status"));
    boolean gone = status.equals("SUCCESS") || status.equals("SHUFFLE_UNREGISTERED") || status.equals("SHUFFLE_NOT_REGISTERED");
    return gone ? null : "says " + status;
  }
}
