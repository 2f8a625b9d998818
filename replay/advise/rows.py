"""Advice as plain values.

Responsible for the names and types that programs rely on, in JSON, YAML, CSV and Parquet alike. Refuses to round.
Invariant: a row holds texts, numbers, flags, lists and rows; None is "not known" or "never".
"""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import TYPE_CHECKING, Any

from replay.advise.advice import Advice

if TYPE_CHECKING:
    from replay.advise.report import Report

Row = dict[str, Any]


def row(advice: Advice) -> Row:
    """One application, with everything."""
    found: Row = _plain(advice)
    return found


def flat(advice: Advice) -> Row:
    """One application without what there are several of, for a table: each holder's figures are columns."""
    plain = row(advice)
    for figures in plain.pop("figures"):
        holder = figures.pop("holder")
        plain.update({f"{holder}_{name}": value for name, value in figures.items()})
    del plain["shuffles"]
    plain["warnings"] = "; ".join(plain["warnings"])
    return plain


def report(told: Report) -> Row:
    """The whole report."""
    return {
        "headline": told.headline,
        "raw_bytes": told.raw_bytes,
        "grace_ms": told.grace_ms,
        "applications": [row(advice) for advice in told.advices],
        "left_out": [_plain(refused) for refused in told.refused],
    }


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    return [_plain(one) for one in value] if isinstance(value, tuple) else value
