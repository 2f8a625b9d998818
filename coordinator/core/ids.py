"""Names of things, each of its own type so that no two are mixed up.

Responsible for the identifiers of the vocabulary and how they order. Refuses to know what they name. Invariant: an id
is a plain value, comparable and hashable, that means the same on every replica.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from operator import attrgetter
from typing import NewType

ApplicationId = NewType("ApplicationId", str)  #: UUID made at ``attach``; one run of one Spark driver.
AppShuffle = NewType("AppShuffle", int)  #: Spark's own shuffle id, stable over recomputation.
ShuffleId = NewType("ShuffleId", int)  #: One generation of an app shuffle's data; increases, never reused; from 1.
JobId = NewType("JobId", int)
StageId = NewType("StageId", int)
ExecutionId = NewType("ExecutionId", int)  #: Spark SQL's execution id.
DirectiveId = NewType("DirectiveId", int)  #: From 1, increasing in the application.
RecoveryId = NewType("RecoveryId", int)  #: From 1, increasing in the application.
LookId = NewType("LookId", int)  #: One reading of the program by the bridge; increasing.
ClientId = NewType("ClientId", str)
Sequence = NewType("Sequence", int)  #: Place of an event in its application's log; from 1, without a gap.

#: Where an app shuffle is to be named and none is meant; Spark counts its own from 0.
NO_SHUFFLE = AppShuffle(-1)


@dataclass(frozen=True, slots=True, order=True)
class StageAttempt:
    """One attempt of one stage: the unit that reads and writes. Spark counts attempts from 0."""

    stage: StageId
    attempt: int

    def __str__(self) -> str:
        return f"{self.stage}.{self.attempt}"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The whole numbers from ``first`` to ``last``, both included."""

    first: int
    last: int

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and self.first <= number <= self.last


_first, _last = attrgetter("first"), attrgetter("last")


def spans_of(numbers: tuple[int, ...]) -> tuple[Span, ...]:
    """The fewest spans that hold exactly these numbers, in ascending order."""
    spans: list[Span] = []
    for number in sorted(set(numbers)):
        if spans and spans[-1].last + 1 == number:
            spans[-1] = Span(spans[-1].first, number)
        else:
            spans.append(Span(number, number))
    return tuple(spans)


def add_span(spans: tuple[Span, ...], new: Span) -> tuple[Span, ...]:
    """The spans, which ascend and do not touch, with ``new`` put in, joined where they touch; ascending."""
    if spans and spans[-1].last < new.first:  # the usual case: numbers are consecutive
        if spans[-1].last + 1 == new.first:
            return (*spans[:-1], Span(spans[-1].first, new.last))
        return (*spans, new)
    begin = bisect_left(spans, new.first - 1, key=_last)  # the first that touches it, or stands behind it
    end = bisect_right(spans, new.last + 1, lo=begin, key=_first)
    joined = spans[begin:end]
    first = min(new.first, joined[0].first) if joined else new.first
    last = max(new.last, joined[-1].last) if joined else new.last
    return (*spans[:begin], Span(first, last), *spans[end:])


def within(spans: tuple[Span, ...], number: int) -> bool:
    """Whether one of the spans holds the number. The newest first: it is the one that is asked for."""
    for span in reversed(spans):  # noqa: SIM110 - `any` would make a generator, and nearly every event asks
        if span.first <= number <= span.last:
            return True
    return False
