"""The verb `simulate`: what other policies would have done to recorded runs.

Responsible for naming policies, and for the table that puts them side by side. Refuses to simulate (`replay.simulate`),
and to know where runs are found (`recordings`). Invariant: every figure of the table is in JSON and YAML too, of each
application and of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from rich.text import Text

from coordinator.cli import output
from coordinator.cli.changing import RULED, policy_of
from coordinator.cli.exits import Exit, failure
from coordinator.cli.finding import check_said
from coordinator.cli.here import Here
from coordinator.cli.output import Column
from coordinator.cli.recordings import Logs, Master, code_of_none, is_spread, recordings_of, remark, session
from coordinator.cli.rows import Row
from coordinator.cli.verb import COMMON, SERVER, verb
from coordinator.core.values import Lesson, Policy
from coordinator.wire.lessons import read_lessons
from replay.plain import plain
from replay.simulate.recordings import Recording, Simulated, all_of, once, spread
from replay.simulate.summary import Summary, total
from replay.units import count, few, printable, size

_RECORDED = "as recorded"
_Policies: TypeAlias = list[tuple[str, Policy | None]]
_POLICIES = ("observe", "frontier", "eager")


def simulate(
    here: Here,
    logs: Logs = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            help="A policy's name, delayed:RULE:GRACE, or 'as recorded'; may be repeated. "
            "Default: observe, frontier and eager.",
        ),
    ] = None,
    learned: Annotated[
        Path | None, typer.Option("--history", metavar="FILE", help="What `learn` wrote, for policy history.")
    ] = None,
    capacity: Annotated[
        str | None, typer.Option("--capacity", help="What shuffle data may take, as 20g, for policy pressure.")
    ] = None,
    each: Annotated[bool, typer.Option("--each", help="A table for each application too.")] = False,
    master: Master = "",
) -> Any:
    """Compares what policies would have held, deleted and recomputed in recorded runs."""
    check_said({"--capacity": capacity})
    wanted = list(dict.fromkeys(_named(one) for one in policy or _POLICIES))
    lessons = read_lessons(learned) if learned is not None else None
    return _simulate(here, logs or [], wanted, _Given(lessons, _capacity_bytes(capacity)), each, master)


@dataclass(frozen=True, slots=True)
class _Given:
    """What runs are simulated with instead of what was recorded."""

    lessons: dict[str, tuple[Lesson, ...]] | None
    capacity_bytes: int | None


def _capacity_bytes(text: str | None) -> int | None:
    from listener_bridge.sizes import size_bytes  # as `spark.shuffleLifecycle.pressure.capacity` is read

    try:
        return size_bytes(text) if text else None
    except ValueError as error:
        fact, _, expected = str(error).partition("; expected ")
        raise failure(Exit.USAGE, f"the capacity: {fact}", expected, "Correct it.") from error


async def _simulate(
    here: Here, logs: Sequence[str], policies: _Policies, given: _Given, each: bool, master: str
) -> None:
    recordings = await recordings_of(here, logs)
    found, twice = once(_carried_out(recordings, policies, given, master))
    for told in twice:
        output.remark(told)
    for one in found:
        for warning in (*one.warnings, *((one.failed,) if one.failed else ())):
            remark(one.recording, warning)
    read = [one for one in found if not one.failed]
    if read or here.form != "table":
        _show(here, read, each, given)
    _end(found, read)


def _end(found: Sequence[Simulated], read: Sequence[Simulated]) -> None:
    """Who only asks for the exit code learns that figures are missing; what is no log has none, as in `advise`."""
    if not read:
        raise failure(code_of_none(found), "nothing was simulated", "one record that can be read", "Name other logs.")
    missing = sum(one.is_cut or bool(one.failed and not one.is_no_log) for one in found)
    if missing:
        told = f"{count(missing, 'record')} could not be read to the end"
        raise failure(Exit.DAMAGED, told, "whole logs", "What is shown above is what could be read.")


# ---- what is simulated -----------------------------------------------------------------------------------------------


def _named(text: str) -> tuple[str, Policy | None]:
    """A policy as people write it; None: as recorded."""
    if text.replace("-", " ").strip().lower() == _RECORDED:
        return _RECORDED, None
    name, *more = text.split(":")
    if more and (name not in RULED or len(more) > len(("rule", "grace")) or not all(more)):
        expected = "a policy's name, observe:RULE, delayed:RULE:GRACE or 'as recorded'"
        told = "Leave out the colon, or say what follows it."
        raise failure(Exit.USAGE, f"the policy is {text!r}", expected, told)
    rule, grace = (*more, "", "")[:2]
    chosen = policy_of(name, rule or "reachable", grace)
    return (f"observe({rule})" if chosen.observe and rule else chosen.name), chosen


def _carried_out(recordings: Sequence[Recording], policies: _Policies, given: _Given, master: str) -> list[Simulated]:
    if not is_spread(recordings, master):
        return all_of(recordings, policies, given.lessons, given.capacity_bytes)
    with session("simulate", master) as spark:
        return spread(spark, recordings, policies, given.lessons, given.capacity_bytes)


# ---- how it is shown -------------------------------------------------------------------------------------------------


def _show(here: Here, found: list[Simulated], each: bool, given: _Given) -> None:
    sums = total(one.summaries for one in found)
    if here.form != "table":
        output.data(here.form, {"policies": list(map(_row, sums)), "applications": list(map(_application, found))})
        return
    if each and len(found) > 1:
        for one in found:
            output.say(Text(printable(f"{one.name or one.recording}  {one.application}"), style="bold"))
            _table(one.summaries)
            output.say("")
    if len(found) != 1:
        output.say(Text(count(len(found), "application"), style="bold"))
    _table(sums)
    for told in (*_doubts(found, sums), *_untaught(found, sums, given)):
        output.say(Text(told, style="dim"))


def _application(one: Simulated) -> Row:
    """All but what it has to do with other records."""
    told = {**dict(plain(replace(one, piece=None))), "summaries": list(map(_row, one.summaries))}
    return {name: value for name, value in told.items() if name != "piece"}


def _doubts(found: Sequence[Simulated], sums: Sequence[Summary]) -> Iterator[str]:
    """What the table says of `reachable`, delayed or not, and cannot know."""
    reaching = [one for one in sums if one.policy == "reachable" or one.policy.startswith("delayed(reachable,")]
    if not reaching:
        return
    names = few([f"`{one.policy}`" for one in reaching])
    is_one = len(reaching) == 1
    blind = reaching[0].applications - reaching[0].looked_at
    histories = sum(one.is_history for one in found)
    if blind:
        told = "keeps all" if is_one else "keep all"
        yield f"{count(blind, 'record')} without looks: what the program held is not known, {names} {told}."
    if histories:
        told = "holds more" if is_one else "hold more"
        yield f"{count(histories, 'history log')}: the program's variables are not in them; live, {names} {told}."


def _untaught(found: Sequence[Simulated], sums: Sequence[Summary], given: _Given) -> Iterator[str]:
    names = {one.name for one in found} - (given.lessons or {}).keys()
    if names and any("history" in one.policy for one in sums):
        told = "`history` without --history FILE"
        if given.lessons is not None:
            told = f"The file of lessons has none of {few(sorted(names))}: `history`"
        yield (
            f"{told} knows what a run had been taught when it was recorded; "
            "where that is nothing it goes as `frontier`."
        )
    if given.capacity_bytes is None and any("pressure" in one.policy for one in sums):
        yield (
            "`pressure` without --capacity SIZE goes by the disks, or the capacity, that were recorded; "
            "where none were it deletes nothing."
        )


def _row(one: Summary) -> Row:
    return {**dict(plain(one)), "saved_byte_seconds": one.saved_byte_seconds}


def _table(sums: Sequence[Summary]) -> None:
    rows: list[Row] = [_row(one) for one in sums]
    if rows:
        blank = dict.fromkeys(rows[0])
        bounds = rows[0]["never_byte_seconds"], rows[0]["needed_byte_seconds"]
        common = {**blank, "never_byte_seconds": bounds[0]}
        rows = [
            {**common, "policy": "Spark alone", "held_byte_seconds": bounds[0]},
            *rows,
            {**common, "policy": "oracle", "held_byte_seconds": bounds[1]},
        ]
    output.rows("table", rows, _COLUMNS, "Nothing was simulated.")


def _held(byte_seconds: float) -> str:
    """Gigabytes for hours, or megabytes for seconds: whatever reads well."""
    hours = byte_seconds / 3_600
    return f"{size(int(hours))}·h" if hours >= 1e9 else f"{size(int(byte_seconds))}·s"


def _of_never(row: Mapping[str, Any]) -> str:
    never = row["never_byte_seconds"]
    return f"{100 * row['held_byte_seconds'] / never:.1f} %" if never else ""


def _or_blank(key: str, tell: Any) -> Any:
    return lambda row: "" if row[key] is None else tell(row[key])


_COLUMNS = (
    Column("POLICY", lambda r: r["policy"], titles=True),
    Column("HELD", lambda r: _held(r["held_byte_seconds"]), right=True),
    Column("OF SPARK ALONE", _of_never, right=True),
    Column("PEAK", _or_blank("peak_bytes", size), right=True),
    Column("DELETED", _or_blank("deletions", str), right=True),
    Column("TOO EARLY", _or_blank("premature", str), right=True),
    Column("RECOMPUTED", _or_blank("recomputed_bytes", size), right=True),
    Column("TASK TIME", _or_blank("recomputed_task_seconds", lambda s: f"{s:,.1f} s"), right=True),
)


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    verb(app, options=(*SERVER, "store", "log", "archive", "output", *COMMON))(simulate)
