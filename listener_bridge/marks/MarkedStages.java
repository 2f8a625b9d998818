package shufflelifecycle;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.ResultStage;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;

/**
 * The stages that are to be written again as a whole: their RDDs say INDETERMINATE (`Levels`), and the shuffle service is
 * told which shuffles that concerns. What they had declared is told to the tap, which reports no mark as their own word.
 *
 * Refuses to know why a stage is marked. To be used in the scheduler's thread, but for what says otherwise. Invariant: a
 * mark is put back when its stage is written and no older task of it runs, or when its jobs are over; what inherited it
 * meanwhile is asked again.
 */
class MarkedStages {
  private final Generations generations;
  private final Stages stages;
  private final Levels levels;
  private volatile Tap tap;
  private final Map marked = new HashMap(); // stage id -> Stage
  private final Map declared = new HashMap(); // RDD id -> Boolean: no live stage was of it any more at the last look
  private final Set rewriting = new TreeSet(); // shuffles of marked stages, as the shuffle service was told
  private boolean areToBePutBack = false; // whether marks have gone of which the levels are as they were
  private volatile boolean inherited = false; // whether an RDD may say INDETERMINATE only because another one did
  private volatile int count = 0;

  MarkedStages(Generations generations, Stages stages) throws Exception {
    this.generations = generations;
    this.stages = stages;
    this.levels = new Levels();
  }

  /** Who is told of levels from now on. */
  void tell(Tap tap) {
    this.tap = tap;
  }

  boolean areThere() {
    return !marked.isEmpty();
  }

  /** Any thread. */
  boolean mayBeInherited() {
    return inherited;
  }

  /** Any thread: marks put on since the beginning, all of one submission at once. */
  int count() {
    return count;
  }

  /** The stages of live jobs that write these, and the results above them; but for those that write what is untouchable. */
  void mark(Set rewritten, Set untouchable) throws Exception {
    List live = stages.live();
    int marks = 0;
    for (int i = 0; i < live.size(); i++) {
      Stage stage = (Stage) live.get(i);
      Integer writes = Integer.valueOf(Stages.writes(stage));
      boolean isWritten = rewritten.contains(writes) && !untouchable.contains(writes);
      boolean isResult = stage instanceof ResultStage && Stages.delivered(stage) == 0;
      if (isWritten || (isResult && !stages.isRunning(stage) && Stages.meet(Stages.ancestors(stage), rewritten))) {
        marks += mark(stage);
      }
    }
    tellRewrites();
    count += marks; // at the end: who sees it grow in another thread sees all of these marks
  }

  /** How many marks that took: none where the stage's RDD has one already. */
  private int mark(Stage stage) throws Exception {
    marked.put(Integer.valueOf(stage.id()), stage); // first: what goes wrong from here on is put back with it
    inherited = true;
    String before = levels.mark(stage.rdd());
    if (before != null) {
      declare(stage.rdd(), before);
    }
    return before == null ? 0 : 1;
  }

  /** Whatever needs its mark no longer loses it. */
  void unmarkWritten() {
    unmark(needless());
  }

  /** The stages that need their mark no longer: results when nothing above them needs one. */
  List needless() {
    ArrayList found = new ArrayList();
    Map sets = stages.allSets();
    Map left = new HashMap(marked);
    List all = new ArrayList(new TreeMap(marked).values()); // Spark makes a stage after those that it reads
    for (int i = 0; i < all.size(); i++) {
      Stage stage = (Stage) all.get(i);
      if (!stages.isLive(stage) || (isWritten(stage, left) && stages.lateSets(stage, sets).isEmpty())) {
        found.add(stage);
        left.remove(Integer.valueOf(stage.id()));
      }
    }
    return found;
  }

  void unmark(List some) {
    for (int i = 0; i < some.size(); i++) {
      unmark((Stage) some.get(i));
    }
  }

