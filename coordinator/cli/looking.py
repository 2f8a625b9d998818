"""Verbs that show what is so: `apps`, `replicas`, `shuffles`, `graph`.

Responsible for which columns a person sees. Refuses to change anything. Invariant: what is shown is one moment of one
application, as the source tells it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from coordinator.cli import output, trees
from coordinator.cli.exits import Exit, failure
from coordinator.cli.finding import find
from coordinator.cli.here import Here
from coordinator.cli.output import Column, Row
from coordinator.cli.rows import application_row, graph_row, replica_row, shuffle_row
from coordinator.cli.verb import FORMS, verb
from coordinator.core.lifecycle import Life
from coordinator.runtime.clock import Clock
from replay.phrases import became
from replay.units import clock, count, few, moment, place, size, span

Application = Annotated[
    str, typer.Argument(metavar="APP", help="Its id or a beginning of it, Spark's id, or its name; - for the only one.")
]
#: The same of verbs that read: a log file holds one application, which need not be named.
Named = Annotated[
    str | None,
    typer.Argument(
        metavar="APP",
        help="Its id or a beginning of it, Spark's id, or its name; - for the only one. With --log none is needed.",
    ),
]
Applications = Annotated[
    list[str] | None, typer.Argument(metavar="APP", help="Applications, as the other verbs name them.")
]
All = Annotated[bool, typer.Option("--all", help="Every application of the source.")]
_SHORTEST = 8
_STATES = tuple(life.value for life in Life)
_GONE = {Life.DELETED.value, Life.LOST.value}


def apps(here: Here, running: Annotated[bool, typer.Option("--running", help="Only those that run.")] = False) -> Any:
    """Lists applications."""
    return _apps(here, running)


async def _apps(here: Here, running: bool) -> None:
    async with here.source() as source:
        found = [application_row(told) for told in await source.applications()]
        shown = [row for row in found if not running or row["state"] == "running"]
        columns = (
            Column("APPLICATION", _beginnings(found)),
            *_APPS,
            Column("STATE", _state(Clock().wall_ms() - int(here.config.serve.silence_s * 1_000))),
        )
        output.rows(here.form, shown, columns, f"No applications at {source.where}.")


def replicas(here: Here) -> Any:
    """Lists the coordinators of a store: where they are, how many sessions each holds, what they can read."""
    return _replicas(here)


async def _replicas(here: Here) -> None:
    async with here.source() as source:
        found = [replica_row(told) for told in await source.replicas()]
        output.rows(here.form, found, _REPLICAS, f"No replica is registered at {source.where}.")


def shuffles(
    here: Here,
    app: Named = None,
    state: Annotated[
        list[str] | None, typer.Option("--state", help=f"Only in this state: {', '.join(_STATES)}.")
    ] = None,
) -> Any:
    """Lists the shuffles of an application, generation by generation."""
    for asked in state or ():
        if asked not in _STATES:
            raise failure(Exit.USAGE, f"the state is {asked!r}", f"one of {', '.join(_STATES)}", "Choose one.")
    return _shuffles(here, app, state or [])


async def _shuffles(here: Here, app: str | None, states: list[str]) -> None:
    async with here.source() as source:
        application = await find(source, app)
        begun = (await source.application(application)).generations
        told = await source.shuffles(application)
        found = [row for row in map(shuffle_row, told) if not states or row["state"] in states]
        output.rows(
            here.form, found, _SHUFFLES, "No shuffles" + (f" that are {' or '.join(states)}." if states else ".")
        )
        unlisted = begun - sum(shuffle.shuffle_id <= begun for shuffle in told)
        if unlisted > 0 and (not states or _GONE & set(states)):
            _not_listed(unlisted)


def _not_listed(unlisted: int) -> None:
    whose = "of shuffles that Spark has let go, or that were written again"
    where = "`shufflectl replay APP -o json` and `shufflectl timeline APP -o FILE` have all"
    output.remark(f"not listed: {count(unlisted, 'generation')} {whose}; {where}")


def graph(here: Here, app: Named = None) -> Any:
    """Shows which shuffle was made from which, with their states; -o dot for Graphviz."""
    return _graph(here, app)


async def _graph(here: Here, app: str | None) -> None:
    async with here.source() as source:
        found = graph_row(await source.graph(await find(source, app)))
    if here.form == "table":
        output.say(trees.tree(found) if found["shuffles"] else "No shuffles.")
    elif here.form == "dot":
        output.say(trees.dot(found))
    else:
        output.data(here.form, found)


def register(app: typer.Typer) -> None:
    """Adds the verbs."""
    verb(app)(apps)
    verb(app)(replicas)
    verb(app)(shuffles)
    verb(app, forms=(*FORMS, "dot"))(graph)


# ---- columns ---------------------------------------------------------------------------------------------------------


def _beginnings(found: Sequence[Row]) -> Any:
    """Each id cut to the shortest beginning that is no other's."""
    ids = [row["application"] for row in found]
    length = _SHORTEST
    while len({one[:length] for one in ids}) < len(set(ids)):
        length += 1
    return lambda row: row["application"][:length]


