"""Folding the log of one application into its state.

Responsible for starting from a snapshot or from nothing, and for going on from there. Refuses to know who appends.
Invariant: the state that is given is the fold of the log up to its mark, or an error says which record is in the way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from coordinator.core.evolve import fold
from coordinator.core.ids import Sequence
from coordinator.core.state import State, empty
from coordinator.runtime.errors import DamagedLog
from coordinator.runtime.journal import Journal, Mark
from coordinator.runtime.snapshot import Snapshots
from coordinator.wire.codec import Segment
from state_backend.errors import Compacted
from state_backend.values import Revision


@dataclass(frozen=True, slots=True)
class Loaded:
    """A state, and how much of the log it is the fold of."""

    state: State
    mark: Mark


async def load(journal: Journal, snapshots: Snapshots) -> Loaded:
    """The state at the log's present end; empty where there is no log."""
    while True:
        mark, at = await journal.mark()
        try:
            state = await snapshots.read(mark.head) or empty()
            await read_on(state, journal, mark, at)
            return Loaded(state, mark)
        except Compacted:
            continue


async def read_on(state: State, journal: Journal, mark: Mark, at: Revision) -> None:
    """Folds what follows, up to the mark, into the state. Raises `Compacted` where ``at`` is too long ago."""
    if state.meta.next_sequence < mark.head.next_sequence:
        async for segment in journal.segments(state.meta.next_sequence - 1, at):
            fold_segment(state, segment)
    check_reached(journal, state, mark)


def fold_segment(state: State, segment: Segment) -> None:
    """Applies a segment in place; what was passed over still takes its place in the log."""
    fold(state, segment.records)
    if segment.passed_over:
        state.meta = replace(state.meta, next_sequence=Sequence(segment.next_sequence))


def check_reached(journal: Journal, state: State, mark: Mark) -> None:
    """The log must end where its head says."""
    if state.meta.next_sequence != mark.head.next_sequence:
        raise DamagedLog(
            journal.application,
            f"its head says that event {mark.head.next_sequence} comes next, but its segments end before event "
            f"{state.meta.next_sequence}",
        )
