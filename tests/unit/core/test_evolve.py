"""What events mean: the same whichever way a log is folded, and nothing where they are about something unknown."""

from __future__ import annotations

import typing
from dataclasses import field, make_dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.core import events as e
from coordinator.core.digest import advance, digest, spelled, total
from coordinator.core.evolve import apply, evolve, fold
from coordinator.core.ids import AppShuffle, Sequence
from coordinator.core.lifecycle import Life
from coordinator.core.state import TABLES, Shuffle, State, copy, empty, lay_over, settle
from coordinator.core.values import Lineage, Loss
from tests.unit.core.making import STATES, state
from tests.unit.wire.strategies import records_of

KINDS = typing.get_args(e.Event)


@pytest.fixture(scope="module")
def states() -> list[State]:
    return [state(name).state for name in STATES]


def recorded(before: State, event: e.Event) -> e.Recorded:
    here = before.meta.next_sequence
    return e.Recorded(here, before.meta.time_ms + 1, here, event)


@pytest.mark.parametrize("name", STATES)
def test_every_way_of_folding_gives_the_same(name: str) -> None:
    log = state(name).witness.log
    one_by_one = empty()
    for each in log:
        one_by_one = evolve(one_by_one, each)
    for cut in range(len(log) + 1):
        snapshot = copy(fold(empty(), log[:cut]))
        assert fold(snapshot, log[cut:]) == one_by_one
    assert digest(one_by_one) == digest(fold(empty(), log))


@settings(max_examples=40)
@given(data=st.data())
def test_evolve_never_refuses_and_is_copy_and_apply(states: list[State], data: st.DataObject) -> None:
    event = data.draw(st.one_of([records_of(kind) for kind in KINDS]))
    for before in states:
        kept, at = copy(before), recorded(before, event)
        after, draft = evolve(before, at), lay_over(before)
        assert before == kept
        apply(draft, at)
        known = total(before)
        assert advance(known, draft) == total(after)
        settle(draft, kept)
        assert kept == after
        assert digest(kept) == digest(after)


#: Events that are about a generation, a directive, a recovery, an attempt or a root that must be known.
ABOUT_SOMETHING = [
    e.WriterJoined,
    e.GenerationCompleted,
    e.ReaderRegistered,
    e.OutputsLost,
    e.GenerationLost,
    e.GenerationExpired,
    e.HoldChanged,
    e.ExpiryTakenBack,
    e.FenceRequested,
    e.FenceRefused,
    e.GenerationFenced,
    e.DeleteRequested,
    e.DirectiveFailed,
    e.GenerationDeleted,
    e.RecoveryWidened,
    e.RecoveryJoined,
    e.RecoveryClosed,
    e.StageCompleted,
    e.ShuffleCleaned,
    e.RootGone,
    e.PinSet,
    e.PinRemoved,
    e.ClientDropped,
]


@pytest.mark.parametrize("kind", ABOUT_SOMETHING)
@settings(max_examples=10)
@given(data=st.data())
def test_what_is_about_something_unknown_changes_nothing(kind: type, data: st.DataObject) -> None:
    before = empty()
    after = evolve(before, recorded(before, data.draw(records_of(kind))))
    assert all(not getattr(after, name) for name in TABLES)
    expected = evolve(before, recorded(before, e.ExecutorLost("1")))
    assert after.meta == expected.meta


def test_the_digest_depends_on_records_and_not_on_order() -> None:
    one = state("fencing, asked").state
    turned = State(one.meta, *(dict(reversed(getattr(one, name).items())) for name in TABLES))
    assert digest(one) == digest(turned)
    later = evolve(one, e.Recorded(one.meta.next_sequence, one.meta.time_ms, Sequence(1), e.ExecutorLost("1")))
    assert digest(later) != digest(one)


def test_a_field_that_is_new_and_has_its_default_leaves_an_older_digest_as_it_was() -> None:
    older = make_dataclass("Row", [("a", int), ("b", int, 1)], frozen=True)
    newer = make_dataclass("Row", [("a", int), ("b", int, 1), ("c", tuple, ()), ("d", set, field(default_factory=set))])
    assert spelled(newer(5)) == spelled(older(5)) == "Row(a=5)"
    assert spelled(newer(5, c=(1,))) == "Row(a=5,c=(1))"
    assert spelled(newer(5, 2)) == spelled(older(5, 2)) != spelled(older(5))


def test_what_only_people_read_is_in_no_digest() -> None:
    """An older snapshot lacks it, and what is folded from the log has it: they are the same state."""
    older = Shuffle(Lineage(AppShuffle(1)), fate=Life.LOST)
    newer = replace(older, loss=Loss.OUTPUTS)
    assert (spelled(older), older) == (spelled(newer), newer)


def test_states_that_differ_differ_in_their_digest(states: list[State]) -> None:
    for place, one in enumerate(states):
        for other in states[:place]:
            assert (digest(one) == digest(other)) is (one == other)
