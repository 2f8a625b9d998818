"""What stands beside the log: records where they belong, tombstones as ranges, views as people read them."""

from __future__ import annotations

import pytest

from coordinator.core.commands import EndApplication, ReportStageCompleted, SetPin
from coordinator.core.events import GenerationLost, Recorded
from coordinator.core.evolve import apply_alone
from coordinator.core.ids import AppShuffle, Sequence, ShuffleId, Span
from coordinator.core.lifecycle import Life
from coordinator.core.state import Generation, copy, empty
from coordinator.core.values import DirectiveKind, Loss
from coordinator.runtime import moves, places, views
from coordinator.wire.records import GenerationRecord, decode
from state_backend.values import Keyspace, Put
from tests.scenarios.story import Story, attempt_of
from tests.simulation import facts, virtual
from tests.simulation.world import World, registered


def test_tombstones_are_ranges_that_people_can_read() -> None:
    state = empty()
    state.meta = state.meta.__class__(next_shuffle_id=ShuffleId(11), lost=(Span(4, 5),))
    for alive in (1, 7, 8):
        state.generations[ShuffleId(alive)] = Generation(ShuffleId(alive), AppShuffle(alive))
    assert (moves.deleted_text(state), moves.lost_text(state)) == (b"2-3,6,9-10", b"4-5")
    assert (moves.deleted_text(empty()), moves.lost_text(empty())) == (b"", b"")


def test_however_losses_and_deletions_alternate_a_transaction_can_hold_the_tombstones() -> None:
    """250,000 generations, the odd ones deleted, the even ones lost: 0.9 MB of ranges in each record."""
    below = empty()
    last = ShuffleId(250_001)
    lost = tuple(Span(even, even) for even in range(2, last, 2))
    below.meta = below.meta.__class__(next_shuffle_id=ShuffleId(last + 1), lost=lost)
    below.generations[last] = Generation(last, AppShuffle(0), Life.FENCED)
    draft = copy(below)
    at = Recorded(Sequence(1), 0, Sequence(1), GenerationLost(last, Loss.OUTPUTS))
    apply_alone(draft, at)
    written = moves.operations(facts.APP, below, draft, [at])
    assert sum(len(one.value) for one in written if isinstance(one, Put)) < 50_000
    text = moves.deleted_text(draft).decode()
    assert (text[:11], text[-14:]) == ("...,248001,", ",249997,249999")


def test_every_state_of_life_has_a_keyspace() -> None:
    assert set(places.OF_LIFE) == set(Life)


def test_keys_are_read_back() -> None:
    application = facts.APP
    assert places.application_of(places.segment(application, 7)) == application
    assert places.first_sequence_of(places.segment(application, 7)) == 7
    assert places.segment(application, 9) < places.segment(application, 10)
    assert places.snapshot_of(places.snapshot_part(application, 7, 2)) == 7


@pytest.mark.parametrize("more", ["x", "7", "0007"])
def test_a_key_with_parts_that_no_such_key_has_is_damaged(more: str) -> None:
    segment = places.segment(facts.APP, 7)
    assert places.first_sequence_of(f"{segment}/{more}") is None
    assert not places.begins_by(f"{segment}/{more}", 7)
    assert places.snapshot_of(segment) is None
    assert places.snapshot_of(f"{places.snapshot_part(facts.APP, 7, 2)}/{more}") is None
    assert places.snapshot_of(f"{segment}/{more}") is None
    assert places.first_sequence_of(facts.APP) is None


def test_a_thousand_deletions_leave_one_record() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            for job in range(200):
                await replica.submit(facts.APP, number(facts.whole(job)))
            await replica.submit(facts.APP, number([EndApplication()]))
            await virtual.moment()
            store = world.reader()
            entries = (await store.scan_all(Keyspace.DELETED)).entries
            assert [(entry.key, entry.value) for entry in entries] == [(facts.APP, b"1-200")]
            for keyspace in (Keyspace.LIVE, Keyspace.EXPIRED, Keyspace.FENCED, Keyspace.SESSIONS):
                assert not (await store.scan(keyspace)).entries

    virtual.run(story())


def test_a_record_says_what_a_failed_attempt_has_left() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.submit("s0")
    below = copy(story.state)
    story.do(ReportStageCompleted(attempt_of("s0"), "boom", shuffle_bytes_written=7))
    (put,) = moves.operations(facts.APP, below, story.state, story.log)
    assert isinstance(put, Put)
    assert decode(GenerationRecord, put.value, "here").bytes == 7


def test_views_say_what_the_state_says() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            await replica.submit(facts.APP, number([*facts.whole(0), *facts.writes(1), *facts.reads(1)]))
            await replica.submit(facts.APP, number([SetPin(AppShuffle(1), "mine")]))
            state = await replica.view(facts.APP)
            assert [(held.life, held.generations) for held in views.held(state)] == [
                (Life.READABLE, 1),
                (Life.FENCING, 1),
            ]
            assert views.pins(state) == (AppShuffle(1),)
            graph = views.graph(state)
            assert graph.sequence == state.meta.next_sequence - 1
            assert [generation.shuffle_id for generation in graph.generations] == [1, 2]
            assert [stage.stage for stage in graph.stages] == [facts.attempt(3)]
            (fence,) = views.outstanding(state)
            assert (fence.kind, fence.app_shuffle) == (DirectiveKind.FENCE, AppShuffle(0))

    virtual.run(story())
