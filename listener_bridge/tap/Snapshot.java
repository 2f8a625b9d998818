package shufflelifecycle;

import java.util.ArrayList;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.StageInfo;

/** What the scheduler knows at one moment, told in its own thread, with a marker on the bus at that moment's place. */
public class Snapshot implements Work {
  private final Scheduler scheduler;
  private final MapOutputTrackerMaster tracker;
  private final Describe describe;
  private final String marker;

  public Snapshot(Scheduler scheduler, MapOutputTrackerMaster tracker, Describe describe, String marker) {
    this.scheduler = scheduler;
    this.tracker = tracker;
    this.describe = describe;
    this.marker = marker;
  }

  public Object run() {
    StringBuilder json = new StringBuilder("{\"marker\":");
    Row.quote(json, marker);
    shuffles(json.append(",\"shuffles\":["));
    running(json.append("],\"running\":"));
    jobs(json.append(",\"jobs\":["));
    new RunningExecutions().tell(json.append("],\"executions\":"));
    scheduler.mark(marker, "snapshot");
    return json.append('}').toString();
  }

  private void shuffles(StringBuilder json) {
    String comma = "";
    scala.collection.Iterator it = tracker.shuffleStatuses().iterator();
    while (it.hasNext()) {
      scala.Tuple2 entry = (scala.Tuple2) it.next();
      ShuffleStatus status = (ShuffleStatus) entry._2();
      json.append(comma).append('[').append(entry._1()).append(',').append(Outputs.available(status));
      json.append(',').append(status.mapStatuses().length).append(']');
      comma = ",";
    }
  }

  private void running(StringBuilder json) {
    ArrayList infos = new ArrayList();
    scala.collection.Iterator it = scheduler.dag.runningStages().iterator();
    while (it.hasNext()) {
      infos.add(((Stage) it.next()).latestInfo());
    }
    stages(json, infos, true);
  }

  private void stages(StringBuilder json, ArrayList infos, boolean run) {
    json.append('[');
    for (int i = 0; i < infos.size(); i++) {
      StageInfo stage = (StageInfo) infos.get(i);
      StringBuilder to = i == 0 ? json : json.append(',');
      if (run) {
        describe.running(to, stage);
      } else {
        describe.stage(to, stage);
      }
    }
    json.append(']');
  }

  private void jobs(StringBuilder json) {
    String comma = "";
    scala.collection.Iterator it = scheduler.dag.activeJobs().iterator();
    while (it.hasNext()) {
      ActiveJob job = (ActiveJob) it.next();
      json.append(comma).append("{\"job\":").append(job.jobId()).append(",\"stages\":");
      stages(json, stagesOf(job), false);
      describe.properties(json.append(",\"about\":{"), job.properties());
      json.append("}}");
      comma = ",";
    }
  }

  private ArrayList stagesOf(ActiveJob job) {
    ArrayList infos = new ArrayList();
    scala.Option ids = scheduler.dag.jobIdToStageIds().get(Integer.valueOf(job.jobId()));
    scala.collection.Iterator it = ids.isDefined() ? ((scala.collection.Iterable) ids.get()).iterator() : null;
    while (it != null && it.hasNext()) {
      scala.Option stage = scheduler.dag.stageIdToStage().get(it.next());
      if (stage.isDefined()) {
        infos.add(((Stage) stage.get()).latestInfo());
      }
    }
    return infos;
  }
}
