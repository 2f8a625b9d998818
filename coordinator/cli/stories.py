"""A story on the screen, and as data.

Responsible for how `replay.story.Story` looks. Refuses to tell anything that is not in it. Invariant: every line shows
the number of its event.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from coordinator.cli.output import indented, styled
from replay.plain import plain as plain_value
from replay.story import Chapter, Line, Story
from replay.units import clock, moment, place, printable


def show(console: Console, story: Story) -> None:
    """Prints the story."""
    title = Text(f"app shuffle {story.app_shuffle}", style="bold")
    if story.call_site:
        title.append(f"  {place(story.call_site)}", style="not bold")
    console.print(title)
    console.print(Text(_when(story), style="dim"))
    if story.lines:
        console.print()
        console.print(_lines(story.lines))
    for chapter in story.chapters:
        _show_chapter(console, chapter)
    if not story.chapters:
        console.print("\nNobody has written it yet.")


def _when(story: Story) -> str:
    first = min(
        (line.time_ms for line in (*story.lines, *(line for c in story.chapters for line in c.lines))), default=0
    )
    name = f"{printable(story.name)}, " if story.name else ""
    return f"{name}application {story.application}; from {moment(first)}, as of event {story.last_sequence:,}"


def _show_chapter(console: Console, chapter: Chapter) -> None:
    console.print()
    console.print(Text(f"shuffle id #{chapter.shuffle_id}  ", style="bold").append(styled(chapter.became)))
    console.print(indented(Text(chapter.verdict)))
    for reason in chapter.held_by:
        console.print(indented(Text(f"Held: {reason}.")))
    console.print(_lines(chapter.lines))


def _lines(lines: tuple[Line, ...]) -> Table:
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(justify="right", style="dim", min_width=8)
    made.add_column(style="dim")
    made.add_column(overflow="fold")
    for line in lines:
        times = f" ({line.times:,} times)" if line.times > 1 else ""
        made.add_row(str(line.sequence), clock(line.time_ms), Text(f"{line.text}{times}"))
    return made


def plain(story: Story) -> Any:
    """The story for programs."""
    return plain_value(story)
