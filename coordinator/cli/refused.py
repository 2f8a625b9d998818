"""The verb `audit`: who was refused outside every application's log.

Responsible for the columns. Refuses to judge: a wrong token is a mistake more often than an attack. Invariant: what is
shown is what the store holds, the newest minute last.
"""

from __future__ import annotations

from typing import Any

import typer

from coordinator.cli import output
from coordinator.cli.exits import Exit, failure
from coordinator.cli.here import Here
from coordinator.cli.output import Column, Row
from coordinator.cli.sources.store import StoreSource
from coordinator.cli.verb import COMMON, verb
from coordinator.wire.records import AuditRecord
from replay.units import moment

_MINUTE_MS = 60_000


def audit(here: Here) -> Any:
    """Lists who was refused, counted by peer, kind and minute; refusals of an application stand in its log."""
    return _audit(here)


async def _audit(here: Here) -> None:
    async with here.source() as source:
        if not isinstance(source, StoreSource):
            raise failure(Exit.USAGE, f"{source.where} is named", "a store", "Name it with --store.")
        rows = [_row(record) for record in await source.refusals()]
        output.rows(here.form, rows, _COLUMNS, f"Nobody was refused at {source.where}.")


def _row(record: AuditRecord) -> Row:
    return {
        "minute_ms": record.minute * _MINUTE_MS,
        "peer": record.peer,
        "kind": record.kind,
        "count": record.count,
        "last": record.detail,
    }


_COLUMNS = (
    Column("MINUTE", lambda r: moment(r["minute_ms"])),
    Column("PEER", lambda r: r["peer"]),
    Column("KIND", lambda r: r["kind"]),
    Column("COUNT", lambda r: f"{r['count']:,}", right=True),
    Column("LAST ABOUT", lambda r: r["last"]),
)


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    verb(app, options=("store", "output", *COMMON))(audit)
