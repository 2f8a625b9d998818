"""Messages of the protocol as plain rows.

Responsible for the field names that programs rely on, and for the words in them. Refuses to know how rows are shown.
Invariant: a row holds only texts, numbers, flags, lists of them, and None for what is not known.
"""

from __future__ import annotations

from enum import Enum
from functools import cache
from typing import Any

from shuffle_lifecycle.v1 import service_pb2 as pb

from coordinator.core.events import Recorded
from coordinator.core.lifecycle import Life
from coordinator.core.values import Deletion, Ending, Expiry, Hold, Level, Loss, Policy, Suspension
from coordinator.server.shown import number_of
from coordinator.wire.shapes import shape_of
from replay.plain import plain

Row = dict[str, Any]


@cache
def word(kind: type[Enum], number: int) -> str | None:
    """The word of the protocol's number; None for UNSPECIFIED."""
    return next((str(member.value) for member in kind if number_of(member) == number), None)


def application_row(told: pb.Application) -> Row:
    """One application."""
    driver = told.driver
    return {
        "application": told.application,
        "name": driver.name,
        "spark_application_id": driver.spark_application_id,
        "user": driver.user,
        "spark_version": driver.spark_version,
        "service": driver.service,
        "policy": shape_of(Policy).read(told.policy).name,
        "only_observed": told.capabilities.why_not or None,
        "registered_ms": told.registered_ms,
        "ended_ms": told.ended_ms or None,
        "state": word(Ending, told.ending) or "running",
        "suspended": word(Suspension, told.suspended),
        "heard_ms": told.heard_ms or None,
        "replica": told.replica or None,
    }


def replica_row(told: pb.Replica) -> Row:
    """One replica."""
    return {
        "replica": told.replica,
        "address": told.address or None,
        "state": "gone" if told.gone else "serving",
        "sessions": told.sessions,
        "release": told.release or None,
        "reads_version": told.reads_version or None,
        "started_ms": told.started_ms or None,
        "lease": f"{told.lease:x}" if told.lease else None,
        "lease_ms": told.lease_ms or None,
    }


def shuffle_row(told: pb.Shuffle) -> Row:
    """One generation."""
    return {
        "app_shuffle": told.app_shuffle if told.HasField("app_shuffle") else None,
        "shuffle_id": told.shuffle_id,
        "state": word(Life, told.life),
        "bytes": told.bytes,
        "readers": [_attempt(stage) for stage in told.readers],
        "writers": [_attempt(stage) for stage in told.writers],
        "expired_because": word(Expiry, told.expiry),
        "held_by": word(Hold, told.hold),
        "due_ms": told.due_ms or None,
        "deleted_because": word(Deletion, told.deletion),
        "lost_because": word(Loss, told.loss),
        "pinned": told.pinned,
        "call_site": told.call_site,
    }


def graph_row(told: pb.Graph) -> Row:
    """The lineage, with what there is of each app shuffle."""
    by_shuffle: dict[int, list[Row]] = {}
    for shuffle in told.shuffles:
        by_shuffle.setdefault(shuffle.app_shuffle, []).append(shuffle_row(shuffle))
    return {
        "sequence": told.sequence,
        "shuffles": [_lineage(one, by_shuffle.get(one.app_shuffle, [])) for one in told.lineage],
        "stages": [_stage(stage) for stage in told.stages],
    }


def event_row(recorded: Recorded) -> Row:
    """One event with all its fields."""
    return {
        "sequence": recorded.sequence,
        "time_ms": recorded.time_ms,
        "because": recorded.because,
        "kind": type(recorded.event).__name__,
        "event": plain(recorded.event),
    }


def _lineage(told: Any, generations: list[Row]) -> Row:
    return {
        "app_shuffle": told.app_shuffle,
        "reads": list(told.reads),
        "level": word(Level, told.level),
        "barrier": told.barrier,
        "maps": told.maps,
        "call_site": told.call_site,
        "generations": generations,
    }


def _stage(told: pb.Stage) -> Row:
    return {
        "stage": _attempt(told.stage),
        "name": told.name,
        "reads": list(told.reads),
        "writes": told.writes if told.HasField("writes") else None,
    }


def _attempt(told: Any) -> str:
    return f"{told.stage}.{told.attempt}"
