package shufflelifecycle;

import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Jobs that were over when it was found that they had read two generations, or that what they had read is written again.
 * Nothing of them can be taken back, so it is recorded.
 *
 * To be used in the scheduler's thread, but for what says otherwise. Invariant: a job is told once.
 */
class EndedJobs {
  static final String WRITTEN_AGAIN = ". What it has read is written again for those that come";
  private static final String HAS_READ = "a job that has finished has read it";
  private static final Logger LOG = LoggerFactory.getLogger("shuffle_lifecycle");

  private final Scheduler scheduler;
  private final History history;
  private final Mixes mixes;
  private final Map mixedUntil = new ConcurrentHashMap(); // app shuffle that was a mix -> when that was found, in ms
  private final Set told = new TreeSet(); // ids of the jobs of which it was recorded, until their ends are heard of

  EndedJobs(Scheduler scheduler, History history, Mixes mixes) {
    this.scheduler = scheduler;
    this.history = history;
    this.mixes = mixes;
  }

  /** Any thread: whether jobs have ended that may have read a mix, and whose ends are still to be heard of. */
  boolean areToBeTold() {
    return !mixedUntil.isEmpty();
  }

  /** Records, for what is written again, the last jobs that have read it before. */
  void lookBehind(Recomputation again, int first) {
    for (Iterator it = again.late.iterator(); it.hasNext();) {
      mixedUntil.put(it.next(), Long.valueOf(System.currentTimeMillis()));
    }
    Iterator it = again.rewritten.iterator();
    while (it.hasNext()) {
      Integer shuffle = (Integer) it.next();
      History.Result result = history.takeDelivered(shuffle.intValue());
      if (result != null && again.late.contains(shuffle) && result.mayHaveSeen(again.firstAnew(shuffle))) {
        tell(result, first, result.partitions, WRITTEN_AGAIN);
      } else if (result != null) {
        mayDiffer(shuffle, HAS_READ);
      }
    }
    for (it = again.renewedWhole.iterator(); it.hasNext();) {
      Integer shuffle = (Integer) it.next();
      if (history.wasDeliveredBefore(shuffle.intValue(), again.firstAnew(shuffle))) {
        mayDiffer(shuffle, HAS_READ);
      }
    }
  }

  /** Records that a job has mixed; once for each job. */
  void tell(History.Result result, int shuffle, int delivered, String next) {
    if (told.add(Integer.valueOf(result.job))) {
      mixes.ended(result, shuffle, delivered, next);
    }
  }

  /** Local checkpoints that were computed from these app shuffles stay as they are. */
  void keepBlocks(Set shuffles) {
    for (Iterator it = shuffles.iterator(); it.hasNext();) {
      mayDiffer((Integer) it.next(), "a local checkpoint under way keeps blocks that were computed from it");
    }
  }

  private void mayDiffer(Integer shuffle, String why) {
    LOG.info("app shuffle {} is computed again; {}, and if the computation is not deterministic, later results will not "
        + "fit what was made of it before", shuffle, why);
    scheduler.bus.post(new Told(new Row("differs").number("shuffle", shuffle.intValue())));
  }

  /** A job's end is heard of: records it if it has read a mix and had ended before that was found. `time`: its end, in ms. */
  void tellMixed(History.Result result, long time) {
    for (Iterator it = mixedUntil.entrySet().iterator(); it.hasNext();) {
      Map.Entry entry = (Map.Entry) it.next();
      if (result.reads.contains(entry.getKey()) && time <= ((Long) entry.getValue()).longValue()) {
        tell(result, ((Integer) entry.getKey()).intValue(), result.partitions, WRITTEN_AGAIN);
      }
    }
  }

  /** Forgets the mixes that no job can have read any more of which the end is still to come: ends come in their order. */
  void forget(History.Result result, long time) {
    for (Iterator it = mixedUntil.values().iterator(); it.hasNext();) {
      if (((Long) it.next()).longValue() < time) {
        it.remove();
      }
    }
    told.remove(Integer.valueOf(result.job));
    if (mixedUntil.isEmpty()) {
      told.clear();
    }
  }
}
