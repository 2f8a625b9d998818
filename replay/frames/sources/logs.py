"""Log files, as `shufflectl export` and archives write them.

Responsible for finding the segments of a file without reading them, for whose log it is, and for reading a part of it.
Refuses to know folders. Invariant: a file of any size is planned by reading a few bytes a segment, and read in parts
that fit into memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from coordinator.core.events import ApplicationRegistered, Recorded
from coordinator.wire.errors import WireError
from coordinator.wire.framing import check_magic
from coordinator.wire.logfile import MAGIC
from replay.frames.pieces import LogPiece
from replay.frames.salvage import Found, Gaps, Problem, records_of

_LENGTH = struct.Struct(">I")
#: Of a segment, enough to see with which event it begins: the field's tag, and a number of at most ten bytes.
_BEGINNING = 11
_FIRST_SEQUENCE = 0x08


@dataclass(frozen=True, slots=True)
class Frame:
    """A segment in the file: where it begins with its length, where it ends, which event it begins with."""

    begin: int
    end: int
    opens_with: int | None


@dataclass(frozen=True, slots=True)
class LogFile:
    """What planning knows of a file."""

    path: str
    application: str
    frames: tuple[Frame, ...]
    first: int
    last: int
    problems: tuple[Problem, ...] = ()


def survey(path: Path, application: str = "") -> LogFile | Problem:
    """The segments of a file, and whose log it is: as ``application`` says, else as the file itself does."""
    try:
        with path.open("rb") as file:
            check_magic(MAGIC, file.read(len(MAGIC)), path.name)
            frames, problems = _frames(file, path)
            return _surveyed(file, path, application, frames, problems)
    except WireError as error:
        return Problem(str(error))
    except OSError as error:
        return Problem(f"{path} cannot be read ({error.strerror})")


def _surveyed(file: BinaryIO, path: Path, application: str, frames: list[Frame], problems: list[Problem]) -> LogFile:
    opening = _content(file, path, frames[0]) if frames else []
    if not application:
        application = next((one.event.application for one in opening if isinstance(one, Recorded)
                            and isinstance(one.event, ApplicationRegistered)), "")  # fmt: skip
    if not application:
        application = path.stem
        problems.append(Problem(f"{path.name} does not say whose log it is: it does not begin with a registration "
                                "that can be read; the file's name stands for the application"))  # fmt: skip
    known = [frame.opens_with for frame in frames if frame.opens_with is not None]
    closing = _content(file, path, frames[-1]) if frames else []
    last = max([one.sequence for one in closing if one.sequence is not None] + known[-1:], default=0)
    return LogFile(str(path), application, tuple(frames), min(known[:1], default=1), last, tuple(problems))


def _frames(file: BinaryIO, path: Path) -> tuple[list[Frame], list[Problem]]:
    size = path.stat().st_size
    frames: list[Frame] = []
    offset = len(MAGIC)
    while offset < size:
        file.seek(offset)
        head = file.read(_LENGTH.size + _BEGINNING)
        left = size - offset - _LENGTH.size
        length = _LENGTH.unpack_from(head)[0] if left >= 0 else 0
        if not length or length > left:
            return frames, [_torn(path, offset, size)]
        end = offset + _LENGTH.size + length
        frames.append(Frame(offset, end, _opens_with(head[_LENGTH.size :])))
        offset = end
    return frames, []


def _torn(path: Path, offset: int, size: int) -> Problem:
    return Problem(
        f"{path.name}, offset {offset}: {size - offset} bytes that are no whole record; expected one. What stands "
        "before it is read; the file was cut here, or copied before it was finished, or is damaged."
    )


def _opens_with(content: bytes) -> int | None:
    """The segment's first sequence number, without reading the segment."""
    if not content or content[0] != _FIRST_SEQUENCE:
        return None
    number = 0
    for place, byte in enumerate(content[1:]):
        number |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return number
    return None


def pieces(log: LogFile, first: int, last: int | None, size: int) -> Iterator[LogPiece]:
    """The part of the file that holds these events, in parts of about ``size`` events."""
    held: list[Frame] = []
    # no frames where the first record is torn, so not strict
    for frame, following in zip(log.frames, (*log.frames[1:], None), strict=False):
        goes_on_with = following.opens_with if following is not None else log.last + 1
        before = goes_on_with is not None and goes_on_with <= first
        behind = last is not None and frame.opens_with is not None and frame.opens_with > last
        if not before and not behind:
            held.append(frame)
        if held and (following is None or _is_full(held, goes_on_with, size)):
            yield _piece(log, held, first, last, goes_on_with)
            held = []
    if held:
        yield _piece(log, held, first, last, None)


def _is_full(held: list[Frame], goes_on_with: int | None, size: int) -> bool:
    begun = next((frame.opens_with for frame in held if frame.opens_with is not None), None)
    return begun is not None and goes_on_with is not None and goes_on_with - begun >= size


def _piece(log: LogFile, held: list[Frame], first: int, last: int | None, goes_on_with: int | None) -> LogPiece:
    return LogPiece(
        log.application, log.path, held[0].begin, held[-1].end, first, last, held[0].opens_with, goes_on_with
    )


def read(piece: LogPiece) -> Iterator[Found]:
    """What is in the piece."""
    path = Path(piece.path)
    begin = piece.first if piece.opens_with is None else max(piece.first, piece.opens_with)
    gaps = Gaps(begin, piece.last)
    with path.open("rb") as file:
        offset = piece.begin
        while offset < piece.end:
            frame, offset = _next(file, offset)
            yield from gaps.told(_content(file, path, frame))
    if piece.goes_on_with is not None:
        end = piece.goes_on_with - 1
        yield from gaps.end(end if piece.last is None else min(end, piece.last))


def _next(file: BinaryIO, offset: int) -> tuple[Frame, int]:
    file.seek(offset)
    head = file.read(_LENGTH.size + _BEGINNING)
    end = offset + _LENGTH.size + int(_LENGTH.unpack_from(head)[0])
    return Frame(offset, end, _opens_with(head[_LENGTH.size :])), end


def _content(file: BinaryIO, path: Path, frame: Frame) -> list[Found]:
    begin = frame.begin + _LENGTH.size
    file.seek(begin)
    sealed = file.read(frame.end - begin)
    found = records_of(sealed, f"{path.name}, offset {frame.begin}")
    return [Problem(one.text, frame.opens_with, one.harmless) if one.sequence is None else one for one in found]
