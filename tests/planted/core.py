"""Mistakes in the rules.

Responsible for bugs in the core. Refuses to know replicas and stores. Invariant: each is planted where the code looks
it up, so that whoever uses the rule meets the bug.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from coordinator.core import (
    answers,
    cuts,
    directives,
    evolve,
    fold_generation,
    fold_stages,
    missing,
    numbering,
    planning,
    policies,
    readers,
    recovery,
    sweep,
)
from coordinator.core import events as e
from coordinator.core.desk import Desk
from coordinator.core.ids import AppShuffle, ShuffleId
from coordinator.core.lifecycle import Life
from coordinator.core.rejections import Answer, Ready
from coordinator.core.state import Attempt, Generation, State, lay_over
from coordinator.core.tally import Tally
from coordinator.core.values import Expiry, Hold, Locator, Pressed, Rule
from tests.planted.bug import CORE, RUNTIME, SCENARIOS, Patch, bug

# ---- recovery and asking ---------------------------------------------------------------------------------------------


@bug(
    "the dedup race as first published: a late report of an old generation is taken for one of the present generation",
    f"{SCENARIOS}/test_losses.py::test_26_the_dedup_race",
)
def a_late_report_hits_the_next_generation(patch: Patch) -> None:
    patch.setattr(missing, "_report_older", lambda desk, command, _: missing._report_current(desk, command))


@bug(
    "every report opens a recovery of its own",
    f"{RUNTIME}/test_replicas.py::test_27_two_reports_of_one_loss_on_two_replicas_are_one_recovery",
)
def a_recovery_for_every_report(patch: Patch) -> None:
    def answer(desk: Desk, app_shuffle: AppShuffle, stage: Any, detail: str = "") -> Any:
        gone = desk.state.shuffles[app_shuffle].current
        assert gone is not None
        return recovery.open_for(desk, app_shuffle, gone, stage)

    patch.setattr(recovery, "answer", answer)


@bug(
    "a recovery names what was asked for and not what is gone behind it",
    f"{SCENARIOS}/test_recovering.py::test_25_one_recovery_names_all_that_is_gone_and_what_would_mix",
)
def a_recovery_that_looks_no_further(patch: Patch) -> None:
    walk = planning._walk
    patch.setattr(planning, "_walk", lambda state, starts, plan: walk(_blind(state), tuple(starts)[:1], plan))


def _blind(state: State) -> State:
    shuffles = {key: replace(each, lineage=replace(each.lineage, reads=())) for key, each in state.shuffles.items()}
    return replace(state, shuffles=shuffles)


@bug(
    "an empty answer for a shuffle that nobody knows",
    f"{SCENARIOS}/test_asking.py::test_36_never_heard_of",
)
def answer_empty_for_unknown(patch: Patch) -> None:
    for place in (answers, readers, missing):
        patch.setattr(place, "unknown", lambda state, app_shuffle: Ready(ShuffleId(0)))


@bug(
    "who asks while a fence is under way is given the id: what it reads may be gone a moment later",
    f"{SCENARIOS}/test_deleting.py::test_19a_who_asks_while_fencing_waits",
)
def an_id_while_it_is_being_fenced(patch: Patch) -> None:
    ask = readers.ask_to_read

    def generous(desk: Desk, app_shuffle: AppShuffle, stage: Any) -> Answer:
        generation = desk.state.current(app_shuffle)
        if generation is not None and generation.life is Life.FENCING:
            return Ready(generation.shuffle_id, generation.locator)
        return ask(desk, app_shuffle, stage)

    for place in (readers, missing):
        patch.setattr(place, "ask_to_read", generous)


# ---- ids -------------------------------------------------------------------------------------------------------------


@bug(
    "the id of a generation that was lost is given out again", f"{SCENARIOS}/test_living.py::test_ids_are_never_reused"
)
def reuse_an_id(patch: Patch) -> None:
    bury = fold_generation._bury

    def recycle(state: State, generation: Generation, life: Life, cause: Any = None, loss: Any = None) -> None:
        bury(state, generation, life, cause, loss)
        if generation.shuffle_id == state.meta.next_shuffle_id - 1:
            state.meta = replace(state.meta, next_shuffle_id=generation.shuffle_id)

    patch.setattr(fold_generation, "_bury", recycle)


# ---- letting go ------------------------------------------------------------------------------------------------------


@bug(
    "skipped ancestors are forgotten: a cut ends at what is read directly",
    f"{SCENARIOS}/test_roots.py::test_a_root_whose_shuffle_lost_outputs_needs_what_is_behind",
)
def forget_skipped_ancestors(patch: Patch) -> None:
    patch.setattr(cuts, "reached", lambda state, starts, stop_at_losses=False: set(starts))


@bug(
    "what a registered reader reads is let go",
    f"{SCENARIOS}/test_chains.py::test_8_and_by_a_reader_that_asks",
)
def fence_under_a_reader(patch: Patch) -> None:
    patch.setattr(Generation, "in_use", property(lambda self: bool(self.writers)))


@bug(
    "a reader that failed counts no more, though its retry will read again",
    f"{SCENARIOS}/test_chains.py::test_7_a_cancelled_job_stops_reading",
)
def forget_the_retry(patch: Patch) -> None:
    def forget(state: State, at: e.Recorded, attempt: Attempt, written_bytes: int) -> None:
        fold_stages.forget_attempt(state, at, attempt)

    patch.setattr(fold_stages, "_fail_attempt", forget)


@bug("deleted at once, without a fence", f"{SCENARIOS}/test_chains.py::test_1_a_chain_is_deleted_behind_the_job")
def delete_without_a_fence(patch: Patch) -> None:
    def at_once(
        desk: Desk, generation: Generation, why: Expiry | None, pressed: Pressed | None = None
    ) -> e.DeleteRequested:
        return e.DeleteRequested(desk.state.meta.next_directive, generation.shuffle_id, Locator())

    patch.setattr(sweep, "_fence", at_once)


@bug(
    "a deletion that failed is asked again for whatever generation is there by then",
    f"{SCENARIOS}/test_deleting.py::test_23_a_failed_deletion_is_tried_again_for_its_own_generation",
)
def retry_a_delete_on_the_next_generation(patch: Patch) -> None:
    failed = fold_generation._directive_failed

    def on_the_next(state: State, at: e.Recorded, event: e.DirectiveFailed) -> None:
        failed(state, at, event)
        directive = state.directives.get(event.directive)
        current = state.current(directive.app_shuffle) if directive is not None else None
        if directive is not None and current is not None:
            state.directives[event.directive] = replace(directive, shuffle_id=current.shuffle_id)

    patch.setitem(evolve._APPLY, e.DirectiveFailed, on_the_next)


@bug("`observe` deletes", f"{SCENARIOS}/test_holds.py::test_14_observe_decides_and_fences_nothing")
def observe_that_deletes(patch: Patch) -> None:
    hold_of = policies.hold_of

    def heedless(state: State, generation: Generation, now_ms: int) -> tuple[Hold, int]:
        hold, due_ms = hold_of(state, generation, now_ms)
        return (Hold.NONE, 0) if hold is Hold.OBSERVE else (hold, due_ms)

    patch.setattr(policies, "hold_of", heedless)


@bug(
    "`pressure` takes what a running plan or a persisted RDD needs, not only what the program merely holds",
    f"{SCENARIOS}/test_pressure.py::test_what_is_needed_for_sure_never_goes",
)
def press_what_is_needed_for_sure(patch: Patch) -> None:
    patch.setattr(policies, "SURE", frozenset())


@bug(
    "facts were missed, and what follows from the others is done all the same",
    f"{SCENARIOS}/test_gaps.py::test_16_a_gap_stops_expiry_until_the_jobs_of_then_have_ended",
)
def ignore_a_gap(patch: Patch) -> None:
    patch.setitem(evolve._APPLY, e.GapRecorded, _nothing)


def _nothing(state: State, at: e.Recorded, event: e.Event) -> None:
    """It is recorded, and changes nothing."""


@bug(
    "a look lets go what was completed after it had begun",
    f"{SCENARIOS}/test_roots.py::test_18f_what_completes_between_a_look_and_its_end_waits_for_the_next",
)
def trust_an_older_look(patch: Patch) -> None:
    patch.setitem(policies._RULES, Rule.REACHABLE, lambda look, generation: Expiry.UNREACHABLE)


@bug(
    "who waited while a generation was fenced is not told to recover",
    f"{SCENARIOS}/test_deleting.py::test_19a_who_asks_while_fencing_waits",
)
def forget_who_waited_for_a_fence(patch: Patch) -> None:
    fenced = directives._fenced

    def silently(desk: Desk, directive: Any, generation: Generation, outcome: Any) -> None:
        fenced(desk, directive, replace(generation, readers=frozenset(), writers=frozenset()), outcome)

    patch.setattr(directives, "_fenced", silently)


# ---- requests --------------------------------------------------------------------------------------------------------


@bug(
    "a number that was answered is carried out again",
    f"{CORE}/test_decide.py::test_the_same_number_twice_in_a_commit_is_carried_out_once",
)
def forget_what_was_answered(patch: Patch) -> None:
    patch.setattr(numbering, "within", lambda spans, number: False)
    patch.setattr(Tally, "__post_init__", lambda self: setattr(self, "highest", self.confirmed))


@bug(
    "whatever is below the highest number counts as answered",
    f"{CORE}/test_decide.py::test_numbers_that_come_late_are_carried_out",
)
def take_a_late_number_for_a_repeat(patch: Patch) -> None:
    patch.setattr(numbering, "within", lambda spans, number: True)


@bug(
    "a client confirms answers that it never got",
    f"{CORE}/test_decide.py::test_nobody_confirms_more_than_was_answered",
)
def confirm_without_a_bound(patch: Patch) -> None:
    def confirm(self: Tally, confirmed: int) -> None:
        self.confirmed, self.changed = max(self.confirmed, confirmed), True

    patch.setattr(Tally, "confirm", confirm)


@bug(
    "the replica's own clock dates events, ahead or behind",
    f"{CORE}/test_decide.py::test_event_time_never_runs_backwards",
)
def date_events_by_the_local_clock(patch: Patch) -> None:
    def over(cls: type[Desk], state: State, now_ms: int) -> Desk:
        return cls(lay_over(state), now_ms)

    patch.setattr(Desk, "over", classmethod(over))
