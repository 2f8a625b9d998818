"""Which logs tell parts of one run.

Responsible for the head and the tails of a run that lie in files of their own, and for copies of such parts. Refuses to
open a file: it goes by what each log told when it was read by itself. Invariant: logs are joined only where one of them
holds the start of the run, Spark's id and attempt agree, and what they tell does not overlap.

A tail does not say whose it is: the id is in the name of its file, as Spark names event logs (up to the first dot,
which begins an ending), or in the properties of its SQL jobs. Events of one moment are not written in the order of
their times, so a tail may begin a little before its head ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from replay.history.finding import Log, shown
from replay.history.run import Run
from replay.units import few

_JITTER_MS = 1_000


@dataclass(frozen=True, slots=True)
class Piece:
    """What one log tells of a run. ``whose``: id and attempt, as Spark names its file."""

    log: Log
    whose: str
    begun: bool
    ended: bool
    first_ms: int
    last_ms: int


@dataclass(frozen=True, slots=True)
class Copy:
    """A log that tells nothing which another one, or others together, do not tell too."""

    piece: Piece
    why: str


def piece_of(log: Log, run: Run) -> Piece:
    """What this log, read by itself, told."""
    return Piece(log, _whose(log, run), run.begun, run.ended, run.started_ms, run.ended_ms)


def _whose(log: Log, run: Run) -> str:
    told = run.application_id
    if run.begun:
        return f"{told}_{run.attempt}" if run.attempt else told
    named = log.name.partition(".")[0]
    names_attempt = named.removeprefix(f"{told}_").isdecimal()
    return named if told == log.name or names_attempt else told


def joined(pieces: Iterable[Piece]) -> tuple[list[tuple[Piece, ...]], list[Copy]]:
    """The runs that lie in several logs, each in the order of time, and the logs that are copies of a part of a run."""
    runs: dict[str, list[list[Piece]]] = {}
    copies: list[Copy] = []
    for piece in sorted(pieces, key=lambda one: (one.first_ms, not one.begun, one.last_ms, one.log.place)):
        known = runs.setdefault(piece.whose, [])
        if piece.begun:
            known.append([piece])
            continue
        whole = next((run for run in reversed(known) if _covers(run[-1], piece)), None)
        before = next((run for run in reversed(known) if _may_follow(run[-1], piece)), None)
        if whole is not None:
            told = f"it tells a part of the run that is in {whole[0].log.place} too, and nothing else"
            copies.append(Copy(piece, told))
        elif before is not None:
            before.append(piece)
    return [tuple(run) for found in runs.values() for run in found if len(run) > 1], copies


def _may_follow(last: Piece, piece: Piece) -> bool:
    return not last.ended and piece.first_ms >= last.last_ms - _JITTER_MS


def _covers(last: Piece, piece: Piece) -> bool:
    """Of a run that ends with ``last``; it began before the piece."""
    return piece.last_ms <= last.last_ms and not _may_follow(last, piece)


def as_one(run: tuple[Piece, ...]) -> Log:
    """The log that these are together."""
    logs = [piece.log for piece in run]
    places = few([shown(log.place) for log in logs], 5)
    told = f"it lies in {len(logs)} files, each with a part of it, which were read as one: {places}"
    parts = tuple(part for log in logs for part in log.parts)
    return replace(logs[0], parts=parts, warnings=(told, *(w for log in logs for w in log.warnings)), joined=True)
