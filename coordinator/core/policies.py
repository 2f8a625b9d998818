"""The rules by which a generation expires, and what delays its fence.

Responsible for the conditions, one function a rule, in a table. Refuses to know how an expiry is carried out.
Invariant: a rule looks at the state only; nothing that a live job's cut reaches, or that somebody uses, expires.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from coordinator.core import cuts, lineages
from coordinator.core.ids import AppShuffle, ExecutionId, StageAttempt, within
from coordinator.core.lifecycle import KEPT, Life
from coordinator.core.state import Generation, Shuffle, State
from coordinator.core.values import Deletion, Expiry, Hold, Level, Policy, Rescue, RootKind, Rule

#: Roots that need what is in their cuts, and do not merely hold it.
SURE = frozenset({RootKind.PLAN, RootKind.PERSISTED, RootKind.ALGORITHM, RootKind.STREAM})

#: The kinds of roots whose cuts each rule counts: guessing rules do without what the program merely holds.
COUNTED: dict[Rule, frozenset[RootKind]] = {
    Rule.REACHABLE: frozenset(RootKind),
    Rule.FRONTIER: SURE,
    Rule.EAGER: frozenset({RootKind.PLAN}),
    Rule.HISTORY: SURE,
    Rule.PRESSURE: frozenset(RootKind),  # and `SURE` of what a full disk has let go
}

#: A program goes on to its next job at once: what it has used so lately may be what that job reads.
REST_MS = 1_000

#: Rules that let go what is proved to be unreachable.
PROVING = frozenset({Rule.REACHABLE, Rule.PRESSURE})


@dataclass(frozen=True)
class View:
    """What all rules look at, computed at most once for an evaluation, and only if asked for."""

    state: State

    @cached_property
    def jobs(self) -> frozenset[AppShuffle]:
        """In the cut of a live job."""
        return cuts.of_jobs(self.state)

    @cached_property
    def recoveries(self) -> frozenset[AppShuffle]:
        """Needed by an open recovery."""
        return cuts.of_recoveries(self.state)

    @cached_property
    def listed(self) -> frozenset[AppShuffle]:
        """What a live job lists."""
        return cuts.listed(self.state)

    @cached_property
    def running_readers(self) -> dict[AppShuffle, tuple[StageAttempt, ...]]:
        """The attempts that were submitted and run, in order, by what they read."""
        found: dict[AppShuffle, tuple[StageAttempt, ...]] = {}
        for stage, attempt in sorted(self.state.attempts.items()):
            for app_shuffle in attempt.reads if attempt.running else ():
                found[app_shuffle] = (*found.get(app_shuffle, ()), stage)
        return found

    @cached_property
    def _needs(self) -> dict[frozenset[RootKind], frozenset[AppShuffle]]:
        return {}

    @cached_property
    def _roots(self) -> dict[frozenset[RootKind], frozenset[AppShuffle]]:
        return {}

    def rooted(self, counted: frozenset[RootKind], app_shuffle: AppShuffle) -> bool:
        """Whether it is in the cut of a root of these kinds: named by a view, else behind what was lost since."""
        if counted not in self._needs:
            self._needs[counted] = cuts.needs_of(self.state, counted)
        if app_shuffle in self._needs[counted]:
            return not cuts.is_gone(self.state.current(app_shuffle))
        if counted not in self._roots:
            self._roots[counted] = cuts.walk(self.state, self._needs[counted])
        return app_shuffle in self._roots[counted]


def policy_of(state: State, generation: Generation) -> Policy:
    """The policy that counts: the writing job's own, else its group's, else the application's."""
    if generation.policy is not None:
        return generation.policy
    return state.groups.get(generation.group, state.meta.policy) if generation.group else state.meta.policy


def _rule_of(state: State, generation: Generation) -> Rule:
    return policy_of(state, generation).rule


def counted(state: State, generation: Generation) -> frozenset[RootKind]:
    """The kinds of roots whose cuts keep it."""
    if _is_pressed(state, generation):
        return SURE
    return COUNTED[_rule_of(state, generation)]


def _is_pressed(state: State, generation: Generation) -> bool:
    """A full disk has let it go, and one is still full."""
    pressed = generation.why is Expiry.PRESSED and state.meta.full
    return pressed and _rule_of(state, generation) is Rule.PRESSURE


def is_guess(state: State, generation: Generation, why: Expiry | None) -> bool:
    """Whether what lets it go is no proof that nobody reaches it: a guessing rule, or a full disk."""
    return _rule_of(state, generation) not in PROVING or why is Expiry.PRESSED


def verdict(view: View, generation: Generation) -> Expiry | None:
    """Why the generation expires now; None where it does not."""
    if generation.life not in KEPT or _is_needed(view, generation):
        return None
    if not generation.complete and generation.app_shuffle in view.listed:
        return None
    why = released(view, generation)
    return None if why is None or view.rooted(counted(view.state, generation), generation.app_shuffle) else why


