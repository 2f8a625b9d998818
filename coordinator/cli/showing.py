"""The verb `demo`: what the plugin does to a real application.

Responsible for the door to `coordinator.demo`. Refuses to know what it shows. Invariant: missing Java or PySpark gets a
sentence that helps, before anything runs.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from coordinator.cli.checks.finding import Finding, Verdict, fail
from coordinator.cli.checks.machine import java, pyspark_folder
from coordinator.cli.exits import Exit, Failure
from coordinator.cli.finding import check_said
from coordinator.cli.here import Here
from coordinator.cli.running import check_wishes
from coordinator.cli.verb import COMMON, verb

_GET_PYSPARK = "pip install pyspark, or name the python folder of a Spark distribution, and its py4j, in PYTHONPATH."


def demo(
    here: Here,  # noqa: ARG001 - every verb is handed what was chosen
    megabytes: Annotated[int, typer.Option("--megabytes", min=1, help="Size of one shuffle.")] = 60,
    policy: Annotated[str, typer.Option("--policy", help="The policy of the second run.")] = "reachable",
    on: Annotated[
        str | None, typer.Option("--on", help="Store of the coordinator, etcd://…; none: SQLite, embedded.")
    ] = None,
) -> Any:
    """Runs a real PySpark application with the plugin off and on, and shows what that saved (about a minute)."""
    check_said({"--on": on})
    check_wishes({}, {"policy": policy, "store": on or ""})
    found = java()
    _need(found, found.verdict is not Verdict.FAIL)
    _need(fail("spark", "this Python has no PySpark", _GET_PYSPARK), pyspark_folder() is not None)
    from coordinator.demo.__main__ import main

    raise typer.Exit(main(megabytes, policy, on or ""))


def _need(finding: Finding, is_there: bool) -> None:
    if not is_there:
        raise Failure(Exit.FAILED, f"{finding.check}: {finding.found}. {finding.advice}")


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    verb(app, options=COMMON)(demo)
