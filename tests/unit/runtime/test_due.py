"""When a tick is due, and that none is tried in vain."""

from __future__ import annotations

from coordinator.core.state import State
from coordinator.runtime.clock import Clock, EventTime
from coordinator.runtime.due import Due
from tests.scenarios.story import REACHABLE, Story, delayed
from tests.simulation import virtual


def waiting() -> State:
    """What waits for its grace to end, at 2,000."""
    story = Story(delayed(REACHABLE, 1_000))
    story.whole("s0>A, s1:A!")
    assert story.look("")[-1] == "A1 expired: in no live cut, held: grace until 2000"
    state: State = story.state
    return state


def test_it_is_due_when_grace_is_over_and_not_again_after_a_tick_in_vain() -> None:
    now_ms = [1_500]
    state = waiting()

    async def story() -> None:
        due = Due(EventTime(Clock(lambda: now_ms[0] / 1_000)), state)
        assert (due.is_now(state), due.within_s(state)) == (False, 0.5)
        now_ms[0] = 2_000
        assert (due.is_now(state), due.within_s(state)) == (True, 0.001)
        due.note_idle(state)
        assert (due.is_now(state), due.within_s(state)) == (False, None)

    virtual.run(story())


def test_what_is_due_is_looked_at_anew_when_something_has_changed() -> None:
    nothing, state = Story().state, waiting()

    async def story() -> None:
        due = Due(EventTime(Clock(lambda: 2.0)), nothing)
        assert (due.is_now(nothing), due.within_s(nothing)) == (False, None)
        due.changed(state)
        assert due.is_now(state)

    virtual.run(story())
