package shufflelifecycle;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.FetchFailed;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskState;
import org.apache.spark.scheduler.DAGScheduler;
import org.apache.spark.scheduler.LiveListenerBus;
import org.apache.spark.scheduler.Schedulable;
import org.apache.spark.scheduler.Task;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSetFailed;
import org.apache.spark.scheduler.TaskSetManager;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.BlockManagerMaster;
import scala.Option;

/** The driver's scheduler as we use it: run work in its thread, see its task sets, post on its bus. */
public class Scheduler {
  private static final String OURS = "shuffle lifecycle: ";

  public final DAGScheduler dag;
  public final LiveListenerBus bus;
  private final TaskSchedulerImpl tasks;

  public Scheduler(SparkContext sc) {
    this.dag = sc.dagScheduler();
    this.bus = sc.listenerBus();
    this.tasks = (TaskSchedulerImpl) sc.taskScheduler();
  }

  /** Runs the work between two of the scheduler's events; null where the scheduler did not come to it in time. */
  public Object call(Work work, long timeoutMs) throws Exception {
    return await(new Call(this, work, false), timeoutMs);
  }

  /** The same; work that answers `AGAIN` is run again, behind all that waits for the scheduler then. */
  public Object callAgain(Work work, long timeoutMs) throws Exception {
    return await(new Call(this, work, true), timeoutMs);
  }

  private static Object await(Call call, long timeoutMs) throws Exception {
    call.post();
    return call.await(timeoutMs);
  }

  /** Without waiting for it. */
  public void post(Ticket ticket) {
    dag.eventProcessLoop().post(new TaskSetFailed(ticket, "shuffle lifecycle", Option.apply((Object) null)));
  }

  /** Whether the Spark context is stopped, so that no work runs any more. */
  public boolean isStopped() {
    return dag.sc().isStopped();
  }

  public void mark(String name, String payload) {
    bus.post(new Marker(name, payload));
  }

  /**
   * Task sets that have a task running, or may start one; also those of attempts that the DAG scheduler has given up. A task set
   * counts until the end of its last task was posted to the DAG scheduler, which may not have handled it yet: a task whose
   * result is still to be fetched no longer counts as running. A given-up set whose last tasks all wait for that goes with
   * the first of them: only the stage memory knows the others.
   *
   * The pools' own queues are walked: `getSortedTaskSetQueue` leaves out what has nothing more to launch, which is every
   * given-up attempt, and every set whose last task has started.
   */
  public List activeTaskSets() {
    ArrayList active = new ArrayList();
    synchronized (tasks) { // the order of locks is Spark's own: the DAG scheduler's thread takes this one to submit
      addActive(tasks.rootPool(), active);
    }
    return active;
  }

  private static void addActive(Schedulable part, List active) {
    if (part instanceof TaskSetManager) {
      TaskSetManager manager = (TaskSetManager) part;
      if (!manager.isZombie() || manager.runningTasks() > 0 || hasUntold(manager)) {
        active.add(manager);
      }
      return;
    }
    Iterator it = part.schedulableQueue().iterator();
    while (it.hasNext()) {
      addActive((Schedulable) it.next(), active);
    }
  }

  private static boolean hasUntold(TaskSetManager manager) {
    scala.collection.Iterator it = manager.taskInfos().valuesIterator();
    while (it.hasNext()) {
      if (!((TaskInfo) it.next()).finished()) {
        return true;
      }
    }
    return false;
  }

  /** The numbers of the set's tasks that run now. */
  public List runningTasks(TaskSetManager manager) {
    ArrayList running = new ArrayList();
    synchronized (tasks) {
      scala.collection.Iterator it = manager.runningTasksSet().iterator();
      while (it.hasNext()) {
        running.add(it.next());
      }
    }
    return running;
  }

  /** The number of the set's first task that has not failed; Long.MAX_VALUE where none has begun. */
  public long firstTask(TaskSetManager manager) {
    long first = Long.MAX_VALUE;
    for (Iterator it = unfailed(manager).iterator(); it.hasNext();) {
      first = Math.min(first, ((TaskInfo) it.next()).taskId());
    }
    return first;
  }

  /** The number of the set's first task, also where that has failed; Long.MAX_VALUE where none has begun. */
  public long firstTaskEver(TaskSetManager manager) {
    synchronized (tasks) {
      long first = Long.MAX_VALUE;
      scala.collection.Iterator it = manager.taskInfos().keysIterator();
      while (it.hasNext()) {
        first = Math.min(first, ((Number) it.next()).longValue());
      }
      return first;
    }
  }

