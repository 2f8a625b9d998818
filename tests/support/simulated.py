"""What must hold of a simulation of any log.

Responsible for simulating a log as it was recorded, which must give the log again, and under every other policy, which
must break no invariant. Refuses to know how the log was made. Invariant: a difference is told with the event that it
begins at.
"""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.core import invariants, steps
from coordinator.core.events import Recorded
from coordinator.core.evolve import apply
from coordinator.core.state import copy, empty
from coordinator.core.values import Policy, Rule
from replay.simulate import Outcome, facts_of, first_difference, simulate

POLICIES = tuple(Policy(rule, observe) for rule in Rule for observe in (False, True))


def check_as_recorded(log: Sequence[Recorded]) -> None:
    """Every event, in its place, at its time, for its reason."""
    again = simulate(facts_of(log))
    difference = first_difference(log, again.log)
    assert difference is None, str(difference)


def check_otherwise(log: Sequence[Recorded], policies: Sequence[Policy] = POLICIES) -> list[Outcome]:
    """Under other policies a log comes out that a coordinator might have written."""
    facts = list(facts_of(log))
    found = [simulate(facts, policy) for policy in policies]
    for outcome in found:
        _check_steps(outcome.log)
        _check_figures(outcome)
    return found


def _check_steps(log: Sequence[Recorded]) -> None:
    state = empty()
    for recorded in log:
        before = copy(state)
        apply(state, recorded)
        wrong = steps.check_step(before, recorded, state)
        assert not wrong, wrong
    assert invariants.check(state) == ()


def _check_figures(outcome: Outcome) -> None:
    assert 0 <= outcome.needed_byte_seconds <= outcome.never_byte_seconds
    assert outcome.held_byte_seconds >= 0
    assert all(life.bytes >= 0 for life in outcome.lives)
    if outcome.policy is not None and outcome.policy.observe:
        assert not outcome.deletions
        assert not outcome.misses
