"""Schedules that must hold, and checkers that must fail."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
import structlog

from coordinator.core.events import RequestsAnswered
from coordinator.core.ids import Span
from coordinator.runtime.drafting import Draft
from coordinator.runtime.engine import Engine
from coordinator.runtime.journal import Journal, Sealed
from coordinator.wire.codec import Segment, encode_segment
from coordinator.wire.records import Head, decode, encode
from state_backend.errors import OutcomeUnknown
from state_backend.memory import MemoryBackend
from state_backend.values import Compare, Keyspace, Operation, Revision
from tests.simulation import checks, facts, run, virtual
from tests.simulation.world import World, registered

SEEDS = range(20)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    run.quiet()
    yield
    structlog.reset_defaults()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_schedule_of_faults_breaks_nothing(seed: int) -> None:
    outcome = run.run_seed(seed)
    assert outcome.wrongs == [], f"repeat it with: {outcome.rerun}"


def test_the_same_seed_is_the_same_schedule() -> None:
    assert run.run_seed(7) == run.run_seed(7)


def test_a_wait_for_nothing_is_an_error_and_not_a_hang() -> None:
    async def forever() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(virtual.Stuck):
        virtual.run(forever())


def test_an_hour_takes_a_moment() -> None:
    virtual.run(asyncio.sleep(3_600))


# ---- planted bugs: what the schedules must find ----------------------------------------------------------------------


def found(seeds: range = SEEDS) -> list[str]:
    return [wrong for seed in seeds for wrong in run.run_seed(seed).wrongs]


def test_unknown_taken_for_done_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hopeful(self: Journal, compares: Sequence[Compare], writes: Sequence[Operation]) -> Revision:
        try:
            return await self._backend.put_txn(compares, writes)
        except OutcomeUnknown:
            return Revision(1)

    monkeypatch.setattr(Journal, "_settle", hopeful)
    assert "acknowledged" in "; ".join(found())


def test_an_answer_before_its_commit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    commit = Engine._commit

    async def eager(self: Engine, made: Draft, sealed: Sealed) -> None:
        for batch, answers in made.taken:
            self._waiting.answer(batch, list(answers))
            answers.clear()
        await commit(self, made, sealed)

    monkeypatch.setattr(Engine, "_commit", eager)
    assert "acknowledged" in "; ".join(found())


def test_an_append_without_its_compare_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    settle = Journal._settle

    async def blind(self: Journal, compares: Sequence[Compare], writes: Sequence[Operation]) -> Revision:
        return await settle(self, (), writes)

    monkeypatch.setattr(Journal, "_settle", blind)
    assert found(range(6))


# ---- checkers that must fail -----------------------------------------------------------------------------------------


async def told() -> MemoryBackend:
    """A store with two jobs in it."""
    async with World() as world:
        replica = (await world.start(reap=False)).replica
        number = await registered(replica)
        for job in range(2):
            await replica.submit(facts.APP, number(facts.whole(job)))
        return world.reader()


async def wrongs_of(store: MemoryBackend, *acknowledged: int) -> str:
    return "; ".join(await checks.wrongs(store, facts.APP, {facts.DRIVER: set(acknowledged)}))


def test_a_good_store_has_nothing_wrong() -> None:
    async def story() -> None:
        assert await wrongs_of(await told(), *range(1, 15)) == ""

    virtual.run(story())


def test_a_lost_acknowledgement_is_noticed() -> None:
    async def story() -> None:
        assert "acknowledged requests" in await wrongs_of(await told(), 15)

    virtual.run(story())


def test_a_gap_a_fork_and_a_wrong_head_are_noticed() -> None:
    async def story() -> None:
        store = await told()
        entries = (await store.scan_all(Keyspace.EVENTS)).entries
        await store.delete(Keyspace.EVENTS, entries[1].key)
        assert "is followed by" in await wrongs_of(store)
        store = await told()
        log = await checks.read_log(store, facts.APP)
        twice = replace(log[-1], commit_id=log[-2].commit_id)
        await store.put(Keyspace.EVENTS, entries[-1].key, encode_segment(twice))
        assert "is in the log 2 times" in await wrongs_of(store)
        head = (await store.get(Keyspace.HEADS, facts.APP)).entry
        assert head is not None
        behind = replace(decode(Head, head.value, "head"), next_sequence=log[-1].records[0].sequence)
        await store.put(Keyspace.HEADS, facts.APP, encode(behind))
        assert "the head says" in await wrongs_of(store)

    virtual.run(story())


def test_a_request_that_was_answered_twice_is_noticed() -> None:
    async def story() -> None:
        store = await told()
        log = await checks.read_log(store, facts.APP)
        entry = (await store.scan_all(Keyspace.EVENTS)).entries[-1]
        await store.put(Keyspace.EVENTS, entry.key, encode_segment(_answering_again(log[-1])))
        assert "was answered 2 times" in await wrongs_of(store)

    virtual.run(story())


def _answering_again(segment: Segment) -> Segment:
    *others, last = segment.records
    assert isinstance(last.event, RequestsAnswered)
    event = replace(last.event, answered=(Span(1, 1),))
    return replace(segment, records=(*others, replace(last, event=event)))


def test_what_was_let_go_and_not_deleted_is_noticed() -> None:
    async def story() -> None:
        state = checks.fold_log(await checks.read_log(await told(), facts.APP))
        assert "directives are left" in "; ".join(checks.unfinished(state))

    virtual.run(story())


def test_records_that_are_not_what_the_log_says_are_noticed() -> None:
    async def story() -> None:
        store = await told()
        key = (await store.scan_keys(Keyspace.LIVE)).keys[0]
        await store.mv(Keyspace.LIVE, Keyspace.FENCED, key, (await _revision(store, key)))
        assert "records are" in await wrongs_of(store)
        await store.put(Keyspace.LOST, facts.APP, b"1-2")
        assert "tombstones are" in await wrongs_of(store)

    virtual.run(story())


async def _revision(store: MemoryBackend, key: str) -> Revision:
    entry = (await store.get(Keyspace.LIVE, key)).entry
    assert entry is not None
    return entry.revision
