"""What would have been enough.

Responsible for reading from a run's own log until when each app shuffle was needed, and from Spark's how often and when
stages ran. Refuses to know what was deleted. Invariant: a shuffle counts until the last stage that read it has ended,
and not a moment longer; one that nobody read counts until it was complete.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, ShuffleId, StageAttempt, StageId

#: When stage attempts were submitted and completed, in milliseconds since the epoch.
StageTimes = Mapping[StageAttempt, tuple[float, float]]


def needed_until(log: Iterable[e.Recorded], times: StageTimes) -> dict[int, float]:
    """App shuffle -> seconds since the epoch at which the last stage that read it ended.

    ``times`` are Spark's own: the log's are those of its commits, for which facts about little wait.
    """
    shuffle_of: dict[ShuffleId, AppShuffle] = {}
    uses: dict[StageAttempt, set[AppShuffle]] = {}
    until: dict[int, float] = {}
    for recorded in log:
        event = recorded.event
        if isinstance(event, e.GenerationStarted):
            shuffle_of[event.shuffle_id] = event.app_shuffle
        elif isinstance(event, e.ReaderRegistered):
            uses.setdefault(event.reader, set()).add(shuffle_of[event.shuffle_id])
        elif isinstance(event, e.StageSubmitted) and event.writes is not None:
            uses.setdefault(event.stage, set()).add(event.writes)
        elif isinstance(event, e.StageCompleted) and event.stage in times:
            ended = times[event.stage][1] / 1000
            until |= {used: max(ended, until.get(used, 0.0)) for used in uses.get(event.stage, ())}
    return until


def stage_times(events: Path) -> StageTimes:
    """When Spark submitted and completed each stage attempt that ran, from its own event log."""
    return {
        StageAttempt(StageId(info["Stage ID"]), info["Stage Attempt ID"]): (
            float(info["Submission Time"]),
            float(info["Completion Time"]),
        )
        for event in spark_events(events)
        if event.get("Event") == "SparkListenerStageCompleted"
        for info in (event["Stage Info"],)
    }


def map_stages_run(events: Path) -> int:
    """How many map stage attempts ran to an end, from Spark's own event log."""
    return sum(1 for event in spark_events(events) if is_map_stage(event))


def spark_events(folder: Path) -> Iterator[dict[str, Any]]:
    """Spark's own event log, uncompressed and not rolled."""
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.name.startswith(("appstatus", ".")):
            with file.open(encoding="utf-8") as lines:
                yield from (json.loads(line) for line in lines)


def is_map_stage(event: dict[str, Any]) -> bool:
    if event.get("Event") != "SparkListenerStageCompleted":
        return False
    named = event["Stage Info"].get("Accumulables", [])
    return any(a.get("Name") == "internal.metrics.shuffle.write.recordsWritten" for a in named)
