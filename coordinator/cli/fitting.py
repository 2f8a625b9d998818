"""A table that fits where it is shown.

Responsible for what a table leaves out, and where it breaks lines, where a terminal is narrow. Refuses to know what the
table is about. Invariant: where there is room for everything, nothing is left out and nothing broken; where it can be
helped at all, no figure and no word of a heading is broken.

What is tried, in this order: all columns, the spare ones left out one after the other; then the same with names on
lines of their own; then the same with long words of texts broken. Columns move together before one is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_GAPS = (2, 1)
#: A longer word of a text is broken where nothing else helps; headings and figures are not.
_LONG_WORD = 12
_INDENT = 2


@dataclass(frozen=True, slots=True)
class Lane:
    """One column with all its cells. ``spare``: may be left out; ``titles``: may stand on lines of its own."""

    heading: str
    cells: tuple[Text, ...]
    right: bool = False
    spare: bool = False
    titles: bool = False

    @property
    def cells_width(self) -> int:
        """Of the longest cell."""
        return max((cell_len(cell.plain) for cell in self.cells), default=0)

    @property
    def width(self) -> int:
        """What it takes without breaking a line."""
        return max(cell_len(self.heading), self.cells_width)

    def least(self, longest: int | None) -> int:
        """What it takes without breaking a figure, or a word; of texts, none up to this length."""
        heading = max(map(cell_len, self.heading.split()), default=0)
        if self.right:
            return max(heading, self.cells_width)
        words = max((cell_len(word) for cell in self.cells for word in cell.plain.split()), default=0)
        return max(heading, words if longest is None else min(words, longest))


@dataclass(frozen=True, slots=True)
class Fitted:
    """Looks for its arrangement when it is shown. Calm: no lines, headings dim."""

    lanes: tuple[Lane, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        yield from self._arranged(options.max_width)

    def _arranged(self, width: int) -> Iterator[RenderableType]:
        if _taken([lane.width for lane in self.lanes], _GAPS[0]) <= width:
            yield _table(self.lanes, None, _GAPS[0])
            return
        for longest, is_titled, kept, gap in product((None, _LONG_WORD), (False, True), self._fewer_and_fewer(), _GAPS):
            titles, lanes = _split(kept) if is_titled else ((), kept)
            room = width - (_INDENT if titles else 0)
            least = [lane.least(longest) for lane in lanes]
            if (titles or not is_titled) and _taken(least, gap) <= room:
                widths = _shared(lanes, least, room - _taken(least, gap))
                yield from _titled(titles, lanes, widths, gap) if titles else (_table(lanes, widths, gap),)
                return
        yield _table(self._fewer_and_fewer()[-1], None, _GAPS[-1])

    def _fewer_and_fewer(self) -> list[tuple[Lane, ...]]:
        """All, and then without the first spare ones."""
        spare = [lane for lane in self.lanes if lane.spare]
        return [
            tuple(lane for lane in self.lanes if not any(lane is one for one in spare[:out]))
            for out in range(len(spare) + 1)
        ]


def _split(lanes: tuple[Lane, ...]) -> tuple[tuple[Lane, ...], tuple[Lane, ...]]:
    return tuple(lane for lane in lanes if lane.titles), tuple(lane for lane in lanes if not lane.titles)


def _taken(widths: Sequence[int], gap: int) -> int:
    """As Rich counts: a gap behind the last one too."""
    return sum(widths) + gap * len(widths)


def _shared(lanes: Sequence[Lane], least: Sequence[int], room: int) -> list[int]:
    """What is left goes to cells first, then to headings; always to the narrowest that is short of some."""
    widths = list(least)
    for wanted in ([lane.cells_width for lane in lanes], [lane.width for lane in lanes]):
        while room and (short := [at for at, want in enumerate(wanted) if widths[at] < want]):
            widths[min(short, key=widths.__getitem__)] += 1
            room -= 1
    return widths


def _titled(titles: Sequence[Lane], lanes: Sequence[Lane], widths: Sequence[int], gap: int) -> Iterator[RenderableType]:
    """Names on lines of their own, and below each its figures."""
    indent = (0, 0, 0, _INDENT)
    yield Text("  ".join(lane.heading for lane in titles), style="dim")
    yield Padding(_table([Lane(lane.heading, (), lane.right) for lane in lanes], widths, gap), indent)
    for at in range(len(titles[0].cells)):
        yield Text("  ").join(lane.cells[at] for lane in titles)
        row = [Lane(lane.heading, (lane.cells[at],), lane.right) for lane in lanes]
        yield Padding(_table(row, widths, gap, headings=False), indent)


def _table(lanes: Sequence[Lane], widths: Sequence[int] | None, gap: int, headings: bool = True) -> Table:
    made = Table(box=None, pad_edge=False, header_style="dim", padding=(0, gap, 0, 0), show_header=headings)
    for at, lane in enumerate(lanes):
        width = None if widths is None else widths[at]
        made.add_column(lane.heading, justify="right" if lane.right else "left", overflow="fold", width=width)
    for row in zip(*(lane.cells for lane in lanes), strict=True):
        made.add_row(*row)
    return made
