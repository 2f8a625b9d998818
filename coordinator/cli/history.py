"""Verbs that show what has happened: `events`, `explain`, `holders`.

Responsible for reading logs to their end, or as they grow. Refuses to change anything in them. Invariant: events come
in the order of the log, and where some are missing that is said.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

import typer

from coordinator.cli import output, stories
from coordinator.cli.exits import Exit, failure, failure_of
from coordinator.cli.finding import ONLY, find, no_shuffle, which_shuffle
from coordinator.cli.here import Here
from coordinator.cli.looking import Named
from coordinator.cli.output import Column
from coordinator.cli.rows import Row, event_row
from coordinator.cli.sources.api import Source, foldable, up_to
from coordinator.cli.verb import verb
from coordinator.core.events import ApplicationEnded, Recorded
from coordinator.core.ids import ApplicationId
from replay.explain import Births, Teller
from replay.holders import Weigher
from replay.names import Names
from replay.phrases import kind_named, phrase
from replay.plain import plain
from replay.units import clock, few, place, size

_DEFAULT_LIMIT = 1_000
_LAST = 2**63 - 1  #: No log has more events.
_MOST_HOLDERS = 30
#: Of those that come before the first event that is shown so many are read, for the names that they tell.
_HEARD_BEFORE = 10_000


def events(
    here: Here,
    app: Named = None,
    after: Annotated[
        int, typer.Option("--after", metavar="N", min=0, max=_LAST, help="Only events after this number.")
    ] = 0,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help=f"At most this many; of a table {_DEFAULT_LIMIT:,}, else all.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until the end.")] = False,
    kind: Annotated[list[str] | None, typer.Option("--kind", help="Only of this kind, as GenerationExpired.")] = None,
) -> Any:
    """Shows the log of an application."""
    wanted = {_known_kind(one) for one in kind or ()}
    if follow:
        return _follow(here, app, after, limit, wanted)
    return _events(here, app, after, here.most(limit, _DEFAULT_LIMIT), wanted)


async def _events(here: Here, app: str | None, after: int, limit: int | None, wanted: set[str]) -> None:
    async with here.source() as source:
        application = await find(source, app)
        names, found, more = await _heard_before(source, application, after), list[Row](), False
        async for recorded in source.events(application, after):
            names.hear(recorded)
            if wanted and type(recorded.event).__name__ not in wanted:
                continue
            if len(found) == limit:
                more = True
                break
            found.append(_told(recorded, names))
        _show(here, found)
        if more:
            output.remark(f"more follow: --after {found[-1]['sequence']}, or a larger --limit")


async def _follow(here: Here, app: str | None, after: int, limit: int | None, wanted: set[str]) -> None:
    async with here.source() as source:
        application = await find(source, app)
        names, shown = await _heard_before(source, application, after), 0
        following: Any = to_the_end(source, application, after)
        async with aclosing(following):
            async for recorded in following:
                names.hear(recorded)
                if not wanted or type(recorded.event).__name__ in wanted:
                    _show_one(here, _told(recorded, names))
                    shown += 1
                if shown == limit:
                    break


async def _heard_before(source: Source, application: ApplicationId, after: int) -> Names:
    """What the events before called things. Where they cannot be read numbers stand for names, and no more is lost."""
    names = Names()
    try:
        async for recorded in source.events_aside(application, max(0, after - _HEARD_BEFORE)):
            if recorded.sequence > after:
                break
            names.hear(recorded)
    except Exception as error:
        if failure_of(error) is None:
            raise
    return names


async def to_the_end(source: Source, application: ApplicationId, after: int) -> AsyncIterator[Recorded]:
    """What comes, for as long as something can come: who has ended writes nothing more."""
    if not (await source.application(application)).ending:
        following: Any = source.follow(application, after)
        async with aclosing(following):
            async for recorded in following:
                yield recorded
                after = recorded.sequence
                if isinstance(recorded.event, ApplicationEnded):
                    break
    async for recorded in source.events(application, after):
        yield recorded


def explain(
    here: Here,
    app: Named = None,
    shuffle: Annotated[
        str | None, typer.Argument(metavar="SHUFFLE", help="An app shuffle such as 5, or '#7', a shuffle id.")
    ] = None,
    is_id: Annotated[bool, typer.Option("--id", help="SHUFFLE is a shuffle id.")] = False,
) -> Any:
    """Tells why a shuffle was deleted or is still held, who read it, and who missed it."""
    if shuffle is None and app != ONLY and here.chosen()[0] == "log":
        app, shuffle = None, app
    if shuffle is None:
        raise no_shuffle("explain", app)
    return _explain(here, app, *which_shuffle(shuffle, is_id))


async def _explain(here: Here, app: str | None, app_shuffle: Any, shuffle_id: Any) -> None:
    async with here.source() as source:
        application = await find(source, app)
        if shuffle_id is not None:
            births = Births(shuffle_id)
            async for recorded in source.events(application):
                births.hear(recorded)
            app_shuffle = births.app_shuffle()
        teller = Teller(app_shuffle)
        async for recorded in source.events(application):
            teller.hear(recorded)
        story = teller.story(shuffle_id)
        if here.form == "table":
            with output.printing() as console:
                stories.show(console, story)
        else:
            output.data(here.form, stories.plain(story))


def holders(
    here: Here,
    app: Named = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help=f"At most this many; of a table {_MOST_HOLDERS}, else all.")
    ] = None,
) -> Any:
    """Lists what holds shuffle data now, or held it when the application ended: jobs, plans, names of the program.

    Who alone holds most comes first.
    """
    return _holders(here, app, here.most(limit, _MOST_HOLDERS))


async def _holders(here: Here, app: str | None, limit: int | None) -> None:
    async with here.source() as source:
        application = await find(source, app)
        weigher = Weigher()
        async for recorded in foldable(source, application):
            weigher.hear(recorded)
        found = weigher.holders() or weigher.at_end
        rows: list[Row] = [dict(plain(one)) for one in found[:limit]]
        so_far = up_to(source, weigher.state.meta.next_sequence - 1)
        output.rows(here.form, rows, _HOLDERS, f"{_nobody(weigher)}{so_far}.")
        if rows and so_far:
            output.remark(f"this was so{so_far}")
        elif rows and weigher.state.meta.ending is not None:
            output.remark("this was so when the application ended; nothing holds any shuffle data now")
        if len(found) > len(rows):
            output.remark(f"{len(found) - len(rows):,} more hold some: a larger --limit shows them")


def _nobody(weigher: Weigher) -> str:
    if there := weigher.bytes_there():
        kept = f"{size(there)} are kept all the same, by a policy, a pin or a hold: `explain` tells of each shuffle"
        return f"No job, plan or name holds any shuffle data; {kept}"
    return "Nothing holds any shuffle data"


def register(app: typer.Typer) -> None:
    """Adds the verbs."""
    verb(app)(events)
    verb(app)(explain)
    verb(app)(holders)


# ---- rows ------------------------------------------------------------------------------------------------------------


def _known_kind(named: str) -> str:
    """The kind of event that is meant."""
    found = kind_named(named)
    if found is None:
        raise failure(
            Exit.USAGE, f"the kind is {named!r}", "a kind of event such as GenerationExpired", "docs/events.md has all."
        )
    return found


def _told(recorded: Recorded, names: Names) -> Row:
    return {**event_row(recorded), "text": phrase(recorded.event, names)}


def _show(here: Here, found: list[Row]) -> None:
    output.rows(here.form, found, _EVENTS, "No events.")


def _show_one(here: Here, row: Row) -> None:
    if here.form != "table":
        output.piece(here.form, row)
        return
    cells = [str(column.show(row)) for column in _EVENTS]
    output.say(f"{cells[0]:>7}  {cells[1]}  {cells[2]:<22}  {cells[3]}")


_EVENTS = (
    Column("#", lambda r: r["sequence"], right=True),
    Column("TIME", lambda r: clock(r["time_ms"])),
    Column("KIND", lambda r: r["kind"]),
    Column("WHAT", lambda r: r["text"]),
)

_HOLDERS = (
    Column("ALONE", lambda r: size(r["alone_bytes"]), right=True),
    Column("HOLDS", lambda r: size(r["bytes"]), right=True),
    Column("KIND", lambda r: r["kind"]),
    Column("WHO", lambda r: r["who"]),
    Column("SHUFFLES", lambda r: few(r["app_shuffles"], 6)),
    Column("WRITTEN AT", lambda r: few(map(place, r["call_sites"]), 2)),
)
