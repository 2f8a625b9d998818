"""The verb `verify`: is every log whole, does what must hold always hold, and does all else say what the log says?

Responsible for showing what was found, one line an application. Refuses to mend. Invariant: it ends well only where
nothing is wrong with any application that was asked for.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from coordinator.cli import output
from coordinator.cli.exits import Exit, Failure
from coordinator.cli.finding import find
from coordinator.cli.here import Here
from coordinator.cli.output import Column, Row
from coordinator.cli.sources.api import Source
from coordinator.cli.verb import verb
from coordinator.core.ids import ApplicationId
from coordinator.core.proving import Broken
from coordinator.runtime.verifying import Verdict
from replay.units import count


def verify(
    here: Here,
    app: Annotated[str | None, typer.Argument(metavar="APP", help="One application; none: all of them.")] = None,
) -> Any:
    """Folds whole logs, checks after every step what must always hold, and compares snapshots and records with them."""
    return _verify(here, app)


async def _verify(here: Here, app: str | None) -> None:
    async with here.source() as source:
        found = [await source.verify(application) for application in await _asked(source, app)]
        found_rows = [_row(verdict) for verdict in found]
        output.rows(here.form, found_rows, _columns(found_rows), f"No applications at {source.where}.")
    told = [f"{verdict.application}: {problem}" for verdict in found for problem in verdict.problems]
    for problem in told:
        output.remark(problem)
    if told:
        raise Failure(Exit.DAMAGED, f"{count(len(told), 'problem')} found; nothing was changed.")


async def _asked(source: Source, app: str | None) -> list[ApplicationId]:
    """The one that is named; None: all."""
    if app is not None:
        return [await find(source, app)]
    return [ApplicationId(told.application) for told in await source.named()]


def _row(verdict: Verdict) -> Row:
    return {
        "application": verdict.application,
        "verdict": "fail" if verdict.problems else "ok",
        "events": verdict.events,
        "archived_below": verdict.archived_below or None,
        "snapshots": verdict.snapshots,
        "problems": list(verdict.problems),
        "broken": [_broken(one) for one in verdict.broken],
    }


def _broken(broken: Broken) -> Row:
    violation = broken.violation
    told = {"rule": violation.rule, "subject": violation.subject, "fact": violation.fact}
    return {"sequence": broken.sequence, "kind": broken.kind, **told}


def _archived(row: Row) -> int:
    return max(0, (row["archived_below"] or 1) - 1)


def _columns(rows: list[Row]) -> tuple[Column, ...]:
    """Of the archive only where something has moved there."""
    return tuple(column for column in _COLUMNS if column is not _ARCHIVED or any(map(_archived, rows)))


_ARCHIVED = Column("IN THE ARCHIVE", lambda r: f"{_archived(r):,}", right=True)
_COLUMNS = (
    Column("APPLICATION", lambda r: r["application"]),
    Column("VERDICT", lambda r: r["verdict"]),
    Column("EVENTS", lambda r: f"{r['events']:,}", right=True),
    _ARCHIVED,
    Column("SNAPSHOTS", lambda r: r["snapshots"], right=True),
)


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    verb(app, is_of_one=False)(verify)
