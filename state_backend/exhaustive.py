"""Proof, for the type checker, that every case was named (`typing.assert_never` comes with Python 3.11 only)."""

from __future__ import annotations

from typing import NoReturn


def assert_never(value: NoReturn) -> NoReturn:
    """Unreachable where the type checker agrees."""
    raise AssertionError(f"a case was not named: {value!r}")
