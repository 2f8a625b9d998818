"""Where a decision is tried out.

Responsible for giving events their place, time and cause, and for letting a rule see at once what it has just decided.
Refuses to know rules. Invariant: applying ``desk.log`` to the state below gives the state of the draft.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from coordinator.core.commands import Command, GetShuffleId
from coordinator.core.events import Event, Recorded, RequestsAnswered
from coordinator.core.evolve import apply
from coordinator.core.ids import AppShuffle, ClientId, Sequence, Span, add_span
from coordinator.core.rejections import Answer
from coordinator.core.state import Client, State, lay_over
from coordinator.core.values import Refused

#: Kinds of refusal that one commit tells apart per client; the rest are counted together.
_REFUSALS = 32


@dataclass(slots=True)
class Tally:
    """What one commit answers to one client."""

    client: ClientId
    confirmed: int
    before: tuple[Span, ...]  #: Answered by earlier commits, above ``confirmed``.
    answered: tuple[Span, ...] = ()
    highest: int = 0
    unconfirmed: int = 0
    repeats: int = 0
    changed: bool = False
    refused: Counter[tuple[str, AppShuffle]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.highest = max([self.confirmed, *(span.last for span in self.before)])
        self.unconfirmed = sum(span.last - span.first + 1 for span in self.before)

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
        self.answered = add_span(self.answered, Span(number, number))
        self.highest = max(self.highest, number)
        self.unconfirmed += 1
        self.changed = True
        if refused is not None:
            known = refused in self.refused or len(self.refused) < _REFUSALS
            self.refused[refused if known else (refused[0], AppShuffle(-1))] += 1

    def repeat(self, number: int, refused: tuple[str, AppShuffle] | None) -> None:
        """A number was answered as its like was a moment ago."""
        self.note(number, refused)
        self.repeats += 1

    def event(self) -> RequestsAnswered:
        refused = tuple(Refused(kind, shuffle, n) for (kind, shuffle), n in sorted(self.refused.items()))
        return RequestsAnswered(self.client, self.answered, self.confirmed, self.repeats, refused)


@dataclass(slots=True)
class Desk:
    """One commit in the making: a draft over a state, and the events that lead from one to the other."""

    state: State  #: The draft; what lies below is never touched.
    now_ms: int
    log: list[Recorded] = field(default_factory=list)
    tallies: dict[ClientId, Tally] = field(default_factory=dict)
    _because: Sequence | None = None
    _remembered: dict[GetShuffleId, Answer] = field(default_factory=dict)
    _remembered_at: int = -1

    @classmethod
    def over(cls, state: State, now_ms: int) -> Desk:
        """A desk over ``state``. Event time never runs backwards: the larger of the two clocks counts."""
        return cls(lay_over(state), max(now_ms, state.meta.time_ms))

    def turn_page(self) -> None:
        """The next event is a fact of its own, not a consequence of the last one."""
        self._because = None

    def emit(self, event: Event) -> None:
        """Records the event and applies it to the draft."""
        sequence = self.state.meta.next_sequence
        if self._because is None:
            self._because = sequence
        recorded = Recorded(sequence, self.now_ms, self._because, event)
        apply(self.state, recorded)
        self.log.append(recorded)

    def open_tally(self, client: Client) -> Tally:
        """Begins counting what this commit answers to one client."""
        tally = Tally(client.client, client.confirmed, client.answered)
        self.tallies[client.client] = tally
        return tally

    def remember(self, command: GetShuffleId, answer: Answer) -> None:
        """An answer that stays the same until the next event."""
        if self._remembered_at != len(self.log):
            self._remembered.clear()
            self._remembered_at = len(self.log)
        self._remembered[command] = answer

    def remembered(self, command: Command) -> Answer | None:
        """The answer that the same question got since the last event."""
        if type(command) is not GetShuffleId or self._remembered_at != len(self.log):
            return None
        return self._remembered.get(command)
