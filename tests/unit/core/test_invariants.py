"""Each check has a state, or a step, in which it must fail; and the incremental form finds the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from coordinator.core import events as e
from coordinator.core import steps
from coordinator.core.evolve import evolve
from coordinator.core.ids import (
    AppShuffle,
    ClientId,
    DirectiveId,
    RecoveryId,
    Sequence,
    ShuffleId,
    Span,
    StageAttempt,
    StageId,
)
from coordinator.core.invariants import check, check_changes
from coordinator.core.lifecycle import Life
from coordinator.core.state import Client, Directive, State, copy, edit, lay_over, replaced_by
from coordinator.core.values import Deletion, DirectiveKind, Ending, Expiry, Hold
from tests.scenarios.story import EAGER, REACHABLE, Story, delayed
from tests.unit.core.making import STATES, state

A1 = ShuffleId(1)
A = AppShuffle(0)
S9 = StageAttempt(StageId(9), 0)
Break = Callable[[State], None]


def meta(**fields: Any) -> Break:
    def work(state: State) -> None:
        state.meta = replace(state.meta, **fields)

    return work


def generation(**fields: Any) -> Break:
    return lambda state: edit(state.generations, A1, **fields)


def of_shuffle(**fields: Any) -> Break:
    return lambda state: edit(state.shuffles, A, **fields)


def put(table: str, key: Any, record: Any) -> Break:
    return lambda state: getattr(state, table).__setitem__(key, record)


def drop(table: str, key: Any) -> Break:
    return lambda state: getattr(state, table).__delitem__(key)


#: State, what breaks it, and a word of each violation that must be found.
BROKEN: list[tuple[str, Break, str]] = [
    ("readable", meta(ending=Ending.ENDED), "has ended and jobs"),
    ("expired", meta(ending=Ending.ENDED), "wait for nobody"),
    ("readable", meta(lost=(Span(7, 7),)), "never written"),
    ("readable", meta(next_shuffle_id=ShuffleId(1)), "was never given out"),
    ("readable", meta(lost=(Span(1, 1),)), "alive and lost"),
    ("readable", generation(life=Life.DELETED), "its record is still there"),
    ("readable", generation(complete=False), "readable and not complete"),
    ("writing", generation(complete=True), "writing and complete"),
    ("expired", generation(why=None), "nothing says why"),
    ("expired", generation(readers=frozenset({S9})), "is expired and in use"),
    ("fenced", generation(writers=frozenset({S9})), "is fenced and in use"),
    ("readable", generation(readers=frozenset({S9})), "is read by 9.0, whose end"),
    ("readable", generation(writers=frozenset({S9})), "is written by 9.0, whose end"),
    ("expired", generation(hold=Hold.NONE), "neither held nor fenced"),
    ("expired", generation(due_ms=0), "until a time that is not told"),
    ("expired", generation(hold=Hold.BACKOFF, due_ms=0), "until a time that is not told"),
    ("read", generation(readers=frozenset()), "reads 1, which does not know it"),
    ("retrying", generation(retrying=frozenset()), "reads 1, which does not know it"),
    ("fencing", generation(directive=None), "no fence directive"),
    ("fenced", generation(directive=DirectiveId(1)), "no delete directive"),
    ("readable", generation(directive=DirectiveId(1)), "names directive 1"),
    ("readable", drop("shuffles", A), "does not know it"),
    ("readable", of_shuffle(current=ShuffleId(2)), "beside the later generation"),
    ("readable", of_shuffle(fate=Life.DELETED, cause=Deletion.SPARK), "has a fate and lives"),
    ("deleted", of_shuffle(fate=None), "nothing says how"),
    ("deleted", of_shuffle(cause=None), "is deleted and nothing says why"),
    ("deleted", of_shuffle(missed=ShuffleId(5)), "was missed as 5"),
    ("writing", generation(writers=frozenset()), "writes 1, which does not know it"),
    ("fencing", meta(next_directive=DirectiveId(1)), "was never given out"),
    ("fencing", drop("generations", A1), "does not wait for it"),
    (
        "readable",
        put("directives", DirectiveId(1), Directive(DirectiveId(1), DirectiveKind.INVALIDATE, A1, A)),
        "which is alive",
    ),
    ("deleted, being written again", meta(next_recovery=RecoveryId(1)), "was never given out"),
    ("deleted, being written again", put("recovered", A1, RecoveryId(0)), "and so does 0"),
    ("deleted, being written again", put("recovered", A1, RecoveryId(9)), "which does not exist"),
    ("deleted, being written again", lambda s: edit(s.recoveries, RecoveryId(1), awaited=(ShuffleId(2),)), "awaits"),
    ("readable", put("clients", ClientId("x"), Client(ClientId("x"), 0, (Span(1, 5_000),))), "unconfirmed"),
    ("readable", put("clients", ClientId("x"), Client(ClientId("x"), 9, (Span(3, 5),))), "out of order"),
]


@pytest.mark.parametrize(("name", "spoil", "word"), BROKEN, ids=[word for _, _, word in BROKEN])
def test_each_check_can_fail(name: str, spoil: Break, word: str) -> None:
    before = state(name).state
    assert check(before) == ()
    draft = lay_over(before)
    spoil(draft)
    assert any(word in str(violation) for violation in check(draft)), check(draft)
    assert check_changes(draft, before.meta, replaced_by(draft)) == check(draft)


def test_an_older_generation_that_was_forgotten_with_its_app_shuffle_is_found() -> None:
    """A1 is fenced and not deleted yet, A2 was written since; Spark lets A go, and only A2 is closed."""
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.fenced()
    story.whole("s2>A, s3:A.")
    assert story.lives() == "A1 fenced, A2 readable"
    draft = lay_over(story.state)
    drop("generations", story.teller.id_of("A2"))(draft)
    drop("shuffles", A)(draft)
    found = check_changes(draft, story.state.meta, replaced_by(draft))
    assert [str(one) for one in found] == ["4 ids: generations 1 is of app shuffle 0, which does not know it"]
    assert found == check(draft)


def test_and_where_its_app_shuffle_goes_back_to_an_earlier_one() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.fenced()
    story.whole("s2>A, s3:A.")
    draft = lay_over(story.state)
    of_shuffle(current=None)(draft)
    assert check_changes(draft, story.state.meta, replaced_by(draft)) == check(draft)


@pytest.mark.parametrize("name", STATES)
def test_the_constructed_states_are_right(name: str) -> None:
    right = state(name).state
    assert check(right) == ()
    assert check_changes(right, right.meta, {}) == ()


# --- steps ------------------------------------------------------------------------------------------------------------


def graced() -> Story:
    """A1 is expired under `reachable` and waits."""
    story = Story(delayed(REACHABLE, 1_000))
    story.whole("s0>A, s1:A!")
    story.look("")
    return story


def a_job(spoiled: State) -> None:
    story = graced()
    story.job("s2>A, s3:A!")
    spoiled.jobs.update(story.state.jobs)


def a_root(spoiled: State) -> None:
    story = graced()
    story.look("A")
    spoiled.roots.update(story.state.roots)


FENCE_A1 = e.FenceRequested(DirectiveId(1), A1)
STEPS: list[tuple[Callable[[], Story], Break, e.Event, str]] = [
    (lambda: state("readable"), meta(), FENCE_A1, "fences what is not expired"),
    (graced, generation(readers=frozenset({S9})), FENCE_A1, "which is in use"),
    (graced, a_job, FENCE_A1, "which a live job reaches"),
    (graced, a_root, FENCE_A1, "which a root reaches"),
    (graced, generation(completed=Sequence(10_000)), FENCE_A1, "at which no look has looked"),
    (graced, lambda s: meta(policy=replace(s.meta.policy, observe=True))(s), FENCE_A1, "while nothing may be deleted"),
    (graced, meta(), e.FenceRequested(DirectiveId(7), A1), "the next directive"),
    (graced, generation(rested=Sequence(10_000)), FENCE_A1, "at which no look has looked"),
    (graced, meta(), e.GenerationFenced(DirectiveId(1), A1), "whose fence was not asked for"),
    (lambda: state("fenced"), meta(), e.DeleteRequested(DirectiveId(1), A1), "the next directive"),
    (lambda: state("lost"), meta(), e.InvalidateRequested(DirectiveId(7), A1, A), "the next directive"),
    (graced, meta(), e.GenerationDeleted(A1, Deletion.POLICY), "which is not fenced"),
    (graced, meta(), e.GenerationDeleted(A1, Deletion.SPARK, bytes=3), "bytes that we have not freed"),
    (graced, meta(), e.ReaderRegistered(A1, S9), "gone or let go"),
    (graced, meta(), e.GenerationStarted(ShuffleId(9), A, S9), "the next id"),
    (
        lambda: state("deleted, being written again"),
        meta(),
        e.RecoveryOpened(RecoveryId(2), A1, None, (A1,)),
        "for which another one answers",
    ),
    (lambda: state("deleted"), meta(), e.RecoveryOpened(RecoveryId(1), A1, None, ()), "which was missed"),
    (lambda: state("deleted"), meta(recoveries=256), e.RecoveryOpened(RecoveryId(1), A1, None, (A1,)), "one more"),
    (lambda: state("deleted"), meta(), e.RecoveryOpened(RecoveryId(2), A1, None, (A1,)), "the next recovery"),
    (
        lambda: state("deleted"),
        of_shuffle(recoveries=4),
        e.RecoveryOpened(RecoveryId(1), A1, None, (A1,)),
        "one more of app shuffle 0 than 4",
    ),
    (lambda: state("readable"), meta(), e.RecoveryOpened(RecoveryId(1), A1, None, (A1,)), "names 1, which is readable"),
    (lambda: state("readable"), meta(), e.RecoveryWidened(RecoveryId(1), A1), "names 1, which is readable"),
    (
        lambda: state("deleted, being written again"),
        meta(),
        e.RecoveryWidened(RecoveryId(1), A1),
        "another one answers",
    ),
    (lambda: state("deleted, being written again"), meta(), e.PrematureDeletion(A1, None), "a second time"),
]


NAMES = [f"{type(event).__name__}, {word}" for _, _, event, word in STEPS]


@pytest.mark.parametrize(("make", "spoil", "event", "word"), STEPS, ids=NAMES)
def test_each_step_can_be_wrong(make: Callable[[], Story], spoil: Break, event: e.Event, word: str) -> None:
    before = copy(make().state)
    spoil(before)
    found = steps.check_step(before, step(before, event), evolve(before, step(before, event)))
    assert any(word in str(violation) for violation in found), found


def step(before: State, event: e.Event) -> e.Recorded:
    here = before.meta.next_sequence
    return e.Recorded(here, before.meta.time_ms, here, event)


def test_a_step_out_of_its_place() -> None:
    before = state("readable").state
    at = e.Recorded(Sequence(3), before.meta.time_ms - 5, Sequence(99), e.ExecutorLost("1"))
    found = " ".join(map(str, steps.check_step(before, at, evolve(before, at))))
    for word in ("comes where", "5 ms earlier", "follows from 99", "takes next_sequence back"):
        assert word in found


def test_a_life_that_leaves_the_table() -> None:
    before = state("fenced").state
    after = copy(before)
    edit(after.generations, A1, life=Life.READABLE)
    at = step(before, e.ExecutorLost("1"))
    assert "from fenced to readable" in str(steps.check_step(before, at, after)[0])
    del after.generations[A1]
    assert "takes generation 1 away" in str(steps.check_step(before, at, after)[0])


def test_a_command_that_moves_more_than_it_may_is_found() -> None:
    log = [
        e.Recorded(Sequence(n), 0, Sequence(1), e.GenerationExpired(ShuffleId(n), Expiry.READ, Hold.OBSERVE))
        for n in range(1, 60)
    ]
    assert "moves 59" in str(steps.check_command(log)[0])
    assert steps.check_command(log[:48]) == ()
