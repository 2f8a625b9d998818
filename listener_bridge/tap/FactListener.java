package shufflelifecycle;

import com.codahale.metrics.Counter;
import java.time.Instant;
import java.util.Set;
import org.apache.spark.CleanerListener;
import org.apache.spark.ExecutorLostFailure;
import org.apache.spark.FetchFailed;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.*;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;

/**
 * Turns the few events that matter into rows, in the order in which the bus delivers them.
 *
 * Invariant: it never throws into the bus and never waits. An event whose row could not be made is counted and told as
 * dropped. Tasks' events, which are most of all, cost one look-up in a table each.
 *
 * A row is prompt (`RowBuffer`) if it matters soon: something went wrong, somebody waits for it, or much data was moved.
 * After a stage that has failed or moved much, all rows are prompt for a second, so that its job's end is. After a stage
 * that has moved some, rows are prompt for a quarter of a second, as long as such stages are seldom.
 */
public class FactListener extends SparkListener implements CleanerListener {
  private static final long SOON_NS = 1000000000L;
  private static final long AT_ONCE_NS = 250000000L;
  private static final String QUERY_STARTED = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryStartedEvent";
  private static final long HARDLY_ANY = 64L; // a stage that moved less than this part of `promptBytes` moved hardly any

  public final StageMemory stages = new StageMemory();
  public final Describe describe = new Describe();
  private final RowBuffer rows;
  private final Scheduler scheduler;
  private final Outputs outputs;
  private final SparkRemovals removals;
  private final StoredBlocks stored = new StoredBlocks();
  private final long promptBytes; // a stage that moved so many bytes moved much; 0: every row is prompt
  // How often a stage that moved some makes rows prompt. The listener's thread alone.
  private final Allowance some = new Allowance(2000000000L, 30L);
  private volatile Counter busDrops; // known once the queue exists
  private long busDropsTold = 0L;
  private long promptUntilNs = System.nanoTime(); // the listener's thread alone

  public FactListener(RowBuffer rows, Scheduler scheduler, Outputs outputs, SparkRemovals removals, long promptBytes) {
    this.rows = rows;
    this.scheduler = scheduler;
    this.outputs = outputs;
    this.removals = removals;
    this.promptBytes = promptBytes;
  }

  /** Counts drops from now on: the queue may be older than this listener. */
  void watchDrops(Counter counter) {
    busDropsTold = counter == null ? 0L : counter.getCount();
    busDrops = counter;
  }

  /** Says how many events Spark's queue has dropped, where there are new ones. From any thread. */
  synchronized void tellBusDrops() {
    long now = busDrops == null ? 0L : busDrops.getCount();
    if (now > busDropsTold) {
      long count = now - busDropsTold;
      busDropsTold = now;
      rows.lost(count, "bus");
      outputs.missed();
    }
  }

  void put(Row row) {
    put(row, true);
  }

  private void putInTime(Row row) {
    put(row, promptBytes == 0L || isInHurry());
  }

  private void put(Row row, boolean isPrompt) {
    tellBusDrops();
    rows.put(row, isPrompt);
  }

  private void failed() {
    rows.lost(1L, "tap");
  }

  public void onTaskStart(SparkListenerTaskStart event) {
    try {
      stages.taskStarted(event.stageId(), event.taskInfo().taskId());
    } catch (Throwable t) {
      failed();
    }
  }

  public void onTaskEnd(SparkListenerTaskEnd event) {
    try {
      boolean isFetchFailed = event.reason() instanceof FetchFailed;
      if (isFetchFailed && !Scheduler.isOurs((FetchFailed) event.reason())) {
        fetchFailed(event, (FetchFailed) event.reason());
      } else if (event.reason() instanceof ExecutorLostFailure) {
        TaskInfo task = event.taskInfo();
        stages.writerLost(event.stageId(), task.host(), task.executorId(), task.taskId());
      }
      stages.taskEnded(event.stageId(), event.taskInfo().taskId());
    } catch (Throwable t) {
      failed();
    }
  }

