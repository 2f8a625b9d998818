"""Why a run held more than its oracle: who kept what had been read for the last time, and for how long.

Responsible for laying each byte-second after a shuffle's last read to one cause, from the run's own log. Refuses to
measure disks (the log's bytes and times are the coordinator's). Invariant: what several keep is laid to the first of
them in the order of `Cause`, roughly whoever keeps it longest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from coordinator.core import cuts
from coordinator.core import events as e
from coordinator.core.evolve import apply
from coordinator.core.ids import AppShuffle
from coordinator.core.lifecycle import Life
from coordinator.core.state import Generation, State, empty
from coordinator.core.values import RootKind

_ON_DISK = {Life.READABLE, Life.PARTIAL, Life.EXPIRED, Life.FENCING, Life.FENCED}
_GOING = {Life.EXPIRED, Life.FENCING, Life.FENCED}


class Cause(Enum):
    """What keeps a shuffle that nobody will read."""

    GOING = "going"  #: Expired, its files not gone yet.
    PROGRAM = "program"  #: A name or an object of the program, as the last look found it.
    PERSISTED = "persisted"  #: An RDD that is to be cached, or a stream.
    PLAN = "execution"  #: An SQL execution that runs.
    ALGORITHM = "algorithm"  #: A call into the JVM that runs, like `fit`.
    JOB = "job"  #: A job that runs.
    UNKNOWN = "unknown"  #: Nobody, and no look has said so yet.


_KINDS = {
    Cause.PROGRAM: frozenset({RootKind.HANDLE, RootKind.OBJECT}),
    Cause.PERSISTED: frozenset({RootKind.PERSISTED, RootKind.STREAM}),
    Cause.PLAN: frozenset({RootKind.PLAN}),
    Cause.ALGORITHM: frozenset({RootKind.ALGORITHM}),
}


def beyond(log: Sequence[e.Recorded], until: Mapping[int, float]) -> Mapping[Cause, float]:
    """Byte-seconds after the last read of each shuffle (``until``), by cause. Each cause is there."""
    found = dict.fromkeys(Cause, 0.0)
    for state, before_s, at_s in _intervals(log):
        for generation, cause in _kept(state):
            late_s = at_s - max(before_s, until.get(generation.app_shuffle, before_s))
            found[cause] += generation.bytes * max(0.0, late_s)
    return found


def needed_byte_seconds(log: Sequence[e.Recorded], until: Mapping[int, float]) -> float:
    """Byte-seconds up to the last read of each shuffle."""
    return sum(
        generation.bytes * max(0.0, min(at_s, until.get(generation.app_shuffle, 0.0)) - before_s)
        for state, before_s, at_s in _intervals(log)
        for generation in _there(state)
    )


def _intervals(log: Sequence[e.Recorded]) -> Iterator[tuple[State, float, float]]:
    """What was so from when to when, in seconds."""
    state, before_s = empty(), 0.0
    for recorded in log:
        at_s = recorded.time_ms / 1000
        if before_s and at_s > before_s:
            yield state, before_s, at_s
        before_s = max(before_s, at_s)
        apply(state, recorded)


def _there(state: State) -> list[Generation]:
    return [one for one in state.generations.values() if one.life in _ON_DISK]


def _kept(state: State) -> Iterator[tuple[Generation, Cause]]:
    """What lies on the disks, and why."""
    there = _there(state)
    reached = {cause: cuts.of_roots(state, kinds) for cause, kinds in _KINDS.items()} if there else {}
    reached[Cause.JOB] = cuts.of_jobs(state) if there else frozenset()
    for generation in there:
        yield generation, _cause(generation, reached)


def _cause(generation: Generation, reached: Mapping[Cause, frozenset[AppShuffle]]) -> Cause:
    if generation.life in _GOING:
        return Cause.GOING
    return next((cause for cause in Cause if generation.app_shuffle in reached.get(cause, ())), Cause.UNKNOWN)