  /** Spark would abort the job of a result stage that has delivered something, were anything above it marked. */
  void unmarkAbove(Stage result) throws Exception {
    Set above = Stages.ancestors(result);
    List all = new ArrayList(marked.values());
    for (int i = 0; i < all.size(); i++) {
      Stage stage = (Stage) all.get(i);
      if (stage == result || above.contains(Integer.valueOf(Stages.writes(stage)))) {
        unmark(stage);
      }
    }
    putBack();
  }

  private void unmark(Stage stage) {
    marked.remove(Integer.valueOf(stage.id()));
    areToBePutBack = true;
  }

  /** `left`: stage id -> Stage: those that need their mark. */
  private static boolean isWritten(Stage stage, Map left) {
    if (stage instanceof ShuffleMapStage) {
      return ((ShuffleMapStage) stage).isAvailable();
    }
    Set above = Stages.ancestors(stage);
    Iterator it = left.values().iterator();
    while (it.hasNext()) {
      if (above.contains(Integer.valueOf(Stages.writes((Stage) it.next())))) {
        return false;
      }
    }
    return true;
  }

  /** What has lost its mark says its own level again, and what inherited that is asked again. */
  void putBack() throws Exception {
    if (areToBePutBack) {
      List roots = levels.restoreAllBut(rddsOf(marked.values()));
      tellRewrites();
      roots.addAll(levels.inheriting(stages.rdds())); // below all others it was asked before, or is when their marks go
      askAgain(roots);
      areToBePutBack = false; // at the end: what went wrong is tried again
    }
  }

  private static Map rddsOf(Collection ofStages) {
    Map found = new IdentityHashMap();
    for (Iterator it = ofStages.iterator(); it.hasNext();) {
      RDD rdd = ((Stage) it.next()).rdd();
      found.put(rdd, rdd);
    }
    return found;
  }

  /** Which shuffles are written again as a whole, where that has changed. */
  private void tellRewrites() {
    Set now = new TreeSet();
    Iterator it = marked.values().iterator();
    while (it.hasNext()) {
      Stage stage = (Stage) it.next();
      if (stage instanceof ShuffleMapStage) {
        now.add(Integer.valueOf(Stages.writes(stage)));
      }
    }
    Set told = new TreeSet(rewriting);
    rewriting.clear();
    rewriting.addAll(now);
    now.removeAll(told);
    for (it = now.iterator(); it.hasNext();) {
      generations.rewriteBegins(((Integer) it.next()).intValue());
    }
    told.removeAll(rewriting);
    for (it = told.iterator(); it.hasNext();) {
      generations.rewriteEnds(((Integer) it.next()).intValue());
    }
  }

  /** What inherited INDETERMINATE from a mark says again what it declared. */
  void askAgain() throws Exception {
    askAgain(stages.rdds());
  }

  private void askAgain(List roots) throws Exception {
    List changed = levels.askAgain(roots);
    for (int i = 0; i < changed.size(); i++) {
      RDD rdd = (RDD) changed.get(i);
      declare(rdd, rdd.outputDeterministicLevel().toString());
    }
  }

  private void declare(RDD rdd, String level) {
    tap.declareLevel(rdd.id(), level);
    declared.put(Integer.valueOf(rdd.id()), Boolean.FALSE);
  }

  /**
   * An RDD whose level is its own again says so itself; but Spark tells a live stage as it was when its attempt was made.
   * So what it declared is kept until no stage is of it, and for one look more, since events of the last may be under way.
   */
  void forgetDeclared() {
    if (declared.size() == levels.size()) {
      return; // all of them are marked
    }
    Set needed = new HashSet();
    List rdds = stages.rdds();
    rdds.addAll(levels.marked());
    for (int i = 0; i < rdds.size(); i++) {
      needed.add(Integer.valueOf(((RDD) rdds.get(i)).id()));
    }
    Iterator it = declared.entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      boolean isNeeded = needed.contains(entry.getKey());
      if (!isNeeded && entry.getValue() == Boolean.TRUE) {
        tap.forgetLevel(((Integer) entry.getKey()).intValue());
        it.remove();
      } else {
        entry.setValue(Boolean.valueOf(!isNeeded));
      }
    }
  }
}
