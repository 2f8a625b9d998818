package shufflelifecycle;

import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What became of data that several servers were asked to delete. A server that was asked in vain too often is given up. */
public class Outcome {
  private static final Logger LOG = LoggerFactory.getLogger("shuffle_lifecycle");

  public final List problems = new ArrayList(); // why it is not done, server by server; empty: it is
  public boolean hasGivenUp = false; // on a server, where data may be left

  /** `whom` has not said that `what` is gone, which is the problem; so often in a row it has not answered. */
  public void left(String what, String whom, String problem, int silences) {
    if (silences < Silences.TIMES_MAX) {
      problems.add(problem);
      return;
    }
    hasGivenUp = true;
    LOG.warn("{} may be left on {}, which was asked {} times in vain",
        new Object[] {what, whom, Integer.valueOf(Silences.TIMES_MAX)});
  }

  /** `whom` does not know of `what`, and may have it all the same, until its service deletes that by itself. */
  public void isUnknown(String what, String whom) {
    hasGivenUp = true;
    LOG.info("{} may be left on {}, which does not know of them any more", what, whom);
  }

  public boolean isDone() {
    return problems.isEmpty();
  }
}