  private void fetchFailed(SparkListenerTaskEnd event, FetchFailed reason) {
    Row row = new Row("fetchFailed").number("stage", event.stageId()).number("attempt", event.stageAttemptId());
    row.number("shuffle", reason.shuffleId()).number("map", reason.mapIndex()).number("reduce", reason.reduceId());
    put(row.text("executor", reason.bmAddress() == null ? null : reason.bmAddress().executorId()));
    outputs.suspect();
  }

  public void onJobStart(SparkListenerJobStart event) {
    try {
      removals.jobStarted(event, this);
      stages.jobStarted(event); // first: whoever sees the row may ask for its stages
      StringBuilder json = new StringBuilder();
      describe.stages(json, event.stageInfos().iterator());
      Row row = new Row("jobStarted").number("job", event.jobId()).number("time", event.time()).raw("stages", json);
      StringBuilder about = new StringBuilder("{");
      describe.properties(about, event.properties());
      putInTime(row.raw("about", about.append('}')));
    } catch (Throwable t) {
      failed();
    }
  }

  public void onJobEnd(SparkListenerJobEnd event) {
    try {
      stages.jobEnded(event.jobId());
      JobResult result = event.jobResult();
      String reason = null;
      if (result instanceof JobFailed) {
        reason = Row.reason(String.valueOf(((JobFailed) result).exception().getMessage()), 1000);
      }
      Row row = new Row("jobEnded").number("job", event.jobId()).number("time", event.time());
      putInTime(row.flag("succeeded", reason == null).text("reason", reason));
    } catch (Throwable t) {
      failed();
    }
  }

  public void onStageSubmitted(SparkListenerStageSubmitted event) {
    try {
      StageInfo stage = event.stageInfo();
      if (stage.attemptNumber() > 0) {
        hurryFor(SOON_NS);
      }
      StringBuilder json = new StringBuilder();
      describe.running(json, stage);
      putInTime(stageRow("stageSubmitted", json, stage.submissionTime()));
    } catch (Throwable t) {
      failed();
    }
  }

  public void onStageCompleted(SparkListenerStageCompleted event) {
    try {
      StageInfo stage = event.stageInfo();
      outputs.written(Row.shuffleOf(stage));
      StringBuilder json = new StringBuilder();
      describe.stage(json, stage);
      Row row = stageRow("stageCompleted", json, stage.completionTime());
      String failure = null;
      if (stage.failureReason().isDefined()) {
        failure = Row.reason((String) stage.failureReason().get(), 1000);
      }
      long moved = moved(stage.taskMetrics());
      if (failure == null) {
        removals.written(Row.shuffleOf(stage));
      }
      if (failure != null || moved >= promptBytes) {
        hurryFor(SOON_NS);
      } else if (moved >= promptBytes / HARDLY_ANY && !isInHurry() && some.pauseNs() <= 0L) {
        some.spend();
        hurryFor(AT_ONCE_NS);
      }
      putInTime(metrics(row.text("failure", failure), stage.taskMetrics()));
    } catch (Throwable t) {
      failed();
    }
  }

  private void hurryFor(long ns) {
    long untilNs = System.nanoTime() + ns;
    if (untilNs - promptUntilNs > 0L) {
      promptUntilNs = untilNs;
    }
  }

  private boolean isInHurry() {
    return System.nanoTime() - promptUntilNs < 0L;
  }

  private static long moved(TaskMetrics m) {
    return m == null ? 0L : m.shuffleWriteMetrics().bytesWritten() + readBytes(m);
  }

  private static long readBytes(TaskMetrics m) {
    return m.shuffleReadMetrics().localBytesRead() + m.shuffleReadMetrics().remoteBytesRead();
  }

  private static Row stageRow(String kind, StringBuilder json, scala.Option time) {
    long at = time.isDefined() ? ((Number) time.get()).longValue() : System.currentTimeMillis();
    return new Row(kind).number("time", at).raw("stage", json);
  }

  private static Row metrics(Row row, TaskMetrics m) {
    if (m == null) {
      row.number("written", 0L).number("read", 0L).number("outBytes", 0L).number("outRecords", 0L);
      return row.number("taskMs", 0L);
    }
    row.number("written", m.shuffleWriteMetrics().bytesWritten());
    row.number("read", readBytes(m));
    row.number("outBytes", m.outputMetrics().bytesWritten()).number("outRecords", m.outputMetrics().recordsWritten());
    return row.number("taskMs", m.executorRunTime());
  }

