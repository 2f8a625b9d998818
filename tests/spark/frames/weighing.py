"""The figures of a log by the core's own fold, in plain Python: what Spark's answers are compared with.

Responsible for integrating over folded states and for counting events one by one. Refuses to know Spark. Invariant:
nothing is shared with `replay.frames.analyses`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from coordinator.core import events as e
from coordinator.core.evolve import apply
from coordinator.core.ids import AppShuffle, RecoveryId, ShuffleId, StageAttempt
from coordinator.core.state import empty
from coordinator.core.values import Deletion


@dataclass
class Figures:
    """Of one log."""

    held: float = 0.0  #: Byte-seconds.
    needed: float = 0.0
    saved: float = 0.0
    generations: int = 0
    let_go: set[ShuffleId] = field(default_factory=set)
    missed: set[ShuffleId] = field(default_factory=set)
    readers: dict[ShuffleId, set[StageAttempt]] = field(default_factory=dict)
    delays_s: dict[ShuffleId, float] = field(default_factory=dict)  #: From expiry to deletion.
    again: dict[RecoveryId, int] = field(default_factory=dict)  #: Generations that a recovery wrote.


def weigh(log: Sequence[e.Recorded]) -> Figures:
    """Goes through the log once, and once more for what is only known at the end."""
    figures = Figures()
    _hold(log, figures)
    _count(log, figures)
    _save(log, figures)
    return figures


def _hold(log: Sequence[e.Recorded], figures: Figures) -> None:
    state = empty()
    until = _last_reads(log)
    for recorded, following in zip(log, (*log[1:], log[-1]), strict=True):
        apply(state, recorded)
        for generation in state.generations.values():
            begin, end = recorded.time_ms, following.time_ms
            figures.held += generation.bytes * (end - begin) / 1000
            read_until = until.get(generation.shuffle_id, 0)
            figures.needed += generation.bytes * max(0, min(end, read_until) - begin) / 1000


def _last_reads(log: Sequence[e.Recorded]) -> dict[ShuffleId, int]:
    """Until when each generation was read; a reader without an end reads on."""
    ended = {r.event.stage: r.time_ms for r in log if isinstance(r.event, e.StageCompleted)}
    found: dict[ShuffleId, int] = {}
    for event in _reads(log):
        at = ended.get(event.reader, log[-1].time_ms)
        found[event.shuffle_id] = max(found.get(event.shuffle_id, 0), at)
    return found


def _reads(log: Sequence[e.Recorded]) -> list[e.ReaderRegistered]:
    """Without those who had asked, and did not read it."""
    completed = [r.event for r in log if isinstance(r.event, e.StageCompleted)]
    unread = {(event.stage, shuffle_id) for event in completed for shuffle_id in event.unread}
    asked = [r.event for r in log if isinstance(r.event, e.ReaderRegistered)]
    return [event for event in asked if (event.reader, event.shuffle_id) not in unread]


def _count(log: Sequence[e.Recorded], figures: Figures) -> None:
    expired: dict[ShuffleId, int] = {}
    for read in _reads(log):
        figures.readers.setdefault(read.shuffle_id, set()).add(read.reader)
    for recorded in log:
        event = recorded.event
        if isinstance(event, (e.GenerationStarted, e.GenerationAdopted)):
            figures.generations += 1
        if isinstance(event, e.GenerationStarted) and event.recovery is not None:
            figures.again[event.recovery] = figures.again.get(event.recovery, 0) + 1
        elif isinstance(event, e.GenerationExpired):
            expired[event.shuffle_id] = recorded.time_ms
        elif isinstance(event, e.GenerationFenced):
            figures.let_go.add(event.shuffle_id)
        elif isinstance(event, e.PrematureDeletion):
            figures.missed.add(event.shuffle_id)
        elif isinstance(event, e.GenerationDeleted) and event.cause is Deletion.POLICY:
            figures.delays_s[event.shuffle_id] = (recorded.time_ms - expired[event.shuffle_id]) / 1000


def _save(log: Sequence[e.Recorded], figures: Figures) -> None:
    """What was deleted early would have stayed until it was written again, cleaned, or all ended."""
    born: dict[ShuffleId, AppShuffle] = {}
    state, complete = empty(), set[ShuffleId]()
    waiting: dict[AppShuffle, list[tuple[int, int, int]]] = {}  # since when, how many bytes, until when at the latest
    last_cleaned = {r.event.app_shuffle: r.time_ms for r in log if isinstance(r.event, e.ShuffleCleaned)}
    end = next((r.time_ms for r in log if isinstance(r.event, e.ApplicationEnded)), log[-1].time_ms)

    def settle(app_shuffle: AppShuffle, at: int) -> None:
        for since, size, latest in waiting.pop(app_shuffle, []):
            figures.saved += size * max(0, min(at, latest) - since) / 1000

    for recorded in log:
        event = recorded.event
        if isinstance(event, (e.GenerationStarted, e.GenerationAdopted)):
            born[event.shuffle_id] = event.app_shuffle
        elif isinstance(event, e.GenerationCompleted):
            if event.shuffle_id not in complete:
                settle(born[event.shuffle_id], recorded.time_ms)
            complete.add(event.shuffle_id)
        elif isinstance(event, e.GenerationDeleted) and event.cause is Deletion.POLICY:
            shuffle, now = born[event.shuffle_id], recorded.time_ms
            cleaned = last_cleaned.get(shuffle, 0)
            latest = cleaned if cleaned >= now else end
            if any(born[one] == shuffle and one > event.shuffle_id for one in complete):
                latest = now  # written again before its own data were gone: that spared nothing any more
            held = state.generations[event.shuffle_id].bytes if event.shuffle_id in state.generations else 0
            waiting.setdefault(shuffle, []).append((now, held, latest))
        apply(state, recorded)
    for app_shuffle in list(waiting):
        settle(app_shuffle, end)
