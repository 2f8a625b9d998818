package shufflelifecycle;

import java.util.Properties;
import java.util.Set;

/** A stage as its submission told of it: it may be over before the scheduler's thread comes to that. */
class Submitted {
  final int stage;
  final int writes; // app shuffle; negative: it gives a result
  final Set reads; // app shuffles, as far as anybody said
  final History.Result result; // where it gives one, and that is known
  final String deterministic; // what its job says of itself; null: nothing

  Submitted(int stage, int writes, Set reads, History.Result result, Properties properties) {
    this.stage = stage;
    this.writes = writes;
    this.reads = reads;
    this.result = result;
    this.deterministic = Choices.saysOfItself(properties);
  }
}
