"""Verbs that go back in time: `replay`, `diff`.

Responsible for reading a log up to a point, and for showing what was so there, step by step where that is asked.
Refuses to know what a point is and what changed (`replay.travel`). Invariant: a point means the same in every verb, and
the same log shows the same there, whichever source holds it.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
from rich.console import Console, Group
from rich.padding import Padding
from rich.text import Text

from coordinator.cli import output
from coordinator.cli.exits import Exit, failure
from coordinator.cli.finding import ONLY, find, is_number
from coordinator.cli.here import Here
from coordinator.cli.looking import Named
from coordinator.cli.output import Column, Row
from coordinator.cli.rows import event_row
from coordinator.cli.sources.api import Source, foldable, foldable_batches
from coordinator.cli.verb import verb
from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId
from coordinator.core.lifecycle import Life
from replay import points, travel
from replay.changes import Changed
from replay.moments import Moment, moment
from replay.phrases import became, phrase
from replay.plain import plain
from replay.points import End, Point
from replay.travel import Ended, Traveller
from replay.units import clock, count, few, place, printable, size
from replay.units import moment as date

#: Generations that are gone are told in a table up to so many, the newest; JSON and YAML hold all.
_GONE_SHOWN = 20
_KEYS = "enter: next; a number: go there; s: all that is so; q: end"
_POINT = "An event's number, a time (2026-11-21T10:02:11, or 10:02:11 of the log's day), a kind of event, or end."


def replay(
    here: Here,
    app: Named = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="POINT", help="After event N, or at a time.", show_default=False)
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="EVENT", help="After the first of a kind: GenerationDeleted, or with #7, or 5."
        ),
    ] = None,
    step: Annotated[bool, typer.Option("--step", help="Event by event, with what each changes.")] = False,
) -> Any:
    """Shows all that was so at a point of the log: shuffles, readers, bytes, jobs, directives; the end unless told."""
    if at is not None and until is not None:
        raise failure(Exit.USAGE, "--at and --until are both given", "one point", "Leave one out.")
    where = _until(until) if until is not None else _point(at) if at is not None else End()
    return _step(here, app, where, (at or until) is not None) if step else _replay(here, app, where)


async def _replay(here: Here, app: str | None, where: Point) -> None:
    async with here.source() as source:
        keeps = _GONE_SHOWN if here.form == "table" else None
        found = moment(await _travelled(source, await find(source, app), where, keeps))
        if here.form == "table":
            with output.printing() as console:
                _show(console, found)
        else:
            output.data(here.form, plain(found))


def diff(
    here: Here,
    app: Named = None,
    before: Annotated[str | None, typer.Argument(metavar="A", help=_POINT)] = None,
    after: Annotated[str | None, typer.Argument(metavar="B", help="A later one; none: the end.")] = None,
) -> Any:
    """Shows what changed from one point of the log to a later one."""
    if before is None and app != ONLY and here.chosen()[0] == "log":
        app, before = None, app
    if before is None:
        raise failure(Exit.USAGE, "no point is named", "two, or one and the end", "`shufflectl diff APP 1200 10:02:11`")
    return _diff(here, app, before, after)


async def _diff(here: Here, app: str | None, before: str, after: str | None) -> None:
    async with here.source() as source:
        application, points = await _between(source, app, before, after)
        earlier, later = [await _travelled(source, application, where, 0) for where in points]
        if earlier.sequence > later.sequence:
            told = f"A is event {earlier.sequence:,} and B is event {later.sequence:,}"
            raise failure(Exit.USAGE, told, "the earlier one first", "Swap them.")
        _show_difference(here, earlier, later)


async def _between(
    source: Source, app: str | None, before: str, after: str | None
) -> tuple[ApplicationId, tuple[Point, Point]]:
    """Whose log, from where to where. Of a source of one application both are points where the first one can be one."""
    if after is None and app is not None and source.holds_one and _is_point(app):
        return await find(source, None), (_point(app), _point(before))
    application = await find(source, app)
    return application, (_point(before), _point(after) if after is not None else End())


def _show_difference(here: Here, earlier: Traveller, later: Traveller) -> None:
    found = travel.difference(earlier, later)
    if here.form == "table":
        output.say(Text(f"from {earlier.here()}\n  to {later.here()}", style="dim"))
        output.say(_changes(found) if found else "Nothing has changed that a person would ask about.")
    else:
        ends = {"before": earlier.sequence, "after": later.sequence}
        output.data(here.form, {**ends, "changes": [plain(one) for one in found]})
    passed = travel.passed(earlier, later)
    if passed:
        told = f"not listed: {count(passed, 'generation')} that came and went in between"
        output.remark(f"{told}; `shufflectl replay APP -o json` has all")


def register(app: typer.Typer) -> None:
    """Adds the verbs."""
    verb(app)(replay)
    verb(app)(diff)


# ---- going there -----------------------------------------------------------------------------------------------------


def _point(text: str) -> Point:
    return _said(points.point, text, "`shufflectl events` shows all three.")


def _is_point(text: str) -> bool:
    with suppress(points.WrongPoint):
        points.point(text)
        return True
    return False


def _until(text: str) -> Point:
    return _said(points.until, text, "`shufflectl events` shows them; numbers and times are for --at.")


def _said(read: Callable[[str], Point], text: str, then: str) -> Point:
    try:
        return read(text)
    except points.WrongPoint as error:
        raise failure(Exit.USAGE, error.fact, error.expected, then) from error


async def _travelled(source: Source, application: ApplicationId, where: Point, keeps: int | None) -> Traveller:
    """A traveller that has gone to the point, and ``keeps`` so much of what is gone; reads no further."""
    traveller = await _gone(source, application, where, keeps)
    _check(traveller)
    return traveller


async def _gone(source: Source, application: ApplicationId, where: Point, keeps: int | None) -> Traveller:
    """The same; where the log ends before the point, at its end."""
    traveller = Traveller(where, gone=Ended(keeps))
    async for batch in foldable_batches(source, application):
        if not traveller.take_all(batch):
            break
    return traveller


def _check(traveller: Traveller) -> None:
    try:
        traveller.check_arrived()
    except points.NotReached as error:
        raise failure(Exit.NOT_FOUND, error.fact, error.expected, "`shufflectl events` lists them.") from error
    if told := traveller.overshot():
        output.remark(told)


# ---- step by step ----------------------------------------------------------------------------------------------------


async def _step(here: Here, app: str | None, where: Point, from_there: bool) -> None:
    """On a terminal from the point on, as its reader says; piped, all up to the point."""
    async with here.source() as source:
        application = await find(source, app)
        if here.form == "table" and sys.stdin.isatty() and sys.stdout.isatty():
            await _Walk(source, application).walk(where if from_there else points.AtEvent(1))
            return
        traveller = Traveller(where, gone=Ended(0))
        async for recorded in foldable(source, application):
            found = traveller.step(recorded)
            if found is None:
                break
            _show_step(here.form, traveller, recorded, found)
        _check(traveller)


def _show_step(form: str, traveller: Traveller, recorded: Recorded, found: tuple[Changed, ...]) -> None:
    if form != "table":
        output.piece(form, {**event_row(recorded), "changes": [plain(one) for one in found]})
        return
    follows = "" if recorded.because == recorded.sequence else f"  (follows from {recorded.because})"
    said = phrase(recorded.event, traveller.names)
    kind = type(recorded.event).__name__
    output.say(Text(f"{recorded.sequence:>7}  {clock(recorded.time_ms)}  {kind}  {said}").append(follows, style="dim"))
    for one in found:
        output.say(output.indented(Text(printable(f"{one.what}: {one.how}"), style="cyan"), 9))


@dataclass(slots=True)
class _Walk:
    """A walk through a log on a terminal: enter is the next event, a number goes there, q ends it.

    The log may be longer than memory: events are read as they are asked for, and who goes somewhere, on or back, has
    them read from the first one on.
    """

    source: Source
    application: ApplicationId
    traveller: Traveller = field(default_factory=Traveller)
    ahead: Any = None  #: The events behind the traveller's.

    async def walk(self, start: Point) -> None:
        """Until its reader has enough."""
        try:
            await self._go(await self._number_of(start))
            while await self._obey(self._asked()):
                pass
        finally:
            await self._stop_reading()

    async def _number_of(self, start: Point) -> int:
        """Of the last event before the point; 0: there is none."""
        if isinstance(start, points.AtEvent):
            return start.sequence
        return (await _gone(self.source, self.application, start, 0)).sequence

    def _asked(self) -> str:
        """What its reader says. Nothing else goes on meanwhile; Ctrl-C ends it here, not at what is awaited next."""
        loops = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return input(f"[event {self.traveller.sequence:,}] {_KEYS} > ").strip().lower()
        except EOFError:
            return "q"
        finally:
            signal.signal(signal.SIGINT, loops)

    async def _obey(self, said: str) -> bool:
        """Does what its reader says; False: no more."""
        if said in ("q", "quit", "exit"):
            return False
        if said == "s":
            output.say(self._state())
        elif is_number(said):
            await self._go(int(said))
        elif said:
            output.say(f"{said!r} is none of these; {_KEYS}")
        elif (recorded := await anext(self.ahead, None)) is not None:
            self._step(recorded)
        else:
            output.say("That was the last one.")
        return True

    def _state(self) -> Any:
        if self.traveller.last is None:
            return "Nothing has happened yet: enter takes the first event in."
        return Group(*_parts(moment(self.traveller)))

    async def _go(self, number: int) -> None:
        """Goes to the event of this number; where there is none it stays where it is, at the log's end if nowhere."""
        here = self.traveller.sequence if self.ahead is not None else None
        if not await self._reached(number):
            output.say(f"There is no event {number:,}.")
            await self._reached(self.traveller.sequence if here is None else here)

    async def _reached(self, number: int) -> bool:
        """Folds all before the event of this number, and steps to it."""
        await self._stop_reading()
        self.traveller = Traveller(gone=Ended(_GONE_SHOWN))
        self.ahead = foldable(self.source, self.application)
        while number and (recorded := await anext(self.ahead, None)) is not None:
            if recorded.sequence >= number:
                self._step(recorded)
                return True
            self.traveller.take(recorded)
        return not number

    async def _stop_reading(self) -> None:
        if self.ahead is not None:
            await self.ahead.aclose()

    def _step(self, recorded: Recorded) -> None:
        _show_step("table", self.traveller, recorded, self.traveller.step(recorded) or ())


