"""Which files are exports in Arrow and Parquet.

Responsible for telling them by name and by first bytes: people name an export as they like. Refuses to read more, and
needs no pyarrow. Invariant: a name that says what a file is is believed, whoever reads it tells what it is not.
"""

from __future__ import annotations

from pathlib import Path

_ARROW, _PARQUET = ".arrow", ".parquet"
_BEGINS = {b"ARROW1": _ARROW, b"PAR1": _PARQUET}


def is_table(path: Path) -> bool:
    """Whether it is an export in Arrow or Parquet."""
    return bool(_kind(path))


def is_parquet(path: Path) -> bool:
    """Whether it is one in Parquet."""
    return _kind(path) == _PARQUET


def _kind(path: Path) -> str:
    if path.suffix in _BEGINS.values():
        return path.suffix
    try:
        with path.open("rb") as file:
            head = file.read(max(map(len, _BEGINS)))
    except OSError:
        return ""
    return next((kind for begin, kind in _BEGINS.items() if head.startswith(begin)), "")
