"""Where a decision is tried out.

Responsible for giving events their place, time and cause, for letting a rule see at once what it has just decided, and
for giving everybody who asks the same thing the answer that still holds. Refuses to know rules, and what is counted of
requests (``tally``). Invariant: applying ``desk.log`` to the state below gives the state of the draft.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from coordinator.core.commands import Command, GetShuffleId, ReportMissing
from coordinator.core.events import Event, JobEnded, Recorded, RecoveryJoined
from coordinator.core.evolve import apply
from coordinator.core.ids import AppShuffle, ClientId, Sequence
from coordinator.core.rejections import Answer
from coordinator.core.state import Client, State, due_by, lay_over
from coordinator.core.tally import Tally
from coordinator.core.touching import WIDE, touched

#: Generations that one fact moves at the most, and that the sweep after it does: a segment, which is cut between
#: commands, moves 50 records at the most. What a fact would move beyond that, the sweep takes up, in as many steps as
#: it needs.
MOVES = 24

#: What further tasks of a stage attempt ask or report in the same words, as a value that is quick to look up.
Question: TypeAlias = tuple[object, ...]


def _question(command: GetShuffleId | ReportMissing) -> Question:
    if isinstance(command, GetShuffleId):
        return command.app_shuffle, command.stage.stage, command.stage.attempt, command.write
    return command.app_shuffle, command.stage, command.shuffle_id


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
        """As `take_move`; where the moves are used up, the sweep sees to this app shuffle."""
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
