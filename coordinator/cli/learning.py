"""The verb `learn`: from recorded runs to the file that policy `history` goes by.

Responsible for naming the runs and for writing the file. Refuses to learn (`replay.learn`). Invariant: a file is
written whole or not at all, and what was left out is told; as after `simulate`, the exit code says of damaged logs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from coordinator.cli import output
from coordinator.cli.exits import Exit, Failure, failure
from coordinator.cli.here import Here
from coordinator.cli.recordings import Logs, Master, code_of_none, is_spread, recordings_of, remark, session
from coordinator.cli.targets import check_file, written
from coordinator.cli.verb import COMMON, SERVER, verb
from coordinator.wire.lessons import text_of
from replay import learn as teacher
from replay.simulate.recordings import Recording, once
from replay.units import count


def learn(
    here: Here,
    to: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")],
    logs: Logs = None,
    master: Master = "",
) -> Any:
    """Learns from earlier runs which shuffles are read again, for policy `history`."""
    return _learn(here, logs or [], to, master)


async def _learn(here: Here, logs: list[str], to: Path, master: str) -> None:
    check_file(to, force=True, sources=(*logs, here.chosen()[1]))
    runs = _remarked(_runs(await recordings_of(here, logs), master))
    taught = teacher.together(runs)
    if not taught:
        raise _nothing_taught(runs)
    written(to, text_of(taught))
    kinds = sum(len(one.kinds) for one in taught.values())
    told = f"{count(len(taught), 'application')}, {count(sum(one.runs for one in taught.values()), 'run')}"
    output.say(f"{told}, {count(kinds, 'kind')} of shuffles written to {to}.")
    if missing := sum(run.is_missing for run in runs):
        told = f"{count(missing, 'record')} could not be read to the end"
        raise failure(Exit.DAMAGED, told, "whole logs", "What was written holds what could be read.")


def _runs(recordings: list[Recording], master: str) -> list[teacher.Learned]:
    if not is_spread(recordings, master):
        return teacher.all_of(recordings)
    with session("learn", master) as spark:
        return teacher.spread(spark, recordings)


def _remarked(runs: list[teacher.Learned]) -> list[teacher.Learned]:
    """Each run once, when people have been told what is wrong with them."""
    runs, twice = once(runs)
    for told in twice:
        output.remark(told)
    for run in runs:
        for said in filter(None, (*run.warnings, run.why_not)):
            remark(run.recording, said)
    return runs


def _nothing_taught(runs: list[teacher.Learned]) -> Failure:
    code = code_of_none(runs)
    if code is Exit.NOT_FOUND and any(run.why_not and not run.is_no_log for run in runs):
        code = Exit.FAILED  # there is a run, and it taught nothing
    return failure(code, "no run taught anything", "at least one run that has ended", "Name more logs.")


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    verb(app, options=(*SERVER, "store", "log", "archive", *COMMON))(learn)
