"""Events out of the frame's rows.

Responsible for turning rows of an export back into what the log holds. Refuses to know files. Invariant: an event comes
back equal, or there is an error that names it.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator

import pyarrow as pa

from coordinator.core import events as e
from coordinator.core.events import Recorded
from coordinator.core.ids import Sequence
from coordinator.wire.errors import Corrupt, UnknownKind
from replay.plain import valued

_KINDS = {kind.__name__: kind for kind in typing.get_args(e.Event)}
_COLUMNS = ("sequence", "time_ms", "because", "kind", "event", "problem")


def recorded_in(batch: pa.RecordBatch, place: str) -> Iterator[Recorded]:
    """The events of the rows, in their order. Raises `UnknownKind`, and `Corrupt`: for a row of a problem too."""
    columns = [batch.column(name).to_pylist() for name in _COLUMNS]
    for sequence, time_ms, because, kind, event, problem in zip(*columns, strict=True):
        if problem is not None:
            raise Corrupt(place, problem, "events", "Export the log again where it is whole.")
        yield _recorded(sequence, time_ms, because, kind, event, place)


def _recorded(sequence: int, time_ms: int, because: int, kind: str, event: str, place: str) -> Recorded:
    known = _KINDS.get(kind)
    if known is None:
        raise UnknownKind(place, sequence, kind)
    try:
        numbers = [valued(int, number) for number in (sequence, time_ms, because)]
        return Recorded(Sequence(numbers[0]), numbers[1], Sequence(numbers[2]), valued(known, json.loads(event)))
    except (TypeError, ValueError) as error:
        told = f"event {sequence} ({kind}) cannot be understood: {error}"
        raise Corrupt(place, told, "an event as `shufflectl export` wrote it") from error
