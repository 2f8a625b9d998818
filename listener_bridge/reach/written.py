"""Which app shuffles were complete at some time: pure.

Responsible for: the app shuffles whose map stage was heard to end well, or that a snapshot shows complete.
Refuses to know: whether their data are still there.
Invariant: one that is not in it was never complete, as far as the facts tell, or Spark has cleaned it since.
"""

from __future__ import annotations

from listener_bridge.tap.facts import Fact, ShuffleCleaned, Snapshot, StageCompleted


class Written:
    """One application's. It holds no more than Spark's own table of shuffles."""

    def __init__(self) -> None:
        self._whole: set[int] = set()

    def known(self, snapshot: Snapshot) -> None:
        """What is there at this moment."""
        self._whole |= {shuffle.app_shuffle for shuffle in snapshot.shuffles if shuffle.available == shuffle.total}

    def hear(self, fact: Fact) -> None:
        """A fact, in its order."""
        if isinstance(fact, StageCompleted) and fact.stage.writes is not None and fact.failure is None:
            self._whole.add(fact.stage.writes)
        elif isinstance(fact, ShuffleCleaned):
            self._whole.discard(fact.app_shuffle)

    def __contains__(self, app_shuffle: int) -> bool:
        return app_shuffle in self._whole