def _state(silent_ms: int) -> Callable[[Row], str]:
    """``silent_ms``: who was not heard of since then may be gone, though nobody serves the store who would say so."""

    def state(row: Row) -> str:
        told = f"{row['state']}, suspended" if row["suspended"] else str(row["state"])
        heard_ms = row["heard_ms"]
        return f"{told}, silent since {moment(heard_ms)}" if heard_ms and heard_ms < silent_ms else told

    return state


def _lease(row: Row) -> str:
    return f"{row['lease']}, {span(row['lease_ms'])}" if row["lease"] else ""


def _in_use(row: Row) -> str:
    return few([*(f"writes {w}" for w in row["writers"]), *(f"reads {r}" for r in row["readers"])], 3)


def _why(row: Row) -> str:
    if row["deleted_because"] or row["lost_because"]:
        return str(row["deleted_because"] or row["lost_because"])
    held = row["held_by"] if row["held_by"] not in (None, "none") else ""
    until = f" until {clock(row['due_ms'])}" if row["due_ms"] else ""
    told = [row["expired_because"] or "", f"held: {held}{until}" if held else ""]
    return "; ".join(one for one in told if one)


def _size(row: Row) -> str:
    return "" if row["state"] in ("deleted", "writing") and not row["bytes"] else size(row["bytes"])


_APPS = (
    Column("NAME", lambda r: r["name"]),
    Column("SPARK ID", lambda r: r["spark_application_id"]),
    Column("SPARK", lambda r: r["spark_version"], spare=True),
    Column("POLICY", lambda r: r["policy"]),
    Column("REGISTERED", lambda r: moment(r["registered_ms"])),
)
_REPLICAS = (
    Column("REPLICA", lambda r: r["replica"]),
    Column("ADDRESS", lambda r: r["address"]),
    Column("STATE", lambda r: r["state"]),
    Column("SESSIONS", lambda r: r["sessions"], right=True),
    Column("RELEASE", lambda r: r["release"]),
    Column("READS", lambda r: f"version {r['reads_version']}" if r["reads_version"] else ""),
    Column("SINCE", lambda r: moment(r["started_ms"]) if r["started_ms"] else ""),
    Column("LEASE", _lease),
)
_SHUFFLES = (
    Column("SHUFFLE", lambda r: r["app_shuffle"], right=True),
    Column("ID", lambda r: f"#{r['shuffle_id']}", right=True),
    Column("STATE", lambda r: became(r["state"], r["deleted_because"])),
    Column("SIZE", _size, right=True),
    Column("IN USE", _in_use),
    Column("WHY", _why),
    Column("PIN", lambda r: "pinned" if r["pinned"] else ""),
    Column("CALL SITE", lambda r: place(r["call_site"])),
)
