"""What may grow, and how far.

Responsible for the table of limits: every number that bounds what a client can make grow, with its meaning, and for
refusing what would go beyond those of one application. Refuses to know who asks, and how fast (`server`). Invariant:
what is refused changes nothing; where nothing is at its limit, looking costs nothing.

Rows are counted once a commit, so an application may pass a limit by what one commit holds. A fact that is refused is
one that the log misses; its driver is told so, and tells it as a gap, after which nothing expires until it is closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from coordinator.core import commands as c
from coordinator.core.rejections import Reason, Rejection
from coordinator.core.state import State
from coordinator.core.values import UNCONFIRMED


def _limit(default: int, meaning: str, least: int = 1, most: int = 2**31 - 1) -> Any:
    """``least``, ``most``: what can be chosen; beyond it something else would give way."""
    return field(default=default, metadata={"meaning": meaning, "least": least, "most": most})


@dataclass(frozen=True, slots=True)
class Limits:
    """One row each: `limits.NAME` in the configuration."""

    applications: int = _limit(10_000, "applications that run, over all replicas of a store", most=1_000_000)
    shuffles: int = _limit(250_000, "app shuffles of one application")
    readers: int = _limit(100_000, "stage attempts of one application that read or write, or will again")
    jobs: int = _limit(100_000, "live jobs of one application")
    executions: int = _limit(100_000, "running SQL executions of one application")
    roots: int = _limit(250_000, "roots told of one application; a driver names some 3,500, and tells more together")
    clients: int = _limit(1_000, "clients of one application")
    groups: int = _limit(1_000, "job groups of one application with a policy of their own")
    waiting: int = _limit(16_384, "requests of one application that wait for a commit; more wait at their caller")
    unconfirmed: int = _limit(UNCONFIRMED, "requests of one session that were sent and not confirmed", most=UNCONFIRMED)
    batch: int = _limit(1_024, "requests of one batch")
    message_bytes: int = _limit(4 * 1024 * 1024, "bytes of one message", least=65_536)
    text_bytes: int = _limit(65_536, "bytes of one text in a message")
    payload_bytes: int = _limit(524_288, "bytes of one locator")
    items: int = _limit(300_000, "items of all lists in a message; a driver names all its shuffles in one")
    calls: int = _limit(10_000, "calls and sessions under way at one replica")
    tails: int = _limit(64, "calls under way at one replica that follow one application's events")
    requests_per_s: int = _limit(200_000, "requests of one application a second, at one replica, for long")
    registrations_per_s: int = _limit(50, "new applications a second, at one replica, for long")


#: Tables of the state -> the limit of their rows.
_TABLES = {
    "shuffles": "shuffles",
    "attempts": "readers",
    "jobs": "jobs",
    "executions": "executions",
    "roots": "roots",
    "clients": "clients",
    "groups": "groups",
}
Row = tuple[str, Any]  #: Table and key.


def crowded(state: State, limits: Limits) -> dict[str, int]:
    """The tables that are at their limit, each with it; none, as a rule."""
    return {
        table: most for table, name in _TABLES.items() if len(getattr(state, table)) >= (most := getattr(limits, name))
    }


def no_room(state: State, command: c.Command, full: dict[str, int]) -> Rejection | None:
    """Why a command is refused that would make a full table grow; None: it would not."""
    for table, key in _rows(command):
        if table in full and key not in getattr(state, table):
            name = _TABLES[table]
            return Rejection(
                Reason.EXHAUSTED,
                f"application {state.meta.application} has {full[table]} {name}, and {type(command).__name__} adds one",
                f"at most {full[table]} ({name})",
                f"Nothing was done; let some end first, or raise limits.{name} on the coordinators.",
            )
    return None


def _rows(command: c.Command) -> Iterator[Row]:
    """What the command may add."""
    rows = _ROWS.get(type(command))
    if rows is not None:
        yield from rows(command)


def _of_job(command: Any) -> Iterator[Row]:
    yield "jobs", command.job
    yield from (("shuffles", lineage.app_shuffle) for lineage in command.lineage)
    yield from (("shuffles", shuffle) for shuffle in (*command.reads, command.writes) if shuffle is not None)


def _of_stage(command: Any) -> Iterator[Row]:
    yield "attempts", command.stage
    yield from (("shuffles", shuffle) for shuffle in (*command.reads, command.writes) if shuffle is not None)


def _of_question(command: Any) -> Iterator[Row]:
    if command.stage is not None:
        yield "attempts", command.stage
    if isinstance(command, c.GetShuffleId) and command.write:
        yield "shuffles", command.app_shuffle


def _of_resync(command: c.Resync) -> Iterator[Row]:
    told: tuple[c.Command, ...] = (*command.jobs, *command.stages, *command.executions)
    for one in told:
        yield from _rows(one)
    yield from (("shuffles", outputs.app_shuffle) for outputs in command.outputs)


_ROWS: dict[type, Any] = {
    c.RegisterClient: lambda command: [("clients", command.client)],
    c.SetPolicy: lambda command: [("groups", command.group)] if command.group else [],
    c.ReportJobStarted: _of_job,
    c.ReportLineage: lambda command: [("shuffles", lineage.app_shuffle) for lineage in command.lineage],
    c.ReportStageSubmitted: _of_stage,
    c.GetShuffleId: _of_question,
    c.ReportMissing: _of_question,
    c.ReportExecutionStarted: lambda command: [("executions", command.execution)],
    c.ReportCut: lambda command: [("roots", root.root) for root in command.roots],
    c.ReportOutputs: lambda command: [("shuffles", outputs.app_shuffle) for outputs in command.outputs],
    c.Resync: _of_resync,
}
