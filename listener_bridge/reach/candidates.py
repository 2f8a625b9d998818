"""Which app shuffles a look could let go: pure.

Responsible for: the app shuffles of which something was written and not deleted, as far as the facts tell.
Refuses to know: whether anybody needs them, or goes on writing them.
Invariant: an app shuffle of which the facts told outputs, and no end, is a candidate; half of one is left when a job
fails.
"""

from __future__ import annotations

from listener_bridge.tap import facts
from listener_bridge.tap.facts import Fact, Snapshot

#: After one of these a look may find something that could go.
CALLING = (facts.StageCompleted, facts.JobEnded, facts.ExecutionEnded, facts.RddUnpersisted)


class Candidates:
    """One application's candidates, with the bytes that were written last."""

    def __init__(self) -> None:
        self.bytes: dict[int, int] = {}  #: app shuffle -> bytes; 0 where they were written before we listened.

    def known(self, snapshot: Snapshot) -> None:
        """What was there before the first fact."""
        for shuffle in snapshot.shuffles:
            if shuffle.available:
                self.bytes.setdefault(shuffle.app_shuffle, 0)

    def hear(self, fact: Fact) -> bool:
        """Take note of a fact; answers whether it calls for a look: what has just been written is about to be read."""
        written = None
        if isinstance(fact, facts.StageCompleted) and fact.stage.writes is not None:
            written = fact.stage.writes
            self._written(written, fact)
        elif isinstance(fact, facts.ShuffleCleaned):
            self.bytes.pop(fact.app_shuffle, None)
        return isinstance(fact, CALLING) and bool(self.bytes.keys() - {written})

    def _written(self, app_shuffle: int, fact: facts.StageCompleted) -> None:
        known = self.bytes.get(app_shuffle, 0)
        if fact.failure is None:
            self.bytes[app_shuffle] = fact.shuffle_bytes_written + (known if fact.stage.attempt else 0)
        elif fact.shuffle_bytes_written:
            self.bytes[app_shuffle] = fact.shuffle_bytes_written + known

    def are_at_least(self, much_bytes: int) -> bool:
        """Whether they may take so much together; what was written before we listened may be anything."""
        sizes = tuple(self.bytes.values())
        return 0 in sizes or sum(sizes) >= much_bytes

    def gone(self, app_shuffle: int) -> None:
        """It was fenced."""
        self.bytes.pop(app_shuffle, None)
