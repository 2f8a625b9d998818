"""Which app shuffles a stage takes the blocks of a persisted RDD instead of.

Responsible for: naming, for persisted RDDs of which blocks have gone, the app shuffles that may be wanted again.
Refuses to know: whether an RDD is wholly cached, and where its blocks lie.
Invariant: it holds persisted RDDs only, from the first stage that was submitted with them until they are unpersisted,
and app shuffles that Spark has not let go.
"""

from __future__ import annotations

from collections.abc import Iterable

from listener_bridge.tap.facts import StageFact


class Cached:
    """One application's."""

    def __init__(self) -> None:
        self._over: dict[int, set[int]] = {}

    def learn(self, stage: StageFact, behind: Iterable[int]) -> None:
        """A stage was submitted: these app shuffles lie behind its persisted RDDs, each perhaps behind each."""
        for app_shuffle in behind:
            for rdd in stage.cached_rdd_ids:
                self._over.setdefault(rdd, set()).add(app_shuffle)

    def forget(self, rdd: int) -> None:
        """It was unpersisted."""
        self._over.pop(rdd, None)

    def clean(self, app_shuffle: int) -> None:
        """Spark has let it go: nothing is computed from it any more."""
        for behind in self._over.values():
            behind.discard(app_shuffle)

    def keep(self, app_shuffles: Iterable[int]) -> None:
        """Facts were missed; these are all that Spark has."""
        there = set(app_shuffles)
        for behind in self._over.values():
            behind.intersection_update(there)

    def under(self, rdds: Iterable[int]) -> list[int]:
        """What lies behind them, ascending."""
        return sorted(set().union(*(self._over.get(rdd, ()) for rdd in rdds)))