def _is_needed(view: View, generation: Generation) -> bool:
    """Whether it has to stay under every rule: it is in use, or a live job or an open recovery needs it.

    In a gap too: facts are missing then, and nobody can say that it is not in use.
    """
    if generation.in_use or view.state.meta.gap is not None:
        return True
    return generation.app_shuffle in view.jobs or generation.app_shuffle in view.recoveries


def released(view: View, generation: Generation) -> Expiry | None:
    """What its policy says of a generation that nobody uses and no cut reaches; None: to be kept."""
    rule = _rule_of(view.state, generation)
    proves = rule in PROVING and not view.state.meta.settings.strict
    if not proves and may_not_be_guessed(view.state, generation):
        return None
    if generation.complete:
        return _RULES[rule](view, generation)
    if (rule in PROVING or generation.completed) and _RULES[rule](view, generation) is None:
        return None  # what is left of a generation that was whole is let go by its rule only
    return Expiry.ABANDONED


def may_not_be_guessed(state: State, generation: Generation) -> bool:
    """Losing an indeterminate shuffle can abort a result stage; only a proof or the user's word lets it go.

    What was never whole no result has read, and its map stage begins anew in any case.
    """
    if state.meta.settings.delete_indeterminate or not generation.completed:
        return False
    shuffle = state.shuffles.get(generation.app_shuffle)
    return shuffle is not None and shuffle.lineage.level is Level.INDETERMINATE


def _reachable(view: View, generation: Generation) -> Expiry | None:
    """In no cut (which the caller asks), and a look has seen it."""
    return Expiry.UNREACHABLE if is_seen(view.state, generation) else None


def is_seen(state: State, generation: Generation) -> bool:
    """Whether a look that has ended speaks of it as it is now.

    It must have begun after the generation was completed, was left by a writer or lost outputs last.
    """
    return max(generation.completed, generation.rested) < state.meta.seen_sequence


def unseen(state: State) -> list[AppShuffle]:
    """The app shuffles of the generations that no look has seen as they are."""
    return [one.app_shuffle for one in state.generations.values() if not is_seen(state, one)]


def _frontier(view: View, generation: Generation) -> Expiry | None:
    """Read by map stages whose outputs are on disk or were let go; or its SQL execution is over."""
    state = view.state
    if generation.last_read_by_map:
        behind = all(is_intact_or_let_go(state, written) for written in generation.map_readers)
        return Expiry.FRONTIER if behind else None
    if last_execution(generation) is None or running_executions(state, generation):
        return None
    return Expiry.EXECUTION_ENDED


def last_execution(generation: Generation) -> ExecutionId | None:
    """The SQL execution whose result stage read it last; the one that wrote it where no result stage has."""
    return generation.last_read_execution if generation.last_read_by_map is False else generation.execution


def running_executions(state: State, generation: Generation) -> tuple[ExecutionId, ...]:
    """Of the SQL executions that wrote it and read it last, those that may read it again."""
    concerned = (last_execution(generation), generation.execution)
    return tuple(dict.fromkeys(one for one in concerned if one is not None and _may_run(state, one)))


def _may_run(state: State, execution: ExecutionId | None) -> bool:
    """An execution of whose start nothing was told runs until its end is told."""
    return execution is not None and not within(state.meta.executions_ended, execution)


def is_intact_or_let_go(state: State, app_shuffle: AppShuffle) -> bool:
    """Whether it is on disk, or was whole when a policy or Spark let it go: what was made of it needs no more of it."""
    shuffle = state.shuffles.get(app_shuffle)
    if shuffle is None:
        return True  # Spark's own cleaner let it go
    generation = state.current(app_shuffle)
    if generation is None:
        let_go = shuffle.fate is Life.DELETED and shuffle.cause in (Deletion.POLICY, Deletion.SPARK)
        return let_go and shuffle.was_whole
    if generation.life in (Life.FENCING, Life.FENCED):
        return generation.completed > 0  # given up half-written, it is nowhere
    return generation.intact


def _eager(view: View, generation: Generation) -> Expiry | None:
    """A stage has read it and written bytes."""
    return Expiry.READ if generation.reader_wrote else None


def _history(view: View, generation: Generation) -> Expiry | None:
    """As `frontier`, or earlier: read by as many stages as ever in earlier runs. What was read late there is held.

    What was read late, and by a loop round by round, is kept: this run may have more rounds.
    """
    lesson = lineages.lesson_of(view.state, generation.app_shuffle)
    if lesson is not None and generation.reads >= max(1, lesson.reads) and not lesson.loops:
        return Expiry.LEARNED
    return _frontier(view, generation) if lesson is None or not lesson.late else None


def _pressure(view: View, generation: Generation) -> Expiry | None:
    """As `reachable`. What a full disk has let go (`may_be_pressed`) stays so while a disk is full."""
    return Expiry.PRESSED if _is_pressed(view.state, generation) else _reachable(view, generation)


