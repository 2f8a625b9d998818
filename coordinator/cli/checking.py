"""The verb `doctor`: what would keep a driver or a coordinator from working, and what to do about it.

Responsible for running the checks in the order in which things are needed. Refuses to repair. Invariant: it ends with
`1` exactly where something will not work.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from coordinator.cli import output
from coordinator.cli.checks import archive, clients, machine, network, store
from coordinator.cli.checks.finding import Finding, Verdict
from coordinator.cli.exits import Exit
from coordinator.cli.here import Here
from coordinator.cli.output import Column
from coordinator.cli.verb import READING, verb
from coordinator.config import Config
from replay.plain import plain


def doctor(
    here: Here,
    jars: Annotated[
        list[Path] | None,
        typer.Option("--client-jar", metavar="JAR", help="A remote shuffle service's client; may be repeated."),
    ] = None,
) -> Any:
    """Checks Java, Spark, store, ports and versions, and says what to do."""
    return _doctor(here, jars or [])


async def _doctor(here: Here, jars: Sequence[Path]) -> None:
    found = await findings(here.config, jars)
    rows = [plain(finding) for finding in found]
    output.rows(here.form, rows, _COLUMNS, "")
    if any(finding.verdict is Verdict.FAIL for finding in found):
        raise typer.Exit(Exit.FAILED)


async def findings(config: Config, jars: Sequence[Path] = ()) -> list[Finding]:
    """All findings. ``jars``: of remote shuffle services' clients that are not among Spark's own."""
    return [
        machine.python(),
        machine.java(),
        machine.spark(),
        machine.janino(),
        machine.libraries(),
        *clients.look(jars),
        machine.clock(),
        *await store.look(config),
        *archive.look(config),
        *network.etcd(config),
        await network.port(config),
        *await network.servers(config),
    ]


_COLUMNS = (
    Column("CHECK", lambda r: r["check"]),
    Column("VERDICT", lambda r: r["verdict"]),
    Column("FOUND", lambda r: r["found"]),
    Column("WHAT TO DO", lambda r: r["advice"]),
)


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    verb(app, options=READING)(doctor)
