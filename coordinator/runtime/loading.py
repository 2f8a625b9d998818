"""Folding the log of one application into its state.

Responsible for starting from a snapshot or from nothing, and for going on from there. Refuses to know who appends.
Invariant: the state that is given is the fold of the log up to its mark, or an error says which record is in the way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from coordinator.core.evolve import fold
from coordinator.core.ids import Sequence
from coordinator.core.state import State, empty
from coordinator.runtime.errors import CoordinatorError, DamagedLog, SetBack
from coordinator.runtime.journal import Journal, Mark, on_the_way
from coordinator.runtime.snapshot import Snapshots
from coordinator.runtime.tail import known_mark
from coordinator.wire.codec import Segment
from state_backend.errors import Compacted
from state_backend.values import Revision


@dataclass(frozen=True, slots=True)
class Loaded:
    """A state, and how much of the log it is the fold of."""

    state: State
    mark: Mark
    begun_after: Sequence  #: The last event of the snapshot that it began from; 0: it began from nothing.


async def load(journal: Journal, snapshots: Snapshots, end: tuple[Mark, Revision] | None = None) -> Loaded:
    """The state at the log's present end; empty where there is no log. ``end``: as it was read a moment ago."""
    state: State | None = None
    reached: Mark | None = None
    begun_after = Sequence(0)
    while True:
        mark, at = end or await journal.mark()
        end = None
        try:
            if state is None:
                state = await snapshots.read(mark.head, journal.shelf) or empty()
                begun_after = Sequence(state.meta.next_sequence - 1)
            async for step in _steps(state, journal, reached, mark, at):
                reached = step
            assert reached is not None  # the end is given at least
            return Loaded(state, reached, begun_after)
        except Compacted:  # what was folded is kept: reading may take longer than the store's history is
            continue
        except CoordinatorError:
            state = reached = None
            if not _may_have_left(mark, (await journal.mark())[0]):
                raise


def _steps(state: State, journal: Journal, reached: Mark | None, mark: Mark, at: Revision) -> AsyncIterator[Mark]:
    if reached is None or has_left(reached, mark):
        return read_on(state, journal, mark, at)
    return catch_up(state, journal, reached, mark, at)


def has_left(reached: Mark, now: Mark) -> bool:
    """Whether the segment that was read last is in the store no more, since it was archived."""
    return reached.head.next_sequence <= min(now.head.archived_below, now.head.next_sequence - 1)


def _may_have_left(before: Mark, now: Mark) -> bool:
    """Whether a snapshot, or segments, may have left the store between two reads; what is appended excuses nothing."""
    then, head = before.head, now.head
    kept = (then.last_snapshot, then.previous_snapshot, then.archived_below)
    return not now.revision or kept != (head.last_snapshot, head.previous_snapshot, head.archived_below)


async def load_ended(journal: Journal, snapshots: Snapshots) -> State:
    """The last state of an application that has left the store. Raises `UnknownApplication`."""
    mark, at = await known_mark(journal)
    state = await snapshots.read(mark.head, journal.shelf) or empty()
    async for _ in read_on(state, journal, mark, at):
        pass
    return state


async def read_on(state: State, journal: Journal, mark: Mark, at: Revision) -> AsyncIterator[Mark]:
    """Folds what follows, up to the mark, into the state; gives with each segment how far that is, at last the mark.

    Raises `Compacted` where ``at`` is too long ago; from what was given last, `catch_up` goes on.
    """
    if state.meta.next_sequence < mark.head.next_sequence:
        segments = _following(state.meta.next_sequence - 1, journal, mark, at)
        async for reached in _fold_all(state, segments, journal, mark):
            yield reached
    else:
        check_reached(journal, state, mark)
        yield mark


async def catch_up(state: State, journal: Journal, before: Mark, mark: Mark, at: Revision) -> AsyncIterator[Mark]:
    """As `read_on`, of a state that was read up to a mark some time ago. Raises `SetBack` where that is undone."""
    known, now = before.head, mark.head
    if now.next_sequence > known.next_sequence:
        async for reached in _fold_all(state, journal.since(before, at), journal, mark):
            yield reached
    elif (now.next_sequence, now.commit_id) != (known.next_sequence, known.commit_id):
        raise SetBack(journal.application, known.next_sequence - 1)
    else:
        yield replace(mark, tail=before.tail)


async def _fold_all(
    state: State, segments: AsyncIterator[Segment], journal: Journal, mark: Mark
) -> AsyncIterator[Mark]:
    tail = 0
    async for segment in segments:
        fold_segment(state, segment)
        tail = segment.first_sequence
        yield on_the_way(mark, segment)
    check_reached(journal, state, mark)
    yield replace(mark, tail=tail)


def _following(after: int, journal: Journal, mark: Mark, at: Revision) -> AsyncIterator[Segment]:
    """A state ends where a segment does, so nothing need be looked for that is still in the store."""
    if after + 1 < mark.head.archived_below:
        return journal.log(after, mark, at)
    return journal.segments(after, at)


def fold_segment(state: State, segment: Segment) -> None:
    """Applies a segment in place; what was passed over still takes its place in the log."""
    fold(state, segment.records)
    pass_over(state, segment)


def pass_over(state: State, segment: Segment) -> None:
    """Counts the records of the segment that this release does not know and may ignore."""
    if segment.passed_over:
        state.meta = replace(state.meta, next_sequence=Sequence(segment.next_sequence))


def check_reached(journal: Journal, state: State, mark: Mark) -> None:
    """The log must end where its head says."""
    if state.meta.next_sequence != mark.head.next_sequence:
        raise DamagedLog(journal.application, ends_early(mark, state.meta.next_sequence))


def ends_early(mark: Mark, before: int) -> str:
    """What is wrong with a log whose segments end elsewhere."""
    head = mark.head.next_sequence
    return f"its head says that event {head} comes next, but its segments end before event {before}"