_RULES: dict[Rule, Callable[[View, Generation], Expiry | None]] = {
    Rule.REACHABLE: _reachable,
    Rule.FRONTIER: _frontier,
    Rule.EAGER: _eager,
    Rule.HISTORY: _history,
    Rule.PRESSURE: _pressure,
}


def may_be_pressed(view: View, generation: Generation, now_ms: int) -> bool:
    """Whether a full disk may take it although its rule has not let it go: by all that is known nobody needs it.

    It can be read, and has not been used for the grace period. Where looks are taken at all, one has seen it; no root
    of a kind that really needs what it reaches (`SURE`) reaches it. And either it lies behind the frontier, or it has
    not been used for a moment (`REST_MS`) and the SQL execution that wrote it is over: while one runs, it may still
    plan a reader.
    """
    state, policy = view.state, policy_of(view.state, generation)
    if policy.rule is not Rule.PRESSURE or generation.life is not Life.READABLE or not generation.bytes:
        return False
    if generation.used_ms + policy.grace_ms > now_ms or _barred(state, generation) is not None:
        return False
    if may_not_be_guessed(state, generation) or _is_needed(view, generation):
        return False
    is_unseen = state.meta.look is not None and not is_seen(state, generation)
    if is_unseen or view.rooted(SURE, generation.app_shuffle):
        return False
    rests = generation.used_ms + REST_MS <= now_ms and not _may_run(state, generation.execution)
    return rests or is_behind(view, generation)


def rested_ms(view: View, generation: Generation) -> int:
    """When it has not been used for long enough, in event time."""
    rest_ms = 0 if is_behind(view, generation) else REST_MS
    return generation.used_ms + max(rest_ms, policy_of(view.state, generation).grace_ms)


def is_behind(view: View, generation: Generation) -> bool:
    """Whether it lies behind the frontier: less likely to be read again than what does not."""
    return _frontier(view, generation) is not None


def wanted(view: View, generation: Generation) -> tuple[Rescue, str] | None:
    """Who wants an expired generation back, with a word for people; None where nobody does."""
    policy = policy_of(view.state, generation)
    if generation.app_shuffle in view.jobs:
        return Rescue.JOB, _holder(view, generation, "a live job")
    if generation.app_shuffle in view.recoveries:
        return Rescue.RECOVERY, "an open recovery"
    if generation.why is Expiry.PRESSED and policy.rule is Rule.PRESSURE and not view.state.meta.full:
        return Rescue.ROOM, ""
    if view.rooted(counted(view.state, generation), generation.app_shuffle):
        return Rescue.ROOT, _holder(view, generation, "a root")
    if view.state.meta.gap is not None and not policy.observe:
        return Rescue.GAP, "facts were missed"
    if released(view, generation) is None:
        return Rescue.POLICY, policy.rule.value
    return None


def _holder(view: View, generation: Generation, otherwise: str) -> str:
    return next(iter(cuts.holders(view.state, generation.app_shuffle)), otherwise)


def hold_of(state: State, generation: Generation, now_ms: int) -> tuple[Hold, int]:
    """What delays the fence, and until when in event time (0: until it changes, or at once)."""
    policy, barred = policy_of(state, generation), _barred(state, generation)
    if barred is not None:
        return barred, 0
    graced_ms = _grace_from_ms(generation, now_ms) + policy.grace_ms
    if graced_ms > now_ms:
        return Hold.GRACE, graced_ms
    if generation.hold is Hold.BACKOFF and generation.due_ms > now_ms:
        return Hold.BACKOFF, generation.due_ms
    return (Hold.PRESSURE if policy.rule is Rule.PRESSURE else Hold.NONE), 0


def _grace_from_ms(generation: Generation, now_ms: int) -> int:
    """What a full disk takes has had its grace before it was let go (`may_be_pressed`), whatever refuses its fence."""
    return generation.used_ms if generation.why is Expiry.PRESSED else generation.expired_ms or now_ms


def _barred(state: State, generation: Generation) -> Hold | None:
    """What delays the fence for as long as it is so; None: nothing."""
    shuffle = state.shuffles.get(generation.app_shuffle)
    if not state.meta.capabilities.deletes:
        return Hold.UNABLE
    if shuffle is not None and shuffle.pin is not None:
        return Hold.PIN
    if policy_of(state, generation).observe:  # behind what no policy would have deleted
        return Hold.OBSERVE
    if state.meta.suspended is not None:
        return Hold.SUSPENDED
    if shuffle is not None and _was_missed(shuffle, policy_of(state, generation).rule):
        return Hold.MISSED
    return None


def _was_missed(shuffle: Shuffle, rule: Rule) -> bool:
    """What a guess has missed says nothing of a proof: only guesses are held by it. What a proof has, holds all."""
    return shuffle.missed is not None and not (rule is Rule.REACHABLE and shuffle.missed == shuffle.guess)
