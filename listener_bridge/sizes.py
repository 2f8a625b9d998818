"""Sizes as Spark users write them: `500m`, `20g`, `1t`.

Responsible for: reading one, as bytes, and showing one to people. Refuses to know: what is so large.
Invariant: read, as by Spark, a unit is 1,024 of the one below, and a number without a unit is refused; shown, as by
`shufflectl`, it is 1,000.
"""

from __future__ import annotations

import re

_UNITS = "kmgtp"
_SHOWN = ("B", "kB", "MB", "GB", "TB", "PB")
#: An exbibyte: sums of several must still fit where bytes are kept.
LARGEST_BYTES = 1 << 60
_DIGITS = 20  #: More of them are too many, whatever their unit.


def size_bytes(text: str) -> int:
    """Raises `ValueError`, which says what was found and what is expected."""
    found = re.fullmatch(r"(\d+)\s*([kmgtp])i?b?|(\d+)\s*b", text.strip().lower())
    if found is None:
        raise ValueError(f"{text!r} is no size; expected a whole number and one of b, k, m, g, t, p, as 20g")
    digits, power = (found[3], 0) if found[3] else (found[1], 1 + _UNITS.index(found[2]))
    size = int(digits[:_DIGITS]) << 10 * power
    if size > LARGEST_BYTES or len(digits) > _DIGITS:
        raise ValueError(f"{text!r} is too large; expected at most {LARGEST_BYTES >> 50}p")
    return size


def shown(number: int) -> str:
    """Bytes for people: `999 B`, `1.2 kB`, `120 MB`."""
    value, unit = float(number), 0
    while value >= 999.5 and unit < len(_SHOWN) - 1:
        value, unit = value / 1000, unit + 1
    return f"{number} B" if unit == 0 else f"{value:.{1 if value < 99.95 else 0}f} {_SHOWN[unit]}"
