"""Pictures of logs, for tests of the timeline."""

from __future__ import annotations

from typing import Any

from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, JobId, Sequence, ShuffleId, StageAttempt, StageId
from coordinator.core.values import Capabilities, Deletion, Driver, Lineage, Policy, Settings
from replay.timeline.collect import Picture
from replay.timeline.numbers import COLUMNS
from tests.unit.replay.logs import (
    APP,
)


def picture(log: list[e.Recorded], most: int = 20_000) -> Picture:
    made = Picture(most)
    for recorded in log:
        made.hear(recorded)
    return made


def rows(drawn: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(COLUMNS, row, strict=True)) for row in drawn["bars"]]


def many(shuffles: int) -> list[e.Recorded]:
    """As many shuffles, each written, read and deleted; by hand, since the core would take its time."""
    log: list[e.Event] = [e.ApplicationRegistered(APP, Driver(name="large"), Capabilities(), Policy(), Settings())]
    for number in range(shuffles):
        app, shuffle_id = AppShuffle(number), ShuffleId(number + 1)
        writer, reader = StageAttempt(StageId(2 * number), 0), StageAttempt(StageId(2 * number + 1), 0)
        log += [
            e.LineageLearned(Lineage(app, (), call_site=f"groupBy at nightly.py:{number % 300}")),
            e.StageSubmitted(writer, writes=app, name=f"groupBy at nightly.py:{number % 300}"),
            e.GenerationStarted(shuffle_id, app, writer, JobId(number)),
            e.StageCompleted(writer),
            e.GenerationCompleted(shuffle_id, 1_000_000 * (1 + number % 17)),
            e.StageSubmitted(reader, reads=(app,), name="collect at nightly.py:301"),
            e.ReaderRegistered(shuffle_id, reader),
            e.StageCompleted(reader),
            e.GenerationDeleted(shuffle_id, Deletion.POLICY if number % 3 else Deletion.SPARK),
        ]
    return [e.Recorded(Sequence(n), 1_790_000_000_000 + 40 * n, Sequence(n), one) for n, one in enumerate(log, 1)]
