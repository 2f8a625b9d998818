"""What a stage that has missed something needs, up the lineage.

Responsible for walking from the asking stage, and from the live jobs that come to the missing app shuffle, and for
sorting what it meets: gone, expired, being fenced, half-written. Refuses to know what is done about it (``recovery``).
Invariant: nothing is changed here; what another recovery answers for is not named as gone again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from coordinator.core import cuts
from coordinator.core.ids import AppShuffle, ShuffleId, StageAttempt
from coordinator.core.lifecycle import Life
from coordinator.core.state import Generation, Shuffle, State, is_answered


@dataclass(slots=True)
class Plan:
    """What the asking stage needs and cannot simply read, up the lineage. Ids in the order of the walk."""

    gone: list[ShuffleId] = field(default_factory=list)  #: To be written again.
    recoveries: int = 0  #: Of the one of them that was recovered most often since it was read to its end.
    half_written: Generation | None = None  #: The asking stage's own output, where it cannot be completed.
    rescued: list[ShuffleId] = field(default_factory=list)  #: Expired: readable again from now on.
    awaited: list[ShuffleId] = field(default_factory=list)  #: Being fenced: the outcome decides.
    partial: list[AppShuffle] = field(default_factory=list)  #: Those whose generation is incomplete.
    lineage_known: bool = True  #: Of the app shuffle that was missed.

    def write_anew(self, shuffle_id: ShuffleId, shuffle: Shuffle) -> None:
        """One more that has to be written again."""
        self.gone.append(shuffle_id)
        self.recoveries = max(self.recoveries, shuffle.recoveries)


def plan_for(state: State, app_shuffle: AppShuffle, attempt: StageAttempt | None) -> Plan:
    """What a recovery of the app shuffle's gone generation has to name, for a stage that has missed it."""
    plan = needed_by(state, app_shuffle, attempt)
    half = plan.half_written = half_written(state, app_shuffle, attempt)
    if half is not None and not is_answered(state, half.shuffle_id):
        plan.write_anew(half.shuffle_id, state.shuffles[half.app_shuffle])
    return plan


def needed_by(state: State, app_shuffle: AppShuffle, attempt: StageAttempt | None) -> Plan:
    """The same without the asking stage's own output: what lies behind it, and behind the live jobs that reach it."""
    plan = Plan(lineage_known=state.shuffles[app_shuffle].told)
    _walk(state, (app_shuffle, *_starts(state, app_shuffle, attempt)), plan)
    return plan


def half_written(state: State, app_shuffle: AppShuffle | None, attempt: StageAttempt | None) -> Generation | None:
    """The output that the asking stage has begun, where its service cannot complete a generation; else None.

    The part that it has written was computed from the old generation of the missing input.
    """
    asking = state.attempts.get(attempt) if attempt is not None else None
    if asking is None or asking.writing is None or state.meta.capabilities.completes_after_loss:
        return None
    written = state.generations.get(asking.writing)
    is_half = written is not None and not written.complete and written.life in (Life.WRITING, Life.PARTIAL)
    return written if is_half and app_shuffle in asking.reads else None


def _starts(state: State, app_shuffle: AppShuffle, attempt: StageAttempt | None) -> Iterable[AppShuffle]:
    asking = state.attempts.get(attempt) if attempt is not None else None
    if asking is not None and app_shuffle in asking.reads:
        yield from asking.reads
    for _, job in sorted(state.jobs.items()):
        starts = cuts.starts_of(job)
        if app_shuffle in cuts.reached(state, starts):
            yield from starts


def _walk(state: State, starts: Iterable[AppShuffle], plan: Plan) -> None:
    seen: set[AppShuffle] = set()
    to_see = list(reversed(list(starts)))
    while to_see:
        app_shuffle = to_see.pop()
        if app_shuffle in seen:
            continue
        seen.add(app_shuffle)
        if _note(state, app_shuffle, plan):
            to_see.extend(reversed(cuts.reads_of(state, app_shuffle)))


def _note(state: State, app_shuffle: AppShuffle, plan: Plan) -> bool:
    """Puts one app shuffle into the plan. Answers whether what its map stage reads is needed too."""
    shuffle = state.shuffles.get(app_shuffle)
    if shuffle is None or shuffle.current is None:
        return shuffle is not None
    generation = state.generations.get(shuffle.current)
    if generation is None or generation.life is Life.FENCED:
        if not is_answered(state, shuffle.current):
            plan.write_anew(shuffle.current, shuffle)
        return True
    if generation.life is Life.EXPIRED:
        plan.rescued.append(generation.shuffle_id)
    elif generation.life is Life.FENCING:
        plan.awaited.append(generation.shuffle_id)
    if not generation.complete:
        plan.partial.append(app_shuffle)
    return not generation.complete


def mixing(state: State, plan: Plan) -> tuple[ShuffleId, ...]:
    """The generations that are incomplete, and would be completed from inputs that are computed again."""
    gone = frozenset(plan.gone)
    mixed = (_mixed(state, gone, app_shuffle) for app_shuffle in plan.partial)
    return tuple(current for current in mixed if current is not None)


def _mixed(state: State, gone: frozenset[ShuffleId], app_shuffle: AppShuffle) -> ShuffleId | None:
    """The app shuffle's generation, where something behind it is gone and it is not gone itself; else None."""
    current = state.shuffles[app_shuffle].current
    behind = cuts.reached(state, cuts.reads_of(state, app_shuffle))
    is_anew = any(state.shuffles[one].current in gone for one in behind if one in state.shuffles)
    return current if is_anew and current not in gone else None