# ---- showing ---------------------------------------------------------------------------------------------------------


def _show(console: Console, found: Moment) -> None:
    for part in _parts(found):
        console.print(part)


def _parts(found: Moment) -> list[Any]:
    name = f"{printable(found.name)}, " if found.name else ""
    head = Text(f"event {found.sequence:,}", style="bold").append(f"  {date(found.time_ms)}", style="not bold")
    groups = "".join(f"; job group {group}: {policy}" for group, policy in found.groups)
    lines = [
        Text(f"{name}application {found.application}, {found.state}; policy {found.policy}{groups}", style="dim"),
        Text(f"{size(found.held_bytes)} held; {size(found.freed_bytes)} freed early; {_counted(found)}"),
    ]
    parts: list[Any] = [head, *lines]
    for title, rows, columns in (
        ("SHUFFLES", [dict(plain(one)) for one in found.generations], _THERE),
        (_gone_title(found), [dict(plain(one)) for one in found.gone], _GONE),
        ("JOBS", [dict(plain(one)) for one in found.jobs], _JOBS),
        ("STAGES", [dict(plain(one)) for one in found.stages], _STAGES),
        ("DIRECTIVES OUTSTANDING", [dict(plain(one)) for one in found.directives], _ASKED),
    ):
        if rows:
            parts += [Text(f"\n{title}", style="bold"), Padding(output.table(rows, columns), (0, 0, 0, 2))]
    if found.executions:
        parts += [Text("\nSQL EXECUTIONS", style="bold"), Text("  " + few(map(place, found.executions)))]
    if found.recoveries:
        parts += [Text(f"\nRecoveries that are open: {few(found.recoveries)}")]
    return parts


