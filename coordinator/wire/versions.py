"""Which release can read what.

Responsible for the version that a record needs of its reader. Refuses to know replicas. Invariant: a segment says the
version that its own records need, not the one of the release that wrote it; so releases can serve side by side, as
long as nobody writes what somebody cannot read.

Whoever adds an event, or a field to one, raises `upcast.VERSION` and writes it down here: a reader of an earlier
release would refuse the one and overlook the other. The rule begins with the first release; what came before it is one
version, whose builds are not mixed.
"""

from __future__ import annotations

from collections.abc import Iterable

from coordinator.core.events import Recorded

#: What every release can read that reads at all.
FIRST = 1

#: Events, and fields as (event, name), that came later; a field counts where it does not have its default.
SINCE: dict[type | tuple[type, str], int] = {}


def needed(records: Iterable[Recorded]) -> int:
    """The version that a reader of these records must know."""
    if not SINCE:
        return FIRST
    return max((_of(recorded.event) for recorded in records), default=FIRST)


def _of(event: object) -> int:
    kind = type(event)
    found = SINCE.get(kind, FIRST)
    for newer, version in SINCE.items():
        if isinstance(newer, tuple) and newer[0] is kind and version > found and not _is_default(event, newer[1]):
            found = version
    return found


def _is_default(event: object, name: str) -> bool:
    default = type(event).__dataclass_fields__[name].default  # type: ignore[attr-defined]
    return bool(getattr(event, name) == default)
