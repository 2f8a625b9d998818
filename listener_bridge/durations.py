"""Durations as Spark users write them: `500ms`, `30s`, `5min`.

Responsible for: reading one. Refuses to know: what is to last so long.
Invariant: a number without a unit is refused, since nobody can tell which one was meant.
"""

from __future__ import annotations

import re

_UNITS_MS = {
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}
#: A hundred years: what is added to a time must still be one, wherever it is kept.
LONGEST_MS = 36_500 * _UNITS_MS["d"]
_DIGITS = 20  #: More of them are too many, whatever their unit.


def milliseconds(text: str) -> int:
    """Raises `ValueError`, which says what was found and what is expected."""
    found = re.fullmatch(r"(\d+)\s*([a-z]+)", text.strip().lower())
    if found is None or found[2] not in _UNITS_MS:
        raise ValueError(f"{text!r} is no duration; expected a whole number and one of {', '.join(_UNITS_MS)}, as 30s")
    wanted_ms = int(found[1][:_DIGITS]) * _UNITS_MS[found[2]]
    if wanted_ms > LONGEST_MS or len(found[1]) > _DIGITS:
        raise ValueError(f"{text!r} is too long; expected at most {LONGEST_MS // _UNITS_MS['d']}d")
    return wanted_ms