def _gone_title(found: Moment) -> str:
    many = sum(one.generations for one in found.counts if one.life in (Life.DELETED, Life.LOST))
    return "GONE" if many <= _GONE_SHOWN else f"GONE, the last {_GONE_SHOWN} of {many:,}"


def _counted(found: Moment) -> str:
    told = [f"{one.generations:,} {one.became} ({size(one.bytes)})" for one in found.counts]
    return ", ".join(told) or "no shuffle yet"


def _changes(found: tuple[Changed, ...]) -> Any:
    columns = (Column("WHAT", lambda r: r["what"]), Column("CHANGE", lambda r: r["how"]))
    return output.table([dict(plain(one)) for one in found], columns)


def _users(row: Row) -> str:
    told = [*(f"writes {w}" for w in row["writers"]), *(f"reads {r}" for r in row["readers"])]
    return few([*told, *(f"reads again {r}" for r in row["retrying"])], 3)


def _asked_again(row: Row) -> str:
    return f"{count(row['failures'], 'failure')}, asked again at {clock(row['due_ms'])}" if row["failures"] else ""


_THERE = (
    Column("SHUFFLE", lambda r: r["app_shuffle"], right=True),
    Column("ID", lambda r: f"#{r['shuffle_id']}", right=True),
    Column("STATE", lambda r: r["life"]),
    Column("SIZE", lambda r: size(r["bytes"]) if r["bytes"] else "", right=True),
    Column("IN USE", _users),
    Column("HELD BECAUSE", lambda r: r["held_by"][0]),
    Column("CALL SITE", lambda r: place(r["call_site"])),
)
_GONE = (
    Column("SHUFFLE", lambda r: r["app_shuffle"], right=True),
    Column("ID", lambda r: f"#{r['shuffle_id']}", right=True),
    Column("STATE", lambda r: became(r["life"], r["cause"])),
    Column("SIZE", lambda r: size(r["bytes"]) if r["bytes"] else "", right=True),
    Column("CAUSE", lambda r: r["cause"], titles=True),
    Column("EVENT", lambda r: r["sequence"], right=True),
    Column("AT", lambda r: clock(r["time_ms"])),
    Column("CALL SITE", lambda r: place(r["call_site"]), titles=True),
)
_USES = (
    Column("READS", lambda r: few(r["reads"], 6)),
    Column("WRITES", lambda r: r["writes"]),
)
_JOBS = (Column("JOB", lambda r: r["name"]), *_USES, Column("GROUP", lambda r: r["detail"]))
_STAGES = (Column("STAGE", lambda r: r["name"]), *_USES, Column("GENERATIONS", lambda r: r["detail"]))
_ASKED = (
    Column("ID", lambda r: r["directive"], right=True),
    Column("WHAT", lambda r: f"{r['kind']} #{r['shuffle_id']} of app shuffle {r['app_shuffle']}"),
    Column("SINCE", lambda r: clock(r["requested_ms"])),
    Column("FAILED", _asked_again),
)
