"""The rules by which a generation expires, and what delays its fence.

Responsible for the conditions, one function a rule, in a table. Refuses to know how an expiry is carried out.
Invariant: a rule looks at the state only; nothing that a live job's cut reaches, or that somebody uses, ever gets to a rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from coordinator.core import cuts
from coordinator.core.ids import AppShuffle
from coordinator.core.lifecycle import INTACT, Life
from coordinator.core.state import Generation, State
from coordinator.core.values import Deletion, Expiry, Hold, Level, Policy, Rule


@dataclass(frozen=True, slots=True)
class View:
    """What all rules look at, computed once for an evaluation."""

    state: State
    jobs: frozenset[AppShuffle]  #: In the cut of a live job.
    roots: frozenset[AppShuffle]  #: In the cut of a reported root.


def view(state: State) -> View:
    """Looks at the state as it is now."""
    return View(state, cuts.of_jobs(state), cuts.of_roots(state))


def policy_of(state: State, generation: Generation) -> Policy:
    """The policy that counts: the writing job's own, else its group's, else the application's."""
    if generation.policy is not None:
        return generation.policy
    return state.groups.get(generation.group, state.meta.policy) if generation.group else state.meta.policy


def verdict(look: View, generation: Generation) -> Expiry | None:
    """Why the generation expires now; None where it does not."""
    state = look.state
    if generation.in_use or generation.app_shuffle in look.jobs or state.meta.gap is not None:
        return None
    rule = policy_of(state, generation).rule
    if rule is Rule.REACHABLE and generation.app_shuffle in look.roots:
        return None
    if generation.life not in (Life.WRITING, Life.PARTIAL, Life.READABLE):
        return None
    if _may_not_be_guessed(state, generation, rule):
        return None
    if generation.life is Life.READABLE:
        return _RULES[rule](look, generation)
    return Expiry.ABANDONED if _given_up(look, generation, rule) else None


def _given_up(look: View, generation: Generation, rule: Rule) -> bool:
    """Not whole, listed by no live job; what is left of a generation that was whole is let go by its rule only."""
    if generation.app_shuffle in cuts.listed(look.state):
        return False
    if rule is Rule.REACHABLE or generation.completed:
        return _RULES[rule](look, generation) is not None
    return True


def _may_not_be_guessed(state: State, generation: Generation, rule: Rule) -> bool:
    """Losing an indeterminate shuffle can abort a result stage; only a proof or the user's word lets it go."""
    if rule is Rule.REACHABLE or state.meta.settings.delete_indeterminate:
        return False
    shuffle = state.shuffles.get(generation.app_shuffle)
    return shuffle is not None and shuffle.lineage.level is Level.INDETERMINATE


def _reachable(look: View, generation: Generation) -> Expiry | None:
    """In no cut, and a look that began after it was complete has ended."""
    seen = max(generation.completed, generation.rested) < look.state.meta.seen_sequence
    return Expiry.UNREACHABLE if seen else None


def _frontier(look: View, generation: Generation) -> Expiry | None:
    """Read by map stages whose outputs are on disk or were let go; or its SQL execution is over."""
    state = look.state
    if generation.last_read_by_map:
        behind = all(_intact_or_let_go(state, written) for written in generation.map_readers)
        return Expiry.FRONTIER if behind else None
    execution = generation.last_read_execution if generation.last_read_by_map is False else generation.execution
    if execution is None or execution in state.executions:
        return None
    return Expiry.EXECUTION_ENDED


def _intact_or_let_go(state: State, app_shuffle: AppShuffle) -> bool:
    shuffle = state.shuffles.get(app_shuffle)
    if shuffle is None:
        return True  # Spark's own cleaner let it go
    generation = state.current(app_shuffle)
    if generation is None:
        return shuffle.fate is Life.DELETED and shuffle.cause in (Deletion.POLICY, Deletion.SPARK)
    return (generation.life in INTACT and generation.complete) or generation.life in (Life.FENCING, Life.FENCED)


def _eager(look: View, generation: Generation) -> Expiry | None:
    """A stage has read it and written bytes."""
    return Expiry.READ if generation.reader_wrote else None


_RULES: dict[Rule, Callable[[View, Generation], Expiry | None]] = {
    Rule.REACHABLE: _reachable,
    Rule.FRONTIER: _frontier,
    Rule.EAGER: _eager,
}


def wanted(look: View, generation: Generation) -> str:
    """Who wants an expired generation back: a word for people; empty where nobody does."""
    if generation.app_shuffle in look.jobs:
        return next(iter(cuts.holders(look.state, generation.app_shuffle)), "a live job")
    rule = policy_of(look.state, generation).rule
    if rule is Rule.REACHABLE and generation.app_shuffle in look.roots:
        return next(iter(cuts.holders(look.state, generation.app_shuffle)), "a root")
    return ""


def hold_of(state: State, generation: Generation, now_ms: int) -> tuple[Hold, int]:
    """What delays the fence, and until when in event time (0: until it changes, or at once)."""
    shuffle = state.shuffles.get(generation.app_shuffle)
    policy = policy_of(state, generation)
    if policy.observe:
        return Hold.OBSERVE, 0
    if not state.meta.capabilities.deletes:
        return Hold.UNABLE, 0
    if shuffle is not None and shuffle.pin is not None:
        return Hold.PIN, 0
    if state.meta.suspended is not None:
        return Hold.SUSPENDED, 0
    if shuffle is not None and shuffle.missed is not None:
        return Hold.MISSED, 0
    graced_ms = (generation.expired_ms or now_ms) + policy.grace_ms
    if graced_ms > now_ms:
        return Hold.GRACE, graced_ms
    if generation.hold is Hold.BACKOFF and generation.due_ms > now_ms:
        return Hold.BACKOFF, generation.due_ms
    return Hold.NONE, 0
