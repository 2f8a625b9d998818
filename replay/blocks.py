"""Why a deleted shuffle may be wanted again: cached blocks that were read instead of it have gone.

Stages that read a persisted RDD take its cached blocks, and the shuffle behind it may be deleted. When blocks are lost
later, a stage computes them again and needs the shuffle: a premature deletion that nobody understands who is not told
of the blocks.

Responsible for remembering, of each such app shuffle, the last stage that took blocks instead of it, and what was lost
since the first one did. Refuses to guess: that blocks may have gone with an executor only an event says
(`CachedBlocksLost`). Without one it is told that an executor was lost, and no more: a cache that the program itself
gives up looks the same.
Invariant: what is told is of the app shuffle's present generation; of each, at most `_LOSSES_KEPT` losses are kept.
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
    """The last stage that took blocks instead of a generation (None: none was told), and the last losses.

    Losses count from the first such stage on, not from the last: Spark hears of a lost executor late.
    """

    shuffle_id: ShuffleId
    last: e.Recorded | None
    lost: tuple[e.Recorded, ...] = ()

    def also(self, loss: e.Recorded) -> _Taken:
        """With one more loss. Where an event has said that blocks went, a lost executor adds nothing to that."""
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
        """The last stage that took blocks instead of the generation, and what was lost since the first one did.

        In the order of the log; empty where no stage took any.
        """
        taken = self.taken.get(app_shuffle)
        if taken is None or taken.shuffle_id != shuffle_id:
            return ()
        last = () if taken.last is None else (taken.last,)
        return tuple(sorted((*last, *taken.lost), key=lambda one: one.sequence))

    def _lost(self, app_shuffle: AppShuffle, shuffle_id: ShuffleId) -> tuple[e.Recorded, ...]:
        taken = self.taken.get(app_shuffle)
        return taken.lost if taken is not None and taken.shuffle_id == shuffle_id else ()


def instead(event: e.StageSubmitted, state: State) -> Iterator[tuple[AppShuffle, ShuffleId]]:
    """The shuffles that the stage lists behind persisted RDDs and that are gone: it takes cached blocks instead."""
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
