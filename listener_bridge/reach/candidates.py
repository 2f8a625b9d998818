"""Which app shuffles a look could let go: pure.

Responsible for: the app shuffles whose map stage has ended, well or not, and that were not deleted, as far as the
facts tell.
Refuses to know: whether anybody needs them, or goes on writing them.
Invariant: an app shuffle is a candidate from the end of its map stage until it is gone. That also holds when the stage
has failed: a part of the data may be left, and the coordinator takes it for one that is being written.
"""

from __future__ import annotations

from listener_bridge.reach.written import Written
from listener_bridge.tap import facts
from listener_bridge.tap.facts import Fact, Snapshot

#: After one of these a look may find something that could go.
CALLING = (facts.StageCompleted, facts.JobEnded, facts.ExecutionEnded, facts.RddUnpersisted)


class Candidates:
    """One application's candidates, with the bytes that were written last."""

    def __init__(self) -> None:
        self.bytes: dict[int, int] = {}  #: app shuffle -> bytes, of what was written since we listen.
        self._written_before: set[int] = set()  # those written before we listened: of unknown size
        self._once = Written()

    def known(self, snapshot: Snapshot) -> None:
        """What was there before the first fact."""
        self._once.known(snapshot)
        for shuffle in snapshot.shuffles:
            if shuffle.available and shuffle.app_shuffle not in self.bytes:
                self.bytes[shuffle.app_shuffle] = 0
                self._written_before.add(shuffle.app_shuffle)

    def hear(self, fact: Fact) -> bool:
        """Take note of a fact; answers whether it calls for a look.

        The end of a map stage calls for none if what it wrote is the only candidate: that is about to be read. A job
        that will write something new calls for one: once its output is announced to a look (`announced`), what it reads
        can go as soon as that is complete.
        """
        self._once.hear(fact)
        if isinstance(fact, facts.JobStarted):
            return bool(self.bytes) and any(
                stage.writes is not None and stage.writes not in self._once for stage in fact.stages
            )
        written = None
        if isinstance(fact, facts.StageCompleted) and fact.stage.writes is not None:
            written = fact.stage.writes
            self._written(written, fact)
        elif isinstance(fact, facts.ShuffleCleaned):
            self.gone(fact.app_shuffle)
        return isinstance(fact, CALLING) and bool(self.bytes.keys() - {written})

    def _written(self, app_shuffle: int, fact: facts.StageCompleted) -> None:
        if fact.failure is None and not fact.stage.attempt:
            self.gone(app_shuffle)  # all of it was written anew
        self.bytes[app_shuffle] = self.bytes.get(app_shuffle, 0) + fact.shuffle_bytes_written

    def are_at_least(self, much_bytes: int) -> bool:
        """Whether together they may take so many bytes; what was written before we listened may be of any size."""
        return bool(self._written_before) or sum(tuple(self.bytes.values())) >= much_bytes

    def is_less(self, app_shuffle: int, much_bytes: int) -> bool:
        """Whether one of them is known to take less."""
        return app_shuffle not in self._written_before and self.bytes.get(app_shuffle, much_bytes) < much_bytes

    def gone(self, app_shuffle: int) -> None:
        """It was fenced, or Spark has cleaned it; or all of it is written anew."""
        self.bytes.pop(app_shuffle, None)
        self._written_before.discard(app_shuffle)
