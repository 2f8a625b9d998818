"""Reads one log, as a stream.

Responsible for going through the files of a log line by line, and for what is said of lines that cannot be read.
Refuses to know what follows from a line (`book`) and how files are unpacked (`framing`). Invariant: memory grows with
the stages and shuffles of a run, not with its tasks or bytes; whatever is wrong with a file costs a warning and the
rest of that file.

Most bytes are ends of tasks. Of every line only the few fields of `records` are decoded, the rest is skipped by the
decoder in C; lines of other events are not decoded at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import IO, TypeAlias

import msgspec

from coordinator.wire.logfile import OURS
from replay.history.book import Book
from replay.history.finding import Log, Part, local_path, shown, unread
from replay.history.framing import Damaged, pieces
from replay.history.lines import LONGEST_LINE_BYTES, TOO_LONG, Lines
from replay.history.records import DECODERS
from replay.history.run import Run

#: How a file is opened. The Python workers open local paths; what Spark has read for them they have as bytes.
Open: TypeAlias = Callable[[Part], AbstractContextManager[IO[bytes]]]

#: As Spark writes it, and as tools do that write its events again.
_BEGINS = (b'{"Event":"', b'{"Event": "')
_KEY = b'"Event":'
_KEY_BYTES = len(b"{" + _KEY)
#: What editors put before the first line.
_SIGNED = b"\xef\xbb\xbf"
#: A log's first line is an event: this much of a file tells whether it is one.
_ENOUGH_BYTES = 64 << 10


class _Named(msgspec.Struct):
    event: str = msgspec.field(name="Event", default="")


_NAMED = msgspec.json.Decoder(_Named)


class NotALog(Exception):  # noqa: N818 - it says what is so
    """A file without a single event of Spark's."""


def open_local(part: Part) -> AbstractContextManager[IO[bytes]]:
    return local_path(part.path).open("rb", buffering=0)


def read(log: Log, open_part: Open = open_local) -> Run:
    """The run that a log tells. Raises `NotALog`; an unreadable single file is one."""
    reader = _Reader(Book(log.name), len(log.parts) > 1)
    for warning in (*log.warnings, *log.lacks):
        reader.book.warn(warning)
    for part in log.parts:
        reader.take(part, open_part)
    if not reader.events:
        raise NotALog(reader.why_not())
    run = reader.book.run(log.place, tuple(shown(part.path) for part in log.parts), reader.raw_bytes)
    return replace(run, events=reader.events)


@dataclass(slots=True)
class _Reader:
    book: Book
    of_several: bool
    raw_bytes: int = 0
    events: int = 0

    def take(self, part: Part, open_part: Open) -> None:
        """One more file."""
        name = shown(part.path).rpartition("/")[2]
        try:
            with open_part(part) as stream:
                self._lines(name, Lines(_of_a_log(pieces(stream))))
        except Damaged as error:
            self._warn(name, str(error))
        except OSError as error:
            self._warn(name, unread(error))

    def _lines(self, name: str, lines: Lines) -> None:
        broken, number = _Broken(), 0
        try:
            for number, line in enumerate(lines, 1):
                why = self._line(line if number > 1 else line.removeprefix(_SIGNED))
                if why:
                    broken.add(number, why)
        finally:
            self.raw_bytes += lines.raw_bytes
            why = broken.told(None if lines.whole else number) if self.events else broken.told_of_all()
            if why:
                self._warn(name, why)

    def _warn(self, name: str, why: str) -> None:
        """Warns of something; where the log is several files, with the name of the file."""
        self.book.warn(f"{name}: {why}" if self.of_several else why)

    def _line(self, line: bytes) -> str:
        """What is wrong with a line; empty: nothing."""
        if line.startswith(TOO_LONG):
            return f"it has more than {LONGEST_LINE_BYTES:,} bytes"
        name = _event_of(line)
        if not name:
            return "it is no event" if line.strip() else ""
        decoder = DECODERS.get(name)
        if decoder is None:
            is_whole = line.endswith((b"}", b"}\r"))
            self.events += is_whole and b"SparkListener" in name
            return "" if is_whole else "it is cut"
        try:
            self.book.take(name, decoder.decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            return str(error)
        self.events += 1
        return ""

    def why_not(self) -> str:
        """Why no event could be read."""
        told = self.book.warnings
        what = "its events are not Spark's" if self.raw_bytes else "it is empty"
        return told[0] if told else f"{what}; expected Spark's events, one a line"


def _event_of(line: bytes) -> bytes:
    """What the event of a line is called; empty: it is none. Tools that sort keys put others before it."""
    if line.startswith(_BEGINS):
        begin = line.find(b'"', _KEY_BYTES) + 1
        return line[begin : line.find(b'"', begin)]
    if not line.startswith(b"{") or _KEY not in line:
        return b""
    try:
        return _NAMED.decode(line).event.encode()
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return b""


def _of_a_log(found: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces of a log, as they are. Raises `Damaged` for a file whose first bytes hold no event of Spark's."""
    head, damage = b"", None
    try:
        for piece in found:
            head += piece
            if len(head) >= _ENOUGH_BYTES:
                break
    except (Damaged, OSError) as error:
        damage = error
    if _KEY not in head:
        raise damage or Damaged(_no_log(head))
    yield head
    if damage is not None:
        raise damage
    yield from found


def _no_log(head: bytes) -> str:
    """What it is that begins so."""
    if head.startswith(OURS):
        return "`shufflectl export` wrote it; expected Spark's own history logs: `shufflectl simulate` reads both"
    return f"its first {len(head):,} bytes hold no event of Spark's; it is no history log" if head else "it is empty"


@dataclass(slots=True)
class _Broken:
    """The lines of a file that could not be read: counted, the first one told."""

    count: int = 0
    number: int = 0
    why: str = ""

    def add(self, number: int, why: str) -> None:
        if not self.count:
            self.number, self.why = number, why
        self.count += 1

    def told(self, unended: int | None) -> str:
        """A sentence about these lines; empty: there are none. ``unended``: the number of a last line without end."""
        if not self.count:
            return ""
        if self.count == 1 and self.number == unended:
            return "its last line is cut; everything before it counts"
        others = f" and {self.count - 1:,} more" if self.count > 1 else ""
        return f"line {self.number}{others} could not be read ({_short(self.why)}); the rest counts"

    def told_of_all(self) -> str:
        """A sentence about these lines, where none of the file could be read; empty: there are none."""
        if not self.count:
            return ""
        what = "its only line cannot" if self.count == 1 else f"none of its {self.count:,} lines can"
        return f"{what} be read ({_short(self.why)}); expected Spark's events, one a line"


def _short(text: str, most: int = 120) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def read_all(logs: Iterable[Log], open_part: Open = open_local) -> Iterable[Run]:
    """Reads logs one after another; what is no log is left out."""
    for log in logs:
        try:
            yield read(log, open_part)
        except NotALog:
            continue
