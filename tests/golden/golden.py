"""What golden files hold, and how they are added: ``python -m tests.golden.golden fields``, ``log 0.1.0`` or ``folds``.

Responsible for the listing of field numbers, for a log with every kind of event, and for the states that logs fold
into (`folds/`: stories of the scenarios that meet every rule of the fold). Refuses to overwrite: what was once released
is kept as it was. A field may be added to the listing; a line that changed or went is a break of the protocol. Where a
log folds into other states than it did, snapshots need a new version: those of before hold the states of before.

Only before a release is tagged may its own log be removed and made anew, and lines of its listing be taken out by hand.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import sys
import typing
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from shuffle_lifecycle.v1 import common_pb2, errors_pb2, events_pb2, service_pb2

from coordinator.core.digest import digest
from coordinator.core.events import Event, Recorded
from coordinator.core.evolve import fold
from coordinator.core.ids import Sequence
from coordinator.core.state import empty
from coordinator.wire import snapshots
from coordinator.wire.codec import Segment
from coordinator.wire.logfile import read_log, write_log

HERE = Path(__file__).parent
FIELDS = HERE / "fields.txt"
FOLDS = HERE / "folds"
#: The version of snapshots, and per log its states in one text; the only golden file that a new version writes anew.
STATES = FOLDS / "states.json"
_SEGMENT_RECORDS = 40


# --- field numbers ----------------------------------------------------------------------------------------------------


def listing() -> list[str]:
    """Every field, enum value and method of the protocol, with its number and type; sorted by name."""
    files: list[Any] = [module.DESCRIPTOR for module in (common_pb2, errors_pb2, events_pb2, service_pb2)]
    lines = itertools.chain.from_iterable(_lines(file) for file in files)
    return sorted(lines)


def _lines(file: Any) -> Iterator[str]:
    for message in file.message_types_by_name.values():
        for field in message.fields:
            yield f"{message.name}.{field.name} = {field.number} {_type(field)}"
    for enum in file.enum_types_by_name.values():
        for value in enum.values:
            yield f"{enum.name}.{value.name} = {value.number}"
    for service in file.services_by_name.values():
        for method in service.methods:
            yield f"{service.name}.{method.name} = {method.input_type.name} -> {method.output_type.name}"


def _type(field: Any) -> str:
    named = field.message_type or field.enum_type
    kinds = {
        3: "int64",
        4: "uint64",
        5: "int32",
        7: "fixed32",
        8: "bool",
        9: "string",
        12: "bytes",
        13: "uint32",
        17: "sint32",
    }
    kind = named.name if named else kinds[field.type]
    repeated = field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED
    optional = field.has_presence and not field.message_type and not _chosen(field)
    return f"{'repeated ' if repeated else 'optional ' if optional else ''}{kind}"


def _chosen(field: Any) -> bool:
    """Whether the field is a member of a real ``oneof``."""
    return field.containing_oneof is not None and len(field.containing_oneof.fields) > 1


# --- logs -------------------------------------------------------------------------------------------------------------


def example_log() -> list[Segment]:
    """Every kind of event, with all its parts and with as few as it may have."""
    numbers = itertools.count(1)
    events = [example(kind, numbers, full) for full in (True, False) for kind in typing.get_args(Event)]
    records = [
        Recorded(Sequence(n), 1_700_000_000_000 + 7 * n, Sequence(max(1, n - n % 3)), event)
        for n, event in enumerate(events, 1)
    ]
    firsts = range(0, len(records), _SEGMENT_RECORDS)
    return [_segment(records[first : first + _SEGMENT_RECORDS]) for first in firsts]


def _segment(records: list[Recorded]) -> Segment:
    first = records[0].sequence
    return Segment(first, first.to_bytes(16, "big"), "replica-1", tuple(records))


def example(hint: Any, numbers: Iterator[int], full: bool) -> Any:
    """A value of this type, different from the one before; its optional parts only if ``full``."""
    if isinstance(hint, typing.NewType):
        return example(hint.__supertype__, numbers, full)
    if dataclasses.is_dataclass(hint):
        return _example_record(typing.cast(type, hint), numbers, full)
    number = next(numbers)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return list(hint)[number % len(hint)]
    simple: dict[Any, Any] = {int: number, str: f"text {number} é", bool: full, bytes: number.to_bytes(2, "big")}
    if hint in simple:
        return simple[hint]
    item = typing.get_args(hint)[0]
    if typing.get_origin(hint) is tuple:
        return tuple(example(item, numbers, full) for _ in range(2 if full else 0))
    return example(item, numbers, full) if full else None


def _example_record(kind: type, numbers: Iterator[int], full: bool) -> Any:
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(typing.cast(Any, kind))
    needed = [field for field in fields if full or field.default is dataclasses.MISSING]
    return kind(**{field.name: example(hints[field.name], numbers, full) for field in needed})


def rendering(recorded: Recorded) -> dict[str, Any]:
    """The event in its place, as people and programs without the protocol read it."""
    place = {"sequence": recorded.sequence, "time_ms": recorded.time_ms, "because": recorded.because}
    return {**place, "event": type(recorded.event).__name__, **_render(recorded.event)}


def _render(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {field.name: _render(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, bytes):
        return value.hex()
    return [_render(one) for one in value] if isinstance(value, tuple) else value


# --- states -----------------------------------------------------------------------------------------------------------


def states() -> dict[str, Any]:
    """What is to be in `STATES`."""
    return {"version": snapshots.VERSION, "states": {log.stem: folded(log) for log in sorted(FOLDS.glob("*.log"))}}


def folded(log: Path) -> str:
    """The states that a log folds into, one after each of its events, as one text."""
    state, told = empty(), hashlib.blake2b(digest_size=16)
    for segment in read_log(log.read_bytes()):
        for recorded in segment.records:
            told.update(digest(fold(state, (recorded,))).encode())
    return told.hexdigest()


# --- adding -----------------------------------------------------------------------------------------------------------


def add_fields() -> None:
    """Adds what is new to the listing; refuses where a line changed or went."""
    kept = FIELDS.read_text().splitlines() if FIELDS.exists() else []
    gone = sorted(set(kept) - set(listing()))
    if gone:
        sys.exit("these were released and are different now, or gone; put them back:\n" + "\n".join(gone))
    FIELDS.write_text("\n".join(listing()) + "\n")


def add_log(name: str) -> None:
    """Adds the log of a release; refuses where there is one."""
    log, story = HERE / f"{name}.log", HERE / f"{name}.json"
    if log.exists():
        sys.exit(f"{log.name} is there already; a golden log is never overwritten, choose another name")
    segments = example_log()
    log.write_bytes(b"".join(write_log(segments)))
    lines = [json.dumps(rendering(recorded), ensure_ascii=False) for s in segments for recorded in s.records]
    story.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def add_folds() -> None:
    """Adds the states of new logs, or those of a new version; refuses where a log folds into others than it did."""
    kept, present = json.loads(STATES.read_text()), states()
    changed = [name for name, told in kept["states"].items() if present["states"].get(name) != told]
    if changed and kept["version"] == present["version"]:
        wanted = "these fold into other states than they did: raise VERSION in coordinator/wire/snapshots.py"
        sys.exit(f"{wanted}: {', '.join(changed)}")
    STATES.write_text(json.dumps(present, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["fields"]:
        add_fields()
    elif sys.argv[1:] == ["folds"]:
        add_folds()
    elif len(sys.argv) == 3 and sys.argv[1] == "log":
        add_log(sys.argv[2])
    else:
        sys.exit(__doc__)
