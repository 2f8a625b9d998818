"""Where a decision is tried out.

Responsible for giving events their place, time and cause, and for letting a rule see at once what it has just decided.
Refuses to know rules. Invariant: applying ``desk.log`` to the state below gives the state of the draft.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

from coordinator.core.commands import Command, GetShuffleId, ReportMissing
from coordinator.core.events import Event, JobEnded, Recorded, RecoveryJoined, RequestsAnswered
from coordinator.core.evolve import apply
from coordinator.core.ids import NO_SHUFFLE, AppShuffle, ClientId, Sequence, Span, add_span, within
from coordinator.core.rejections import Answer
from coordinator.core.state import Client, State, due_by, lay_over
from coordinator.core.touching import WIDE, touched
from coordinator.core.values import Refused

#: Generations that one fact moves at the most, and that the sweep after it does: a segment, which is cut between
#: commands, moves 50 records at the most. What a fact would move beyond that, the sweep takes up, in as many steps as
#: it needs.
MOVES = 24

#: Kinds of refusal that one commit tells apart per client; the rest are counted together.
_REFUSALS = 32


#: What further tasks of a stage attempt ask or report in the same words, as a value that is quick to look up.
Question: TypeAlias = tuple[object, ...]


def _question(command: GetShuffleId | ReportMissing) -> Question:
    if isinstance(command, GetShuffleId):
        return command.app_shuffle, command.stage.stage, command.stage.attempt, command.write
    return command.app_shuffle, command.stage, command.shuffle_id


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


@dataclass(slots=True)
class Desk:
    """One commit in the making: a draft over a state, and the events that lead from one to the other."""

    state: State  #: The draft; what lies below is never touched.
    now_ms: int
    log: list[Recorded] = field(default_factory=list)
    tallies: dict[ClientId, Tally] = field(default_factory=dict)
    moves_left: int = MOVES  #: Of the present fact.
    concerns_all: bool = True  #: Everything is to be evaluated, not only what the events since the last rest concern.
    _concerned: set[AppShuffle] = field(default_factory=set)
    _because: Sequence | None = None
    _remembered: dict[Question, Answer] = field(default_factory=dict)

    @classmethod
    def over(cls, state: State, now_ms: int) -> Desk:
        """A desk over ``state``. Event time never runs backwards: the larger of the two clocks counts."""
        now_ms = max(now_ms, state.meta.time_ms)
        return cls(lay_over(state), now_ms, concerns_all=state.meta.sweeping, _concerned=set(due_by(state, now_ms)))

    def probe(self) -> Desk:
        """A desk over the draft for a decision that is looked at and thrown away: nothing is evaluated after it."""
        return Desk(lay_over(self.state), self.now_ms)

    def turn_page(self) -> None:
        """The next event is a fact of its own, not a consequence of the last one."""
        self._because = None
        self.moves_left = MOVES

    def take_move(self) -> bool:
        """Takes one of the moves that a fact has. False: they are used up."""
        if not self.moves_left:
            return False
        self.moves_left -= 1
        return True

    def take_move_of(self, app_shuffle: AppShuffle) -> bool:
        """The same; where they are used up, the sweep is to see to this one."""
        taken = self.take_move()
        if not taken:
            self._concerned.add(app_shuffle)
        return taken

    def emit(self, event: Event) -> None:
        """Records the event and applies it to the draft."""
        if self._remembered and not self._leaves_answers(event):
            self._remembered.clear()
        sequence = self.state.meta.next_sequence
        if self._because is None:
            self._because = sequence
        recorded = Recorded(sequence, self.now_ms, self._because, event)
        self._concern(event)
        apply(self.state, recorded)
        self._concern(event)
        self.log.append(recorded)

    def _concern(self, event: Event) -> None:
        """Before and after the event, since what it concerns may begin or end with it."""
        if not self.concerns_all:
            self.concerns_all = type(event) in WIDE or (type(event) is JobEnded and self.state.meta.gap is not None)
            self._concerned.update(touched(self.state, event))

    def take_concerned(self) -> set[AppShuffle] | None:
        """What is to be evaluated, and from here on counts as evaluated; None: everything."""
        concerned = None if self.concerns_all else self._concerned
        self.concerns_all, self._concerned = False, set()
        return concerned

    def open_tally(self, client: Client) -> Tally:
        """Begins counting what this commit answers to one client."""
        is_stranger = client.client not in self.state.clients
        tally = Tally(
            client.client, client.confirmed, client.answered, refused_before=client.refused, is_stranger=is_stranger
        )
        self.tallies[client.client] = tally
        return tally

    def _leaves_answers(self, event: Event) -> bool:
        """Whether what was answered is as true as before: a recovery is joined once more, and names nothing new."""
        if not isinstance(event, RecoveryJoined):
            return False
        known = self.state.recoveries.get(event.recovery)
        return known is not None and event.missing not in known.mixing

    def remember(self, command: GetShuffleId | ReportMissing, answer: Answer) -> None:
        """An answer that stays the same until an event changes it."""
        self._remembered[_question(command)] = answer

    def remembered(self, command: Command) -> Answer | None:
        """The answer that the same question got since then."""
        return self._remembered.get(_question(command)) if isinstance(command, (GetShuffleId, ReportMissing)) else None
