package shufflelifecycle;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.scheduler.TaskInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Errands for the scheduler's thread, from threads that have heard of something.
 *
 * Responsible for getting them there, in their order. Refuses to know when one is due (`MarkListener`) and what it does
 * (`Marks`). Invariant: nothing is thrown and nobody waits. `missed` and `settle` have one errand waiting at most: whatever
 * is noticed before it begins is covered by it.
 */
class Errands implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger("shuffle_lifecycle");

  private static final int NONE = -1; // no shuffle, or no stage
  private static final int RESULT_SUBMITTED = 1;
  private static final int SETTLE = 2;
  private static final int ASK_AGAIN = 3;
  private static final int LEARN = 4;
  private static final int LOOK_WHETHER_SCATTERED = 5;

  private final Scheduler scheduler;
  private final Generations generations;
  private final History history;
  private final AtomicInteger underWay = new AtomicInteger(); // errands that may set marks: they concern what is heard meanwhile
  private volatile Marks marks; // set later (`areFor`): what it is made of needs errands
  private volatile boolean settling = false; // a `settle` waits
  private volatile boolean looking = false; // a `missed` waits

  Errands(Scheduler scheduler, Generations generations, History history) {
    this.scheduler = scheduler;
    this.generations = generations;
    this.history = history;
  }

  /** To be called before any errand is posted. */
  void areFor(Marks marks) {
    this.marks = marks;
  }

  /** Whether an errand waits, or runs, that may set marks. */
  boolean areUnderWay() {
    return underWay.get() > 0;
  }

  // ---- what is asked for ----

  /** Events were dropped. */
  void missed() {
    if (!looking) {
      looking = true;
      post(new Missed());
    }
  }

  /** A map stage was submitted whose app shuffle is owed. `properties`: those of its job. */
  void again(int shuffle, int stage, Properties properties) {
    post(new Again(shuffle, stage, properties));
  }

  /** A job was heard of that had written this app shuffle from a mix which was found before. */
  void madeOfMix(int shuffle, int stage, Properties properties) {
    post(new OfMix(shuffle, stage, properties));
  }

  void written(int shuffle, int stage) {
    post(new Find(shuffle, stage));
  }

  /** A stage was submitted that reads both sides of `root`, or may read outdated blocks. */
  void reads(int root, Submitted reader) {
    post(new Reads(root, reader));
  }

  void resultSubmitted(int stage) {
    post(RESULT_SUBMITTED, NONE, stage);
  }

  void resultBegins(int stage, TaskInfo task) {
    post(new ResultTask(stage, task, false));
  }

  void resultDelivered(int stage, TaskInfo task) {
    post(new ResultTask(stage, task, true));
  }

  void resultEnded(History.Result result, boolean succeeded, long time) {
    post(new ResultEnded(result, succeeded, time));
  }

  void lookWhetherScattered(int shuffle) {
    post(LOOK_WHETHER_SCATTERED, shuffle, NONE);
  }

  void learnLive() {
    post(LEARN, NONE, NONE);
  }

  void askAgain() {
    post(ASK_AGAIN, NONE, NONE);
  }

  /** Something has ended: what waited for it may be put back or dropped. */
  void settle() {
    if (!settling) {
      settling = true;
      post(SETTLE, NONE, NONE);
    }
  }

  /** Executors have dropped blocks. Called in the thread of the removal. */
  public void run() {
    post(new Gone());
  }

  private void post(int verb, int shuffle, int stage) {
    post(new Verb(verb, shuffle, stage));
  }

  private void post(Errand errand) {
    scheduler.post(new Ticket(errand));
  }

  // ---- in the scheduler's thread ----

  private abstract class Errand implements Work {
    final int shuffle;
    final int stage;

    Errand(int shuffle, int stage) {
      this.shuffle = shuffle;
      this.stage = stage;
    }

    public Object run() {
      try {
        act();
      } catch (Throwable t) {
        LOG.error("generations of app shuffle " + shuffle + " may be mixed: the scheduler was not told of it", t);
      }
      return null;
    }

    abstract void act() throws Exception;
  }

  private class Verb extends Errand {
    private final int verb;

    Verb(int verb, int shuffle, int stage) {
      super(shuffle, stage);
      this.verb = verb;
    }

    void act() throws Exception {
      if (verb == LOOK_WHETHER_SCATTERED) {
        generations.lookWhetherScattered(shuffle);
      } else if (verb == RESULT_SUBMITTED) {
        marks.resultSubmitted(stage);
      } else if (verb == SETTLE) {
        settling = false;
        marks.settle();
      } else if (verb == ASK_AGAIN) {
        marks.askAgain();
      } else {
        marks.learnLive();
      }
    }
  }

  /** Something of what is owed has happened (here: it is written): results may be found that come to mix. */
  private class Find extends Errand {
    final List unfinished = history.unfinished();

    Find(int shuffle, int stage) {
      super(shuffle, stage);
      underWay.incrementAndGet();
    }

    void act() throws Exception {
      try {
        find();
      } finally {
        underWay.decrementAndGet();
      }
    }

    void find() throws Exception {
      marks.written(shuffle, stage, unfinished);
    }
  }

  private class Missed extends Find {
    Missed() {
      super(NONE, NONE);
    }

    void find() throws Exception {
      looking = false; // first: what is dropped from now on is looked for again
      Set all = new LinkedHashSet(history.unfinished());
      all.addAll(unfinished);
      marks.missed(new ArrayList(all));
      LiveJobs.tell(scheduler); // behind this, who has ended unheard is unfinished no more
    }
  }

  private class Again extends Find {
    final String said;

    Again(int shuffle, int stage, Properties properties) {
      super(shuffle, stage);
      this.said = Choices.saysOfItself(properties);
    }

    void find() throws Exception {
      marks.submittedAgain(shuffle, stage, said, unfinished);
    }
  }

  private class OfMix extends Again {
    OfMix(int shuffle, int stage, Properties properties) {
      super(shuffle, stage, properties);
    }

    void find() throws Exception {
      marks.madeOfMix(shuffle, stage, said, unfinished);
    }
  }

  private class Gone extends Find {
    Gone() {
      super(NONE, NONE);
    }

    void find() throws Exception {
      marks.blocksGone(unfinished);
    }
  }

  private class Reads extends Errand {
    private final Submitted reader;

    Reads(int root, Submitted reader) {
      super(root, reader.stage);
      this.reader = reader;
    }

    void act() throws Exception {
      marks.reads(shuffle, reader);
    }
  }

  /** A task of a result stage has begun, or delivered. */
  private class ResultTask extends Errand {
    private final TaskInfo task;
    private final boolean delivered;

    ResultTask(int stage, TaskInfo task, boolean delivered) {
      super(NONE, stage);
      this.task = task;
      this.delivered = delivered;
    }

    void act() throws Exception {
      if (delivered) {
        marks.resultDelivered(stage, task.taskId(), task.partitionId());
      } else {
        marks.resultBegins(stage, task.taskId(), task.speculative());
      }
    }
  }

  private class ResultEnded extends Errand {
    private final History.Result result;
    private final boolean succeeded;
    private final long time;

    ResultEnded(History.Result result, boolean succeeded, long time) {
      super(NONE, result.stage);
      this.result = result;
      this.succeeded = succeeded;
      this.time = time;
    }

    void act() {
      marks.resultEnded(result, succeeded, time);
    }
  }
}
