"""Folding a log while proving it: what must always hold, holds after every step.

Responsible for finding the first event that breaks an invariant, and for naming it. Refuses to know where the log comes
from. Invariant: what is found here is what ``invariants.check`` of the state at that place finds, and
``steps.check_event`` of each event, at the cost of what the events have changed.

A step is a fact with all that follows from it (``because``): in between a state is not at rest, a generation may have
expired whose fence is asked for by the next event. So what holds is checked where a step ends; where something does
not, the step is gone through once more for the event after which it did not hold any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from coordinator.core.events import Recorded
from coordinator.core.evolve import apply, apply_alone, count, fold
from coordinator.core.ids import Sequence
from coordinator.core.invariants import Violation, check, check_changes
from coordinator.core.state import Meta, State, as_it_was, empty, track
from coordinator.core.steps import check_alone, check_order
from coordinator.core.tracked import Replaced


@dataclass(frozen=True, slots=True)
class Broken:
    """An event, and what does not hold after it."""

    sequence: Sequence
    kind: str
    violation: Violation

    def __str__(self) -> str:
        violation = self.violation
        return f"event {self.sequence} ({self.kind}) breaks {violation.rule!r}: {violation.subject} {violation.fact}"


@dataclass(slots=True)
class Proof:
    """A state that is folded event by event, and what was found wrong first. ``state`` lags behind by one step."""

    state: State = field(init=False)
    broken: tuple[Broken, ...] = ()  #: All that the first broken step breaks; nothing is checked behind it.
    _step: list[Recorded] = field(default_factory=list)
    _replaced: Replaced = field(default_factory=dict)  #: By the step that is being proved.

    def __post_init__(self) -> None:
        self.state = track(empty(), self._replaced)

    @property
    def expected(self) -> Sequence:
        """The number of the event that comes next."""
        following = self._step[-1].sequence + 1 if self._step else self.state.meta.next_sequence
        return Sequence(following)

    def take(self, recorded: Recorded) -> None:
        """One more event, in the order of the log."""
        if self._step and recorded.because == recorded.sequence:
            self.rest()
        self._step.append(recorded)

    def rest(self) -> None:
        """The step is over: a commit, or the log, ends here."""
        if not self._step:
            return
        if self.broken:
            fold(self.state, self._step)
        else:
            self._prove()
        self._step.clear()
        self._replaced.clear()

    def _prove(self) -> None:
        below = self.state.meta
        wrong = self._fold_checking()
        wrong += self._blame(found, below) if (found := check_changes(self.state, below, self._replaced)) else []
        self.broken = tuple(sorted(wrong, key=lambda one: (one.sequence, one.violation)))

    def _fold_checking(self) -> list[Broken]:
        """Folds the step; what each of its events breaks by itself."""
        state, wrong = self.state, []
        expected, time_ms = state.meta.next_sequence, state.meta.time_ms
        for recorded in self._step:
            found = check_order(expected, time_ms, recorded) + check_alone(state, recorded)
            wrong += [_broken(recorded, violation) for violation in found]
            expected, time_ms = Sequence(recorded.sequence + 1), max(time_ms, recorded.time_ms)
            apply_alone(state, recorded)
        count(state, expected, time_ms)
        return wrong

    def _blame(self, found: tuple[Violation, ...], below: Meta) -> list[Broken]:
        """For each violation the event since which it was there up to the step's end."""
        state = as_it_was(self.state, below, self._replaced)
        since: dict[Violation, Recorded] = {}
        for recorded in self._step:
            apply(state, recorded)
            there = set(check(state))
            since = {one: since.get(one, recorded) for one in found if one in there}
        return [_broken(at, one) for one, at in since.items()]


def _broken(recorded: Recorded, violation: Violation) -> Broken:
    return Broken(recorded.sequence, type(recorded.event).__name__, violation)
