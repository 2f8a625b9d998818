"""A terminal that is so wide, for what prints tables in this process.

Responsible for making standard output look like one. Refuses to draw. Invariant: it is put back with the test.
"""

from __future__ import annotations

import sys

import pytest


def terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """From here on standard output is a terminal of so many columns."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", "25")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
