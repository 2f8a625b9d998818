"""Who took cached blocks instead of a shuffle that was gone, and what was lost after that.

Responsible for the facts between which blocks can have gone, so that what is wanted again then is not told as if
nothing had happened. Where an event says that blocks went, it says that; else it names the executors that were lost
since, and refuses to say that blocks went with them: a cache that the program gives up looks the same. Invariant: what
is told is of the app shuffle's present generation, and bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from coordinator.core import caches, cuts
from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, ShuffleId
from coordinator.core.lifecycle import GOING
from coordinator.core.state import State

_LOSSES_KEPT = 3


@dataclass(frozen=True, slots=True)
class _Taken:
    """Where blocks were taken last, and the last losses since they were first: Spark hears of executors late."""

    shuffle_id: ShuffleId
    last: e.Recorded | None
    lost: tuple[e.Recorded, ...] = ()

    def also(self, loss: e.Recorded) -> _Taken:
        """One loss more. Who knows that blocks went need not guess."""
        told = tuple(one for one in self.lost if isinstance(one.event, e.CachedBlocksLost))
        if isinstance(loss.event, e.CachedBlocksLost) or not told:
            return _Taken(self.shuffle_id, self.last, (*(told or self.lost), loss)[-_LOSSES_KEPT:])
        return self


@dataclass(slots=True)
class Blocks:
    """Listens to a log."""

    taken: dict[AppShuffle, _Taken] = field(default_factory=dict)

    def hear(self, recorded: e.Recorded, state: State) -> None:
        """One more event."""
        event = recorded.event
        if isinstance(event, e.StageSubmitted):
            for app, shuffle_id in instead(event, state):
                self.taken[app] = _Taken(shuffle_id, recorded, self._lost(app, shuffle_id))
        elif isinstance(event, e.CachedBlocksLost):
            for app, shuffle_id in _going(state, event.app_shuffles):
                known = self.taken.get(app)
                known = known if known is not None and known.shuffle_id == shuffle_id else _Taken(shuffle_id, None)
                self.taken[app] = known.also(recorded)
        elif isinstance(event, e.ExecutorLost):
            for app, taken in self.taken.items():
                self.taken[app] = taken.also(recorded)
        elif isinstance(event, (e.GenerationStarted, e.GenerationAdopted, e.ShuffleCleaned)):
            self.taken.pop(event.app_shuffle, None)

    def before(self, app_shuffle: AppShuffle, shuffle_id: ShuffleId) -> tuple[e.Recorded, ...]:
        """Who took blocks instead of it last, and what was lost since somebody first did, in the order of the log."""
        taken = self.taken.get(app_shuffle)
        if taken is None or taken.shuffle_id != shuffle_id:
            return ()
        last = () if taken.last is None else (taken.last,)
        return tuple(sorted((*last, *taken.lost), key=lambda one: one.sequence))

    def _lost(self, app_shuffle: AppShuffle, shuffle_id: ShuffleId) -> tuple[e.Recorded, ...]:
        taken = self.taken.get(app_shuffle)
        return taken.lost if taken is not None and taken.shuffle_id == shuffle_id else ()


def instead(event: e.StageSubmitted, state: State) -> Iterator[tuple[AppShuffle, ShuffleId]]:
    """What the stage lists behind persisted RDDs, and is gone: it takes their blocks."""
    for app_shuffle in caches.behind(event):
        shuffle = state.shuffles.get(app_shuffle)
        if shuffle is not None and shuffle.current is not None and cuts.is_gone(state.current(app_shuffle)):
            yield app_shuffle, shuffle.current


def _going(state: State, app_shuffles: Iterable[AppShuffle]) -> Iterator[tuple[AppShuffle, ShuffleId]]:
    for app_shuffle in app_shuffles:
        shuffle, generation = state.shuffles.get(app_shuffle), state.current(app_shuffle)
        is_going = generation is None or generation.life in GOING
        if shuffle is not None and shuffle.current is not None and is_going:
            yield app_shuffle, shuffle.current
