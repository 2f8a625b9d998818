"""A picture as plain values, for its page.

Responsible for what a page is given, and that it is small: times count from the first event, texts stand once. Refuses
to know how the picture came about (`collect`). Invariant: what the places of a row hold, the page knows by
`COLUMNS` and `EVENTS` alone.
"""

from __future__ import annotations

from typing import Any

from replay.timeline.collect import Bar, Picture, Stage
from replay.units import place

#: What the numbers in the place `events` are of; 0: it has not happened.
EVENTS = ("begun", "complete", "read last", "expired", "deleted", "lost", "missed")
COLUMNS = (
    "id", "app", "site", "begun", "complete", "read", "expired", "gone", "bytes", "fate", "why", "reads", "writer",
    "readers", "events", "changes",
)  # fmt: skip


def numbers(picture: Picture) -> dict[str, Any]:
    """The picture as plain values."""
    told = _Numbers(picture)
    return {
        "application": picture.application,
        "name": picture.name,
        "policy": picture.policy,
        "spark": picture.spark,
        "first_ms": picture.first_ms,
        "length_ms": picture.last_ms - picture.first_ms,
        "sequence": picture.last_sequence,
        "left_out": picture.left_out,
        "ended": picture.ended,
        "bars": [told.bar(bar) for bar in picture.bars.values()],
        "stages": [told.stage(stage) for stage in picture.stages.values()],
        "texts": list(told.texts),
    }


class _Numbers:
    """Bars and stages as rows; ``texts``: those that they name, each by its place."""

    def __init__(self, picture: Picture) -> None:
        self.texts: dict[str, int] = {}
        self._picture = picture
        self._attempts = {attempt: number for number, attempt in enumerate(picture.stages)}

    def bar(self, bar: Bar) -> list[Any]:
        """One generation."""
        picture, since = self._picture, self._since
        return [
            bar.shuffle_id,
            bar.app_shuffle,
            self._text(place(picture.names.call_site(bar.app_shuffle) or bar.call_site)),
            since(bar.begun_ms),
            since(bar.complete_ms),
            since(picture.last_ms if bar.reading and not picture.ended else bar.read_ms),
            since(bar.expired_ms),
            since(bar.gone_ms),
            bar.bytes,
            bar.fate.value,
            self._text(bar.why),
            bar.reads,
            self._attempts.get(bar.writer) if bar.writer is not None else None,
            [self._attempts[one] for one in bar.readers if one in self._attempts],
            [bar.events.get(what, 0) for what in EVENTS],
            [[since(at_ms), held, sequence] for at_ms, held, sequence in bar.changes],
        ]

    def stage(self, stage: Stage) -> list[Any]:
        """One attempt."""
        name, job = self._text(place(stage.name)), self._text(stage.job)
        begun, done = self._since(stage.begun_ms), self._since(stage.done_ms)
        return [str(stage.attempt), name, job, begun, done, int(stage.failed)]

    def _text(self, said: str) -> int:
        return self.texts.setdefault(said, len(self.texts))

    def _since(self, time_ms: int | None) -> int | None:
        return None if time_ms is None else time_ms - self._picture.first_ms
