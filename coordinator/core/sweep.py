"""What follows from what is so: expiries, rescues, fences, closings.

Responsible for evaluating the policies after every fact and for carrying an application's end through. Refuses to know
which fact it was. Invariant: a step moves at most ``MOVES`` generations, and what is left over is remembered in the
state, so that a segment stays small and nothing is forgotten.
"""

from __future__ import annotations

from coordinator.core import events as e
from coordinator.core import policies, recovery
from coordinator.core.desk import Desk
from coordinator.core.lifecycle import Life
from coordinator.core.state import Generation, State
from coordinator.core.values import Deletion, Ending, Hold

#: Generations that one step moves at the most (design §4: at most 50 records a segment, cut between commands).
MOVES = 24


def react(desk: Desk) -> None:
    """Brings the state to rest after a fact: the unneeded expires, the needed comes back, the due is asked for."""
    if desk.state.meta.ending is not None:
        done = _close(desk, desk.state.meta.ending)
    else:
        recovery.close_done(desk)
        done = _evaluate(desk)
    if desk.state.meta.sweeping == done:
        desk.emit(e.SweepChanged(not done))


def next_due_ms(state: State) -> int | None:
    """When a tick would change something, in event time; None: only a fact can.

    A directive that failed needs no tick: it stays outstanding, and who sends directives looks at its own ``due_ms``.
    """
    if state.meta.sweeping:
        return state.meta.time_ms
    waits = [g.due_ms for g in state.generations.values() if g.life is Life.EXPIRED and g.due_ms]
    return min(waits, default=None)


def _evaluate(desk: Desk) -> bool:
    """Whether everything is at rest now. Several rounds: what one expiry lets go may let another one go."""
    moves = 0
    while True:
        look = policies.view(desk.state)
        moved = 0
        for generation in policies.restless(look):
            if moves + moved >= MOVES:
                return False
            moved += _consider(desk, look, generation)
        if not moved:
            return True
        moves += moved


def _consider(desk: Desk, look: policies.View, generation: Generation) -> int:
    """How many moves it made of one generation: 0 or 1."""
    if generation.life is Life.EXPIRED:
        return _reconsider(desk, look, generation)
    why = policies.verdict(look, generation)
    if why is None:
        return 0
    hold, due_ms = policies.hold_of(desk.state, generation, desk.now_ms)
    desk.emit(e.GenerationExpired(generation.shuffle_id, why, hold, due_ms))
    if hold is Hold.NONE:
        _fence(desk, generation)
    return 1


def _reconsider(desk: Desk, look: policies.View, generation: Generation) -> int:
    wanted = policies.wanted(look, generation)
    if wanted is not None:
        why, by = wanted
        desk.emit(e.ExpiryTakenBack(generation.shuffle_id, why, by))
        return 1
    hold, due_ms = policies.hold_of(desk.state, generation, desk.now_ms)
    if hold is Hold.NONE:
        _fence(desk, generation)
        return 1
    if (hold, due_ms) != (generation.hold, generation.due_ms):
        desk.emit(e.HoldChanged(generation.shuffle_id, hold, due_ms))
        return 1
    return 0


def _fence(desk: Desk, generation: Generation) -> None:
    desk.emit(e.FenceRequested(desk.state.meta.next_directive, generation.shuffle_id))


_CAUSES = {Ending.ENDED: Deletion.APPLICATION_ENDED, Ending.LOST: Deletion.APPLICATION_LOST}


def _close(desk: Desk, ending: Ending) -> bool:
    """Closes the records of an application that is over, a step at a time."""
    for shuffle_id in sorted(desk.state.generations)[:MOVES]:
        desk.emit(e.GenerationDeleted(shuffle_id, _CAUSES[ending]))
    return not desk.state.generations