  /** The number of the last task that is no speculative copy; -1 where none has begun. */
  public long lastTask(TaskSetManager manager) {
    long last = -1L;
    for (Iterator it = unfailed(manager).iterator(); it.hasNext();) {
      TaskInfo task = (TaskInfo) it.next();
      last = task.speculative() ? last : Math.max(last, task.taskId());
    }
    return last;
  }

  /** Whether each of the set's tasks has begun, or one has succeeded: the scheduler may not have come to its end yet. */
  public boolean haveAllBegunOrOneSucceeded(TaskSetManager manager) {
    TreeSet begun = new TreeSet();
    for (Iterator it = unfailed(manager).iterator(); it.hasNext();) {
      TaskInfo task = (TaskInfo) it.next();
      if (task.successful()) {
        return true;
      }
      begun.add(Integer.valueOf(task.index()));
    }
    return begun.size() == manager.taskSet().tasks().length;
  }

  private List unfailed(TaskSetManager manager) {
    ArrayList found = new ArrayList();
    synchronized (tasks) {
      scala.collection.Iterator it = manager.taskInfos().valuesIterator();
      while (it.hasNext()) {
        TaskInfo task = (TaskInfo) it.next();
        if (!task.finished() || task.successful()) {
          found.add(task);
        }
      }
    }
    return found;
  }

  /** Gives this epoch to all tasks of the set that are launched from now on. */
  public void renew(TaskSetManager manager, long epoch) {
    synchronized (tasks) { // which is held where they are launched
      Task[] all = manager.taskSet().tasks();
      for (int i = 0; i < all.length; i++) {
        all[i].epoch_$eq(epoch);
      }
    }
  }

  /** Asks the task's executor to end it; harmless where it has ended. */
  public void kill(long task, String why) {
    tasks.killTaskAttempt(task, false, why);
  }

  /**
   * Ends the attempt as if this task of it had failed to read the shuffle: nothing more of it begins, and Spark makes
   * another one when the shuffle is there. Its tasks go on running until somebody kills them.
   */
  public void endAttempt(TaskSetManager manager, long task, int shuffle, String why) {
    tasks.handleFailedTask(manager, task, TaskState.FAILED(), new FetchFailed(null, shuffle, -1L, -1, 0, OURS + why));
  }

  /** Whether the failure was made by `endAttempt`: nothing was missing. */
  static boolean isOurs(FetchFailed reason) {
    return String.valueOf(reason.message()).startsWith(OURS);
  }

  /** The id that the next task will get: every task with a smaller one is older than now. */
  public long nextTaskId() {
    return tasks.nextTaskId().get();
  }

  /** Whether the task scheduler knows the task to be running: its end is to come. */
  public boolean runs(long task) {
    Object running = tasks.taskIdToTaskSetManager();
    return ((java.util.concurrent.ConcurrentHashMap) running).containsKey(Long.valueOf(task));
  }

  /** The ids of all live executors. */
  public Set executors() {
    Set found = new TreeSet();
    scala.collection.Iterator it = tasks.runningTasksByExecutors().keysIterator();
    while (it.hasNext()) {
      found.add(it.next());
    }
    return found;
  }

  /**
   * Live executors that the block manager's master does not know at the moment. Spark removes an executor there after a fetch
   * from it has failed. Such an executor keeps its blocks and is asked nothing; the master knows it again, with all its
   * blocks, from its next heartbeat or block on. In local mode the driver, which is the executor, may stay unknown for good.
   */
  public Set struckOff(BlockManagerMaster master) {
    Set found = executors();
    found.remove("driver");
    scala.collection.Iterator it = master.getMemoryStatus().keysIterator();
    while (it.hasNext()) {
      found.remove(((BlockManagerId) it.next()).executorId());
    }
    return found;
  }

  /** The smallest id of a task that the task scheduler knows to be running; Long.MAX_VALUE where there is none. */
  public long oldestRunningTask() {
    long oldest = Long.MAX_VALUE;
    java.util.Enumeration ids = ((java.util.concurrent.ConcurrentHashMap) (Object) tasks.taskIdToTaskSetManager()).keys();
    while (ids.hasMoreElements()) {
      oldest = Math.min(oldest, ((Number) ids.nextElement()).longValue());
    }
    return oldest;
  }
}
