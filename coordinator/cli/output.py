"""Results on stdout: as a table for people, as JSON or YAML for programs.

Responsible for the three forms of one result. Refuses to know what it is about. Invariant: JSON and YAML hold the same
fields under the same names, numbers plain; only tables round, shorten and leave out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from typing import Any

import yaml
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text

from coordinator.cli.fitting import Fitted, Lane
from replay.units import printable

Row = Mapping[str, Any]
#: Wide enough for anything, where no terminal says how wide it is.
_PIPE_WIDTH = 4_000

_STYLES = {
    "readable": "green",
    "writing": "cyan",
    "partial": "yellow",
    "expired": "yellow",
    "fencing": "yellow",
    "fenced": "magenta",
    "deleted": "dim",
    "lost": "red",
    "running": "green",
    "serving": "green",
    "gone": "red",
    "ok": "green",
    "warn": "yellow",
    "fail": "bold red",
    "DIFFERENT": "red",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: what it shows of a row. ``spare``, ``titles``: where it is narrow (`fitting`)."""

    heading: str
    show: Callable[[Row], object]
    right: bool = False
    spare: bool = False
    titles: bool = False


class _Terminal(Console):
    """Obeys nothing that a name may hold; only its lines are its own."""

    @property
    def encoding(self) -> str:
        """Of where it goes in the end: without UTF-8 trees are drawn in ASCII."""
        return _encoding()

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text, but="\n"), style, control)


@contextmanager
def printing() -> Iterator[Console]:
    """Where tables go. Piped, a line is as long as it is, without spaces at its end."""
    if sys.stdout.isatty():
        yield _Terminal(markup=False, highlight=False)
        return
    written = StringIO()
    yield _Terminal(file=written, width=_PIPE_WIDTH, markup=False, highlight=False, color_system=None, soft_wrap=True)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in written.getvalue().splitlines())
    sys.stdout.flush()


def say(told: RenderableType) -> None:
    """Prints one thing for people."""
    with printing() as console:
        console.print(told)


def remark(told: object) -> None:
    """One line on stderr."""
    print(f"shufflectl: {printable(str(told))}", file=sys.stderr)


def rows(form: str, found: Sequence[Row], columns: Sequence[Column], nothing: str) -> None:
    """Many of a kind. ``nothing`` is what a person reads where there are none."""
    if form == "table":
        say(table(found, columns) if found else nothing)
    else:
        data(form, [dict(row) for row in found])


def one(form: str, found: Row, heading: str) -> None:
    """One thing: a row a field for people, one object for programs. ``heading``: of the values."""
    if form == "table":
        rows = [{"name": name, "value": value} for name, value in found.items()]
        columns = (Column("NAME", lambda r: r["name"]), Column(heading, lambda r: r["value"]))
        say(table(rows, columns))
    else:
        data(form, dict(found))


def data(form: str, value: object) -> None:
    """Any plain value, for programs."""
    if form == "yaml":
        sys.stdout.write(_yaml(value))
    else:
        sys.stdout.write(_json(value, indent=2))


def piece(form: str, value: object) -> None:
    """One of many that come one by one: a line of JSON, a document of YAML."""
    if form == "yaml":
        sys.stdout.write(_yaml(value, explicit_start=True))
    else:
        sys.stdout.write(_json(value))
    sys.stdout.flush()


def _json(value: object, indent: int | None = None) -> str:
    """What a terminal would obey, and half a character, as a name that is not UTF-8 has them, are escaped."""
    text = json.dumps(value, indent=indent, ensure_ascii=not _has_every_sign())
    return (text if _is_shown(text) else json.dumps(value, indent=indent)) + "\n"


def _yaml(value: object, explicit_start: bool = False) -> str:
    def dumped(allow_unicode: bool) -> str:
        told: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=allow_unicode, explicit_start=explicit_start)
        return told

    text = dumped(_has_every_sign())
    return text if _is_shown(text) else dumped(allow_unicode=False)


def _is_shown(text: str) -> bool:
    return text.replace("\n", "").isprintable()


def _has_every_sign() -> bool:
    return _encoding().startswith("utf")


def _encoding() -> str:
    return (sys.stdout.encoding or "utf-8").lower()


def table(found: Sequence[Row], columns: Sequence[Column]) -> RenderableType:
    """A calm one, that fits where it is shown."""
    return Fitted(
        tuple(
            Lane(
                column.heading,
                tuple(styled(column.show(row)) for row in found),
                column.right,
                column.spare,
                column.titles,
            )
            for column in columns
        )
    )


def indented(told: Text, by: int = 2) -> RenderableType:
    """A paragraph that stands in, its further lines too."""
    return Padding(told, (0, 0, 0, by))


def styled(value: object) -> Text:
    """A cell; states have their colours."""
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return Text(_as_written(printable(text)), style=_STYLES.get(text, ""))


def _as_written(text: str) -> str:
    """As wide as it will be: a sign that the encoding does not have is shown by its number."""
    return text if _has_every_sign() else text.encode(_encoding(), "backslashreplace").decode(_encoding())
