"""Which logs tell parts of one run, and which tell it again.

Responsible for the head and the tails of a run that lie in files of their own, and for copies, of such parts and of
whole runs. Refuses to open a file: it goes by what each log told when it was read by itself. Invariant: logs are joined
only where one of them holds the start of the run, Spark's id and attempt agree, and what they tell does not overlap; of
what is there twice the fuller counts, once, and the other is named.

A tail does not say whose it is: the id is in the name of its file, as Spark names event logs (up to the first dot,
which begins an ending), or in the properties of its SQL jobs. Events of one moment are not written in the order of
their times, so a tail may begin a little before its head ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from replay.history.clock import JITTER_MS
from replay.history.finding import Log, is_url, shown
from replay.history.run import Run
from replay.units import few


@dataclass(frozen=True, slots=True)
class Piece:
    """What one log tells of a run. ``whose``: id and attempt, as Spark names its file."""

    log: Log
    whose: str
    begun: bool
    ended: bool
    first_ms: int
    last_ms: int
    events: int = 0  #: That could be read.


@dataclass(frozen=True, slots=True)
class Copy:
    """A log that tells nothing which another one, or others together, do not tell too."""

    piece: Piece
    why: str


@dataclass(frozen=True, slots=True)
class Joined:
    """What is to be done about some pieces. ``runs``: those in several logs, each in the order of time."""

    runs: tuple[tuple[Piece, ...], ...]
    copies: tuple[Copy, ...]


class Told(Protocol):
    """What became of one log. ``piece``: what it tells of its run; None where it could not be read."""

    @property
    def piece(self) -> Piece | None: ...


T = TypeVar("T", bound=Told)


def piece_of(log: Log, run: Run) -> Piece:
    """What this log, read by itself, told."""
    return Piece(log, _whose(log, run), run.begun, run.ended, run.started_ms, run.ended_ms, run.events)


def _whose(log: Log, run: Run) -> str:
    told = run.application_id
    if run.begun:
        return f"{told}_{run.attempt}" if run.attempt else told
    named = log.name.partition(".")[0]
    names_attempt = named.removeprefix(f"{told}_").isdecimal()
    return named if told == log.name or names_attempt else told


def whole(found: Iterable[T], again: Callable[[list[Log]], Iterable[T]], left_out: Callable[[Copy], T]) -> list[T]:
    """What became of these logs, where those that tell parts of one run are read ``again``, as one; what became of a
    copy is made by ``left_out``. Parts that cannot be read as one stay as they were; a log named twice is one."""
    told = list(_each_log(found))
    plan = joined(one.piece for one in told if one.piece is not None)
    if not plan.runs and not plan.copies:
        return told
    together = [as_one(run) for run in plan.runs]
    made = {one.piece.log.place: one for one in again(together) if one.piece is not None} if together else {}
    parts = {piece for log, run in zip(together, plan.runs, strict=True) if log.place in made for piece in run}
    gone = parts | {copy.piece for copy in plan.copies}
    return [*(one for one in told if one.piece not in gone), *made.values(), *map(left_out, plan.copies)]


def _each_log(found: Iterable[T]) -> Iterable[T]:
    """Each log once, also one that was named twice: a log is no copy of itself."""
    seen: set[Piece] = set()
    for one in found:
        if one.piece is None or one.piece not in seen:
            yield one
        if one.piece is not None:
            seen.add(one.piece)


def joined(pieces: Iterable[Piece]) -> Joined:
    """The runs that lie in several logs, and the logs that are copies of a run or of a part of it."""
    runs: dict[str, list[list[Piece]]] = {}
    headless: list[list[Piece]] = []
    copies: list[Copy] = []
    for piece in sorted(pieces, key=lambda one: (one.first_ms, not one.begun, one.last_ms, one.log.place)):
        known = runs.setdefault(piece.whose, [])
        if piece.begun:
            known.append([piece])
            continue
        covering = next((run for run in reversed(known) if _covers(run[-1], piece)), None)
        before = next((run for run in reversed(known) if _may_follow(run[-1], piece)), None)
        if covering is not None:
            told = f"it tells a part of the run that is in {covering[0].log.place} too, and nothing else"
            copies.append(Copy(piece, told))
        elif before is not None and _opened_alike(before[-1], piece):
            before.append(piece)
        else:
            headless.append([piece])
    kept, twice = _once([*(run for found in runs.values() for run in found), *headless])
    return Joined(tuple(run for run in kept if len(run) > 1), (*copies, *twice))


def _once(runs: Iterable[list[Piece]]) -> tuple[list[tuple[Piece, ...]], list[Copy]]:
    """Each run once. Of several that are the same one, that which holds most is kept; the others are copies."""
    same: dict[tuple[str, int, bool], list[tuple[Piece, ...]]] = {}
    for run in runs:
        same.setdefault((run[0].whose, run[0].first_ms, run[0].begun), []).append(tuple(run))
    kept, copies = [], []
    for found in same.values():
        best = min(found, key=_emptiness)
        kept.append(best)
        why = f"it is the same run of {best[0].whose} as {best[0].log.place}, which holds no less"
        copies += [Copy(piece, why) for run in found if run is not best for piece in run]
    return kept, copies


def _emptiness(run: tuple[Piece, ...]) -> tuple[bool, int, str]:
    return not run[-1].ended, -sum(piece.events for piece in run), run[0].log.place


def _may_follow(last: Piece, piece: Piece) -> bool:
    return not last.ended and piece.first_ms >= last.last_ms - JITTER_MS


def _opened_alike(last: Piece, piece: Piece) -> bool:
    """Whether two logs can be read as one: either workers open both, or the session reads both for them."""
    return is_url(last.log.parts[0].path) == is_url(piece.log.parts[0].path)


def _covers(last: Piece, piece: Piece) -> bool:
    """Whether a run that ends with ``last``, and began before the piece, tells all that the piece tells."""
    return piece.last_ms <= last.last_ms and not _may_follow(last, piece)


def as_one(run: tuple[Piece, ...]) -> Log:
    """The log that these are together."""
    logs = [piece.log for piece in run]
    places = few([shown(log.place) for log in logs], 5)
    told = f"it lies in {len(logs)} files, each with a part of it, which were read as one: {places}"
    parts = tuple(part for log in logs for part in log.parts)
    lacks = tuple(lack for log in logs for lack in log.lacks)
    return replace(logs[0], parts=parts, warnings=(told,), joined=True, lacks=lacks)
