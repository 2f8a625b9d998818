package shufflelifecycle;

import java.lang.reflect.Constructor;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.celeborn.common.meta.WorkerInfo;
import org.apache.celeborn.common.rpc.RpcEndpointRef;
import scala.Option;
import scala.concurrent.Future;
import scala.reflect.ClassTag;

/**
 * Has the workers delete the files of one id, with the client's own message, and hears what each of them says.
 *
 * Files are gone when a worker has answered. A reader that still knows the id fails cleanly; nothing is erased from the
 * driver's books here. Invariant: nobody is waited for beyond the limit; a worker that has not answered is named, and not
 * asked again for a while. One that was asked in vain too often is given up: Celeborn itself has it delete what it knows
 * of an id that is forgotten, if it ever comes back. So it has one that does not know of the id: it has expired it, or lost
 * it, or was shut down gracefully and started again, and then it has the files still, and deletes none for who asks.
 */
public class Destroying {
  private static final long LOOK_MS = 5L;
  private static final String COMMIT = "the commit";
  private static final String GONE = "SUCCESS";
  private static final List UNAWARE = Arrays.asList(new String[] {"SHUFFLE_UNREGISTERED", "SHUFFLE_NOT_REGISTERED"});

  private final CelebornClient client;
  private final Silences silences = new Silences();

  Destroying(CelebornClient client) {
    this.client = client;
  }

  /** Null once it is known where the files of the id lie, or that nobody is committing it; else why not. */
  String awaitCommit(Integer id, long end) throws Exception {
    long limitMs = Silences.limitMs(end);
    long limit = System.nanoTime() + (silences.of(COMMIT) == null ? limitMs * 1000000L : 0L);
    while (client.isBeingCommitted(id) && System.nanoTime() < limit) {
      Thread.sleep(LOOK_MS);
    }
    if (!client.isBeingCommitted(id)) {
      return null;
    }
    if (Silences.isTime(limitMs)) {
      silences.note(COMMIT);
    }
    return "id " + id + " is still being committed by its workers; ask again";
  }

  Outcome destroy(Integer id, Map files, long end) throws Exception {
    Map workers = client.workers(id);
    Map asked = new HashMap(); // whom -> its answer to come
    Map problems = new HashMap(); // whom -> why it is not done
    Set unaware = new TreeSet(); // who does not know of the id
    long limitMs = Silences.limitMs(end);
    Iterator it = files.entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      WorkerInfo worker = (WorkerInfo) workers.get(entry.getKey());
      boolean isKnown = worker != null && worker.endpoint() != null;
      String whom = isKnown ? (String) entry.getKey() : entry.getKey() + " of id " + id; // other ids may know it
      String silent = silences.of(whom, limitMs);
      if (silent != null) {
        problems.put(whom, silent);
      } else if (!isKnown) {
        problems.put(whom, "is not known to this driver any more");
        silences.note(whom);
      } else {
        asked.put(whom, ask(worker, id, (List[]) entry.getValue()));
      }
    }
    hear(asked, problems, unaware, System.nanoTime() + limitMs * 1000000L);
    return outcome(id, problems, unaware);
  }

  private Outcome outcome(Integer id, Map problems, Set unaware) {
    Outcome outcome = new Outcome();
    for (Iterator it = unaware.iterator(); it.hasNext();) {
      outcome.isUnknown("files of Celeborn's id " + id, "worker " + it.next());
    }
    Iterator it = problems.entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      String worker = "worker " + entry.getKey();
      int times = silences.times((String) entry.getKey());
      outcome.left("files of Celeborn's id " + id, worker, worker + " " + entry.getValue(), times);
    }
    return outcome;
  }

  private Object ask(WorkerInfo worker, Integer id, List[] files) throws Exception {
    Constructor message = CelebornClient.messages("DestroyWorkerSlots").getConstructors()[0];
    Object wish = message.newInstance(new Object[] {client.key(id), files[0], files[1], Boolean.FALSE});
    Class tags = Class.forName("scala.reflect.ClassTag$");
    Class answer = CelebornClient.messages("DestroyWorkerSlotsResponse");
    Object tag = tags.getMethod("apply", new Class[] {Class.class}).invoke(Reflect.module(tags), new Object[] {answer});
    return ((RpcEndpointRef) worker.endpoint()).ask(wish, (ClassTag) tag);
  }

  private void hear(Map asked, Map problems, Set unaware, long end) throws Exception {
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
      String status = silence == null ? statusOf((scala.util.Try) answer.value().get()) : null;
      if (UNAWARE.contains(status)) {
        unaware.add(entry.getKey());
      } else if (!GONE.equals(status)) {
        problems.put(entry.getKey(), silence == null ? "says " + status : silence);
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

  private static String statusOf(scala.util.Try outcome) throws Exception {
    return String.valueOf(Reflect.call(outcome.get(), "status"));
  }
}
