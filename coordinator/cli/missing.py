"""The verb `premature`: what was deleted too early, what it cost, and what would have kept it.

Responsible for showing it. Refuses to judge (`replay.premature`). Invariant: every premature deletion of the log is
shown, with the numbers of the events that tell of it.
"""

from __future__ import annotations

from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from coordinator.cli import output
from coordinator.cli.finding import find
from coordinator.cli.here import Here
from coordinator.cli.looking import Named
from coordinator.cli.sources.api import foldable, up_to
from coordinator.cli.verb import verb
from replay.plain import plain
from replay.premature import MOST_TRIED, Inquiry, Premature, worth
from replay.units import clock, count, place, size


def premature(here: Here, app: Named = None) -> Any:
    """Lists what was deleted too early: the chain of causes, the cost, and the smallest change that keeps it."""
    return _premature(here, app)


async def _premature(here: Here, app: str | None) -> None:
    async with here.source() as source:
        application = await find(source, app)
        inquiry, last = Inquiry(), 0
        for hear in inquiry.passes():
            async for recorded in foldable(source, application):
                hear(recorded)
                last = recorded.sequence
        found = inquiry.found
        if here.form != "table":
            output.data(here.form, [plain(one) for one in found])
            return
        with output.printing() as console:
            console.print(_summary(found, up_to(source, last)))
            for one in found:
                _show(console, one)


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    verb(app)(premature)


def _summary(found: tuple[Premature, ...], so_far: str) -> Text:
    if not found:
        return Text(f"Nothing was deleted too early{so_far}.")
    written = sum(one.recomputed_bytes for one in found)
    seconds = sum(one.recomputed_task_seconds or 0.0 for one in found)
    cost = f"{size(written)} written again, {seconds:,.1f} task-seconds"
    return Text(f"{count(len(found), 'premature deletion')}{so_far}: {cost}", style="bold")


def _show(console: Console, one: Premature) -> None:
    title = Text(f"\nshuffle #{one.shuffle_id} of app shuffle {one.app_shuffle}", style="bold")
    console.print(title.append(f"  {place(one.call_site)}", style="not bold"))
    seconds = "" if one.recomputed_task_seconds is None else f", {one.recomputed_task_seconds:,.1f} task-seconds"
    again = f"{size(one.recomputed_bytes)} written again{seconds}" if one.recomputed_bytes else "not written again yet"
    console.print(output.indented(Text(f"Let go by policy {one.policy}, missed by {one.missed_by}: {again}.")))
    console.print(_chain(one))
    _show_advice(console, one)


def _chain(one: Premature) -> Table:
    """The events that led to it."""
    chain = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    chain.add_column(justify="right", style="dim", min_width=8)
    chain.add_column(style="dim")
    chain.add_column(overflow="fold")
    for cause in one.chain:
        chain.add_row(str(cause.sequence), clock(cause.time_ms), cause.text)
    return chain


def _show_advice(console: Console, one: Premature) -> None:
    """What would have kept it; and where nothing is said, why."""
    for number, advice in enumerate(one.advice):
        lead, style = ("Or", "") if number else ("The smallest change that keeps it", "green")
        told = f"{lead}: {advice.change}; the run then {worth(advice)}."
        console.print(output.indented(Text(told, style=style)))
    if not one.advice:
        console.print(output.indented(Text("No change that was tried keeps it.")))
    if not one.is_tried:
        told = f"What was tried is for the {MOST_TRIED} that took longest to write again; this is none of them."
        console.print(output.indented(Text(told)))
