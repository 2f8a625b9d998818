"""Events out of sealed segments, damaged ones and newer ones too.

Responsible for losing nothing but what cannot be read, record by record, and for naming that. Refuses to know where
segments come from. Invariant: for whatever is not given as an event there is a problem that says what, where and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shuffle_lifecycle.v1 import events_pb2

from coordinator.core.events import Recorded
from coordinator.wire.codec import record_from_message
from coordinator.wire.errors import TooNew, WireError
from coordinator.wire.sealing import unseal
from coordinator.wire.upcast import upcast


class Unread(Exception):  # noqa: N818 - it says what is so
    """Something could not be read, and the reader asked to be stopped by that (mode FAILFAST)."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What could not be read. ``sequence``: of the first event that it concerns, where that is known."""

    text: str
    sequence: int | None = None
    harmless: bool = False  #: Its writer says that a reader may pass it over.


Found = Recorded | Problem


def records_of(sealed: bytes, place: str) -> Iterator[Found]:
    """What is in a sealed segment."""
    try:
        message = unseal(events_pb2.Segment, sealed, place)
    except WireError as error:
        yield Problem(str(error))
        return
    try:
        upcast(message, place)
    except TooNew as error:
        yield _newer(message, error)
        return
    for record in message.records:
        yield _record(record, place)


def _record(record: events_pb2.Record, place: str) -> Found:
    try:
        found = record_from_message(record, place)
    except WireError as error:
        return Problem(str(error), record.sequence)
    if found is None:
        return Problem(f"{place}: record {record.sequence} is of another release, which lets it be passed over",
                       record.sequence, harmless=True)  # fmt: skip
    return found


def _newer(message: events_pb2.Segment, error: TooNew) -> Problem:
    last = message.first_sequence + max(0, len(message.records) - 1)
    return Problem(f"events {message.first_sequence} to {last} are not read: {error}", message.first_sequence)


class Gaps:
    """Takes what a stretch of a log gives, keeps what is inside it, and names what is missing and nothing explains."""

    def __init__(self, first: int, last: int | None) -> None:
        self._first = first
        self._last = last
        self._after = first - 1
        self._explained = False  #: The last thing met was a problem, and may have taken more with it.

    def told(self, found: Iterable[Found]) -> Iterator[Found]:
        """These, with a problem before each gap."""
        for one in found:
            at = one.sequence
            if at is not None and (at < self._first or (self._last is not None and at > self._last)):
                continue
            if at is not None:
                yield from self._gap(at - 1)
                self._after = max(self._after, at)
            self._explained = isinstance(one, Problem)
            yield one

    def end(self, expected_last: int | None = None) -> Iterator[Problem]:
        """What is missing at the end."""
        last = self._last if expected_last is None else expected_last
        if last is not None:
            yield from self._gap(last)

    def _gap(self, upto: int) -> Iterator[Problem]:
        if self._after < upto and not self._explained:
            yield Problem(f"events {self._after + 1} to {upto} are missing", self._after + 1)
