"""What a fact concerns is what it speaks of, however much else there is.

That it is never too little is tested with every commit of the property machine, against evaluating everything.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from coordinator.core import events as e
from coordinator.core.desk import Desk
from coordinator.core.ids import AppShuffle, ExecutionId, LookId, Sequence, ShuffleId
from coordinator.core.lifecycle import Life
from coordinator.core.state import Generation, Root, Shuffle, State, empty
from coordinator.core.values import Hold, Lineage, RootKind

MANY = 50


def many() -> State:
    """So many app shuffles, each written by an execution of its own and seen by the last look, and a root for each."""
    state = empty()
    state.meta = replace(state.meta, look=LookId(1), look_sequence=Sequence(90), seen_sequence=Sequence(50))
    for number in range(MANY):
        app_shuffle, shuffle_id = AppShuffle(number), ShuffleId(number + 1)
        state.shuffles[app_shuffle] = Shuffle(Lineage(app_shuffle, maps=1), current=shuffle_id)
        state.generations[shuffle_id] = Generation(
            shuffle_id, app_shuffle, Life.READABLE, True, completed=Sequence(40), execution=ExecutionId(number)
        )
        state.roots[str(number)] = Root(str(number), RootKind.HANDLE, frozenset({app_shuffle}), "")
    return state


def generation(state: State, number: int, **fields: object) -> None:
    known = state.generations[ShuffleId(number + 1)]
    state.generations[known.shuffle_id] = replace(known, **fields)  # type: ignore[arg-type]


def concerned(state: State, event: e.Event | None, now_ms: int = 0) -> set[int] | None:
    desk = Desk.over(state, now_ms)
    if event is not None:
        desk.emit(event)
    found = desk.take_concerned()
    return None if found is None else set(found)


def cut(kind: RootKind, added: tuple[int, ...] = (), removed: tuple[int, ...] = ()) -> e.CutReported:
    return e.CutReported(LookId(2), "7", kind, tuple(map(AppShuffle, added)), tuple(map(AppShuffle, removed)))


@pytest.mark.parametrize(
    ("event", "those"),
    [
        (e.ExecutionEnded(ExecutionId(3), failed=False), {3, 9}),
        (e.RootGone("7"), {7}),
        (cut(RootKind.HANDLE, added=(8,)), {8}),
        (cut(RootKind.HANDLE, removed=(7,)), {7}),
        (cut(RootKind.PLAN, added=(8,)), {7, 8}),
        (e.LookEnded(LookId(1)), {5, 6}),
        (None, set()),
    ],
)
def test_a_fact_concerns_what_it_speaks_of(event: e.Event | None, those: set[int]) -> None:
    state = many()
    generation(state, 9, last_read_execution=ExecutionId(3))
    generation(state, 5, completed=Sequence(60))
    generation(state, 6, rested=Sequence(95))
    assert concerned(state, event) == those


def test_a_timer_concerns_what_is_due() -> None:
    state = many()
    for number, due_ms in enumerate((1_000, 2_000, 3_000, 0)):
        generation(state, number, life=Life.EXPIRED, hold=Hold.GRACE, due_ms=due_ms)
    assert concerned(state, None, now_ms=2_000) == {0, 1}


def test_what_speaks_of_everything_concerns_everything() -> None:
    assert concerned(many(), e.DeletionResumed("somebody")) is None
