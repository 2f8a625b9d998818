"""A driver that is not there: it answers directives.

Responsible for what a fence and a deletion come to, and when. Refuses to know policies. Invariant: what a stage that
runs reads or writes is never fenced; an answer comes once, after the modelled time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, DirectiveId, StageAttempt
from coordinator.core.state import Directive, State
from coordinator.core.values import DirectiveKind


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a driver takes from being asked to having answered."""

    fence_ms: int = 20
    free_ms: int = 100  #: A deletion, or freeing what was invalidated.


@dataclass(slots=True)
class Driver:
    """The driver of one simulated run: takes directives, and answers each one after a modelled time."""

    pace: Pace
    _agenda: list[tuple[int, DirectiveId]] = field(default_factory=list)

    def hear(self, log: Iterable[e.Recorded]) -> None:
        """Takes the directives that these events ask for."""
        for recorded in log:
            event = recorded.event
            if isinstance(event, e.FenceRequested):
                heappush(self._agenda, (recorded.time_ms + self.pace.fence_ms, event.directive))
            elif isinstance(event, (e.DeleteRequested, e.InvalidateRequested)):
                heappush(self._agenda, (recorded.time_ms + self.pace.free_ms, event.directive))

    @property
    def due_ms(self) -> int | None:
        """When it answers next, milliseconds since the epoch; None: it has nothing to answer."""
        return self._agenda[0][0] if self._agenda else None

    def answer(self, state: State) -> c.ReportOutcome | None:
        """The next answer; None where the directive is withdrawn by now."""
        _, number = heappop(self._agenda)
        directive = state.directives.get(number)
        return c.ReportOutcome(number, _outcome(state, directive)) if directive is not None else None


def _outcome(state: State, directive: Directive) -> c.Outcome:
    generation = state.generations.get(directive.shuffle_id)
    held = generation.bytes if generation is not None else 0
    if directive.kind is not DirectiveKind.FENCE:
        return c.Freed(held)
    who = users(state, directive.app_shuffle)
    return c.Busy(tuple(map(str, who))) if who else c.Fenced(held)


def users(state: State, app_shuffle: AppShuffle) -> list[StageAttempt]:
    """The attempts that run and read or write it."""
    running = (attempt for attempt in state.attempts.values() if attempt.running)
    return sorted(a.stage for a in running if app_shuffle in a.reads or a.writes == app_shuffle)
