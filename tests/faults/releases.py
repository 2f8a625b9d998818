"""Whether replicas of two releases left one another alone.

Responsible for `release`: nobody writes what a replica could not read of which the store has told him, what a segment
holds is of the version that it says, nobody goes on with a log of which he could not read all, and what only the newer
release knows is in the log where it was accepted. Refuses to know how a
replica finds out (`replica` writes down what the store told it). Invariant: where all replicas are of one release there
is nothing to find.

A replica that comes is heard of a moment later; what was written in between is no wrong: who cannot read it says so.
What was drafted before its writer heard may be sent just after.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.faults.fold import Log, Stored
from tests.faults.history import Action

FIRST = 1
#: Events that need a later version than the first, where replicas of two releases take part.
SINCE = {"executor_lost": 2}
COMMAND = "report_executor_lost"
MOMENT_S = 0.5  #: Between a draft and its append.


@dataclass
class _Told:
    """What one process of a replica knows: its own release, and those of the others, as the store has told it."""

    reads: int
    others: Mapping[str, int] = field(default_factory=dict)
    since_s: float = 0.0  #: It was told so.
    least: int = FIRST  #: What all could read: as long as nobody was told of, the first.

    def hear(self, action: Action) -> None:
        self.others = action.told["reads"]
        least = min([self.reads, *self.others.values()])
        if least != self.least:
            self.least, self.since_s = least, action.begun_s


def check(logs: Mapping[str, Log], actions: Sequence[Action], counts: Counter[str]) -> list[str]:
    """What is wrong. ``actions`` in the order in which they began."""
    releases = {action.told["reads"] for action in actions if action.what == "release"}
    if len(releases) < 2:
        return []
    segments = {segment.commit: (log, segment) for log in logs.values() for segment in log.segments}
    counts["segments of the newer release"] += sum(segment.version > FIRST for _, segment in segments.values())
    wrong = [each for log in logs.values() for each in _labelled(log)]
    return [*wrong, *_acknowledged(logs, actions, counts), *_written(segments, actions)]


def _acknowledged(logs: Mapping[str, Log], actions: Iterable[Action], counts: Counter[str]) -> Iterator[str]:
    for action in actions:
        if action.what == COMMAND:
            counts[f"reports of the newer release {action.outcome}"] += 1
            log = logs.get(action.who)
            if action.outcome == "ok" and (log is None or (COMMAND, action.told["executor"]) not in log.facts):
                yield f"release: {action.who} lost {action.told['executor']}, which was accepted, and no event says so"


def _labelled(log: Log) -> Iterator[str]:
    for segment in log.segments:
        needed = max((SINCE.get(record.WhichOneof("event"), FIRST) for record in segment.records), default=FIRST)
        if segment.version < needed:
            yield f"release: {segment.key} says version {segment.version}, and what is in it needs {needed}"


def _written(segments: Mapping[str, tuple[Log, Stored]], actions: Iterable[Action]) -> Iterator[str]:
    told: defaultdict[str, _Told] = defaultdict(lambda: _Told(FIRST))
    for action in actions:
        if action.what == "release":
            told[action.who] = _Told(action.told["reads"])
        elif action.what == "heard":
            told[action.who].hear(action)
        elif action.what == "append" and action.told["commit"] in segments:
            log, segment = segments[action.told["commit"]]
            yield from _of_append(action, told[action.who], log, segment)


def _of_append(action: Action, writer: _Told, log: Log, segment: Stored) -> Iterator[str]:
    who = f"release: the append of {segment.commit!r} by {action.who}"
    if segment.version > writer.least and action.begun_s > writer.since_s + MOMENT_S:
        ago_s = action.begun_s - writer.since_s
        yield f"{who} has version {segment.version}; {ago_s:.1f} s before, the store told it of {dict(writer.others)}"
    beyond = [one.version for one in log.segments if one.first < segment.first and one.version > writer.reads]
    if beyond:
        yield f"{who}, which reads {writer.reads}, follows a segment of version {beyond[0]}"
