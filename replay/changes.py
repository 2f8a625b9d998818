"""What changed in the state, in words.

Responsible for naming each record that is new, gone or other than before, and the fields that differ. Refuses to know
which event did it. Invariant: whatever people ask about and is different is named; counters and marks that only the
coordinator needs are not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from coordinator.core.ids import ShuffleId, StageAttempt
from coordinator.core.lifecycle import Life
from coordinator.core.state import Change, Gap, Meta, State, changes
from coordinator.core.values import Capabilities, Lineage, Locator, Policy
from replay.names import Names
from replay.phrases import became
from replay.units import clock, few, size


@dataclass(frozen=True, slots=True)
class Changed:
    """One record: what it is, and how it differs. ``fields``: name, before and after."""

    table: str
    what: str
    how: str
    fields: tuple[tuple[str, str, str], ...] = ()


#: Which tables people ask about, and what one record of each is called.
_CALLED: dict[str, Callable[[Any, Any, Names], str]] = {
    "shuffles": lambda key, _, names: names.shuffle(key),
    "generations": lambda key, record, _: f"shuffle #{key} of app shuffle {record.app_shuffle}",
    "jobs": lambda key, _, names: names.job(key),
    "attempts": lambda key, _, names: names.stage(key),
    "executions": lambda key, _, names: names.execution(key),
    "directives": lambda key, record, _: f"directive {key}, {record.kind.value} #{record.shuffle_id}",
    "recoveries": lambda key, _, __: f"recovery {key}",
    "roots": lambda _, record, names: names.root_of(record.kind, record.root, record.why),
    "groups": lambda key, _, __: f"job group {key}",
}
#: Fields that say something to a person; of a table that is not here all do.
_TOLD: dict[str, frozenset[str]] = {
    "shuffles": frozenset({"lineage", "current", "fate", "cause", "missed", "recoveries", "pin"}),
    "generations": frozenset(
        {"life", "bytes", "readers", "writers", "retrying", "why", "hold", "due_ms", "directive", "missed_by"}
    ),
    "jobs": frozenset({"finished"}),
    "attempts": frozenset({"running", "submitted", "reading", "writing"}),
    "executions": frozenset(),
    "directives": frozenset({"due_ms", "failures"}),
    "recoveries": frozenset({"open", "joined", "awaited", "gone"}),
    "roots": frozenset({"needs"}),
    "meta": frozenset(
        {"policy", "ending", "suspended", "gap", "premature", "recoveries", "bytes_freed", "sweeping", "capabilities"}
    ),
}


def of_step(below: State, draft: State, names: Names) -> tuple[Changed, ...]:
    """What a draft over a state changes."""
    told = [one for table in _CALLED for change in changes(draft, table) for one in _told(table, change, draft, names)]
    return (*told, *_meta(below.meta, draft.meta))


def between(before: State, after: State, names: Names) -> tuple[Changed, ...]:
    """What differs between two states."""
    told = [
        one
        for table in _CALLED
        for change in _changes(before, after, table)
        for one in _told(table, change, after, names)
    ]
    return (*told, *_meta(before.meta, after.meta))


def _changes(before: State, after: State, table: str) -> Iterator[Change[Any, Any]]:
    earlier, later = getattr(before, table), getattr(after, table)
    for key in sorted(earlier.keys() | later.keys()):
        if earlier.get(key) != later.get(key):
            yield Change(key, earlier.get(key), later.get(key))


def _told(table: str, change: Change[Any, Any], after: State, names: Names) -> Iterator[Changed]:
    record = change.after if change.after is not None else change.before
    what = _CALLED[table](change.key, record, names)
    if change.after is None:
        yield _over(table, what, change.key, record, after)
        return
    fields = tuple(_differing(table, change.before, change.after))
    if change.before is None:
        yield Changed(table, what, "is new" + _listed(fields), fields)
    elif fields:
        yield Changed(table, what, _listed(fields).removeprefix(": "), fields)


def _over(table: str, what: str, key: Any, record: Any, after: State) -> Changed:
    if table != "generations":
        return Changed(table, what, "is over")
    life = _fate(after, key)
    shuffle = after.shuffles.get(record.app_shuffle)
    cause = shuffle.cause if shuffle is not None and shuffle.current == key else None
    gone = became(life, cause.value if cause is not None else None)
    return Changed(table, what, f"is {gone}", (("life", record.life.value, life),))


def _fate(after: State, shuffle_id: ShuffleId) -> str:
    """What became of a generation whose record has gone."""
    lost = any(shuffle_id in span for span in after.meta.lost)
    return str((Life.LOST if lost else Life.DELETED).value)


def _meta(before: Meta, after: Meta) -> tuple[Changed, ...]:
    if before.application is None and after.application is not None:
        return (Changed("meta", "the application", f"is new: policy {after.policy.name}"),)
    fields = tuple(_differing("meta", before, after))
    return (Changed("meta", "the application", _listed(fields).removeprefix(": "), fields),) if fields else ()


def _differing(table: str, before: Any, after: Any) -> Iterator[tuple[str, str, str]]:
    if isinstance(after, Policy):
        yield "policy", _word("", before), _word("", after)
        return
    told = _TOLD.get(table)
    for field in dataclasses.fields(after):
        was = getattr(before, field.name) if before is not None else field.default
        now = getattr(after, field.name)
        if was != now and (told is None or field.name in told):
            said = _word(field.name, was) if before is not None else "", _word(field.name, now)
            if said[0] != said[1]:
                yield field.name, *said


def _listed(fields: tuple[tuple[str, str, str], ...]) -> str:
    parts = [_said(*field) for field in fields]
    return f": {', '.join(parts)}" if parts else ""


def _said(name: str, was: str, now: str) -> str:
    if name in _FLAGS:
        return _FLAGS[name][now == "true"]
    label = _LABELS.get(name, name)
    if name == "needs" and not (was.isdecimal() or now.isdecimal()):
        label += "s"
    return " ".join([label, *([was, "→"] if was else []), now or "nothing"])


#: What a person calls a field; one that is not here is called so itself.
_LABELS = {
    "lineage": "made",
    "life": "state",
    "bytes": "size",
    "readers": "read by",
    "writers": "written by",
    "retrying": "to be read again by",
    "reading": "reads",
    "writing": "writes",
    "due_ms": "due",
    "missed_by": "missed by",
    "current": "generation",
    "bytes_freed": "freed",
    "premature": "premature deletions",
    "why": "because",
    "needs": "needs app shuffle",
    "gone": "for",
    "awaited": "waits for",
    "joined": "asked for again",
    "ending": "state",
    "suspended": "deletion suspended because",
    "capabilities": "deletion",
}
#: What is so or is not, and what either is called.
_FLAGS = {
    "finished": ("not finished", "finished"),
    "running": ("not running", "running"),
    "submitted": ("not submitted", "submitted"),
    "open": ("closed", "open"),
    "sweeping": ("all is moved", "more is to be moved in a next step"),
}
#: Fields that hold shuffle ids.
_SHUFFLE_IDS = frozenset({"current", "missed", "reading", "writing", "awaited"})


def _word(name: str, value: Any) -> str:
    """A value as people read it; empty: nothing."""
    if value is None or value is dataclasses.MISSING or isinstance(value, Locator):
        return ""
    if isinstance(value, (Enum, Policy, Lineage, Gap, Capabilities)):
        return _word_of_kind(value)
    if name in ("bytes", "bytes_freed"):
        return size(value) if value else ""
    if name.endswith("_ms"):
        return clock(value) if value else ""
    if isinstance(value, (frozenset, tuple)):
        nobody = "nothing" if name in _SHUFFLE_IDS or name == "needs" else "nobody"
        ordered = sorted(value, key=str) if isinstance(value, frozenset) else value
        return few(_item(name, one) for one in ordered) or nobody
    if name in _SHUFFLE_IDS:
        return _item(name, value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _word_of_kind(value: Enum | Policy | Lineage | Gap | Capabilities) -> str:
    if isinstance(value, Capabilities):
        return "possible" if value.deletes else f"not possible: {value.why_not}"
    if isinstance(value, Gap):
        return "facts were missed"
    if isinstance(value, Policy):
        return value.name
    if isinstance(value, Lineage):
        many = "" if len(value.reads) == 1 else "s"
        return f"from app shuffle{many} {few(value.reads)}" if value.reads else "from no other shuffle"
    return str(value.value)


def _item(name: str, value: Any) -> str:
    if isinstance(value, tuple):  # of a recovery: a shuffle id and its app shuffle
        return f"#{value[0]}"
    if isinstance(value, StageAttempt):
        return f"stage {value}"
    return f"#{value}" if name in _SHUFFLE_IDS else str(value)
