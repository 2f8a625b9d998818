"""What one commit answers to one client.

Responsible for counting the numbers that are answered, those that the client has confirmed, and what was refused, for
the one event that the commit records of it. Refuses to know what was asked, and whether a number comes again
(``numbering``). Invariant: nothing counts as confirmed that was not answered, and that event stays small, however much
is refused.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from coordinator.core.events import RequestsAnswered
from coordinator.core.ids import NO_SHUFFLE, AppShuffle, ClientId, Span, add_span, within
from coordinator.core.values import Refused

#: Kinds of refusal that one commit tells apart per client; the rest are counted together.
_REFUSALS = 32


@dataclass(slots=True)
class Tally:
    """What one commit answers to one client."""

    client: ClientId
    confirmed: int
    before: tuple[Span, ...]  #: Answered by earlier commits, above ``confirmed``.
    highest: int = 0
    unconfirmed: int = 0
    repeats: int = 0
    changed: bool = False
    refused: Counter[tuple[str, AppShuffle]] = field(default_factory=Counter)
    refused_before: tuple[Span, ...] = ()  #: Of ``before``, those of which nothing followed.
    refused_numbers: tuple[Span, ...] = ()  #: The same of this commit.
    is_stranger: bool = False  #: It was not registered when it asked first in this commit.
    #: The numbers answered last, one after the other; the usual case costs nothing.
    _run: tuple[int, int] | None = None
    _runs: tuple[Span, ...] = ()

    def __post_init__(self) -> None:
        self.highest = max([self.confirmed, *(span.last for span in self.before)])
        self.unconfirmed = sum(span.last - span.first + 1 for span in self.before)

    @property
    def answered(self) -> tuple[Span, ...]:
        """The numbers that this commit answers."""
        return self._runs if self._run is None else add_span(self._runs, Span(*self._run))

    def spans(self) -> tuple[Span, ...]:
        """Every number answered so far and not known to be confirmed, this commit's too."""
        return (*self.before, *self.answered)

    def confirm(self, confirmed: int) -> None:
        """The client has all answers up to here; never beyond what was answered."""
        if confirmed > self.confirmed:
            self.confirmed = min(confirmed, self.highest)
            left = [Span(max(s.first, self.confirmed + 1), s.last) for s in self.spans() if s.last > self.confirmed]
            self.unconfirmed = sum(span.last - span.first + 1 for span in left)
            self.changed = True

    def note(self, number: int, refused: tuple[str, AppShuffle] | None) -> None:
        """A number was answered."""
        if self._run is not None and number == self._run[1] + 1:
            self._run = (self._run[0], number)
        else:
            self._runs, self._run = self.answered, (number, number)
        if number > self.highest:
            self.highest = number
        self.unconfirmed += 1
        self.count(refused)

    def count(self, refused: tuple[str, AppShuffle] | None) -> None:
        """Something was refused, if it was."""
        self.changed = True
        if refused is not None:
            known = refused in self.refused or len(self.refused) < _REFUSALS
            self.refused[refused if known else (refused[0], NO_SHUFFLE)] += 1

    def note_refused(self, number: int, refused: tuple[str, AppShuffle] | None) -> None:
        """A number was answered, and nothing follows from it."""
        self.note(number, refused)
        self.refused_numbers = add_span(self.refused_numbers, Span(number, number))

    def has_refused(self, number: int) -> bool:
        """Whether a number that was answered was refused then, in this commit or before."""
        return within(self.refused_before, number) or within(self.refused_numbers, number)

    def repeat(self, number: int, refused: tuple[str, AppShuffle] | None) -> None:
        """A number was answered as its like was a moment ago."""
        self.note(number, refused)
        self.repeats += 1

    def event(self) -> RequestsAnswered:
        """What the commit records of it."""
        refused = tuple(Refused(kind, shuffle, n) for (kind, shuffle), n in sorted(self.refused.items()))
        return RequestsAnswered(self.client, self.answered, self.confirmed, self.repeats, refused, self.refused_numbers)