  public void onBlockUpdated(SparkListenerBlockUpdated event) {
    try {
      stored.note(event.blockUpdatedInfo());
    } catch (Throwable t) {
      failed();
    }
  }

  /** An executor's blocks have gone. Spark tells that at once, and the loss of the executor only when it knows why. */
  public void onBlockManagerRemoved(SparkListenerBlockManagerRemoved event) {
    try {
      String executor = event.blockManagerId().executorId();
      Set rdds = stored.takeOf(executor).keySet();
      if (!rdds.isEmpty()) {
        put(new Row("blocksGone").text("executor", executor).raw("rdds", rdds.toString()));
      }
    } catch (Throwable t) {
      failed();
    }
  }

  public void onUnpersistRDD(SparkListenerUnpersistRDD event) {
    stored.unpersisted(event.rddId());
    putInTime(new Row("unpersisted").number("rdd", event.rddId()));
  }

  public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
    try {
      Row row = new Row("executorRemoved").text("executor", event.executorId());
      put(row.text("reason", Row.shortened(String.valueOf(event.reason()), 300)).number("time", event.time()));
      outputs.suspect();
    } catch (Throwable t) {
      failed();
    }
  }

  public void onOtherEvent(SparkListenerEvent event) {
    try {
      if (event instanceof Marker) {
        put(new Row("marker").text("name", ((Marker) event).name).text("payload", ((Marker) event).payload));
      } else if (event instanceof Told) {
        put(((Told) event).row);
      } else if (event instanceof Outputs.Seen) {
        outputs.tell((Outputs.Seen) event, this);
      } else if (event instanceof Outputs.Missed) {
        stages.distrust(scheduler);
      } else if (event instanceof LiveJobs) {
        stages.endAllBut((LiveJobs) event);
      } else if (event instanceof SparkListenerSQLExecutionStart) {
        executionStarted((SparkListenerSQLExecutionStart) event);
      } else if (event instanceof SparkListenerSQLExecutionEnd) {
        executionEnded((SparkListenerSQLExecutionEnd) event);
      } else if (event.getClass().getName().equals(QUERY_STARTED)) {
        queryStarted(event);
      }
    } catch (Throwable t) {
      failed();
    }
  }

  private void executionStarted(SparkListenerSQLExecutionStart event) {
    Row row = new Row("executionStarted").number("execution", event.executionId()).number("time", event.time());
    row.text("description", Row.shortened(event.description(), 300)).text("site", Row.firstLine(event.details()));
    putInTime(row.flag("writes", Describe.writes(event.sparkPlanInfo())));
  }

  private void executionEnded(SparkListenerSQLExecutionEnd event) {
    removals.executionEnded(this);
    boolean failed = event.errorMessage().isDefined() && !"".equals(event.errorMessage().get());
    putInTime(new Row("executionEnded").number("execution", event.executionId()).number("time", event.time()).flag("failed", failed));
  }

  /** A streaming query starts. By reflection: the event's class is within a Scala object. */
  private void queryStarted(Object event) throws Exception {
    Object id = event.getClass().getMethod("id", new Class[0]).invoke(event, new Object[0]);
    Object time = event.getClass().getMethod("timestamp", new Class[0]).invoke(event, new Object[0]);
    Row row = new Row("queryStarted").text("query", String.valueOf(id));
    putInTime(row.number("time", Instant.parse((String) time).toEpochMilli()));
  }

  public void onApplicationEnd(SparkListenerApplicationEnd event) {
    put(new Row("applicationEnded").number("time", event.time()));
    rows.close(); // the last event: who drains learns that nothing follows, also where nobody closes the tap
  }

  /** The cleaner's thread. */
  public void shuffleCleaned(int shuffle) {
    stages.takeLostWriters(shuffle);
    removals.cleaned(shuffle);
    put(new Row("cleaned").number("shuffle", shuffle), promptBytes == 0L);
  }

  public void rddCleaned(int rdd) {}

  public void broadcastCleaned(long broadcast) {}

  public void accumCleaned(long accumulator) {}

  public void checkpointCleaned(long rdd) {}
}
