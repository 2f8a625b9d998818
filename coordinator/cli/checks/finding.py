"""A finding of `doctor`.

Responsible for the shape of what a check says. Refuses to check anything. Invariant: whatever is not ok says what to
do.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """How bad it is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    check: str
    verdict: Verdict
    found: str
    advice: str = ""


def ok(check: str, found: str, advice: str = "") -> Finding:
    """All is well."""
    return Finding(check, Verdict.OK, found, advice)


def warn(check: str, found: str, advice: str) -> Finding:
    """It works, and not as it should."""
    return Finding(check, Verdict.WARN, found, advice)


def fail(check: str, found: str, advice: str) -> Finding:
    """It will not work."""
    return Finding(check, Verdict.FAIL, found, advice)
