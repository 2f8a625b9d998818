"""Group commit: what waits is decided together, and durable before it is told.

Responsible for commits whatever the store says, for outages, for stopping, and for applications that nobody knows.
Refuses to know what fits into a segment. Invariant: an error says whether nothing happened, or that it is unknown.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from coordinator.core.commands import ReportStageSubmitted, Request, Tick
from coordinator.core.ids import ApplicationId, AppShuffle
from coordinator.core.rejections import Accepted, Ready, Rejection
from coordinator.core.state import State
from coordinator.runtime import loading
from coordinator.runtime.errors import (
    CoordinatorError,
    DamagedLog,
    Defect,
    Draining,
    Happened,
    InDoubt,
    Overloaded,
    PartlyDone,
    Unavailable,
    UnknownApplication,
)
from coordinator.runtime.limits import Limits
from coordinator.runtime.waiting import Batch, Waiting
from coordinator.wire.records import Head, decode
from state_backend.errors import Closed, Corrupt, Denied, OutcomeUnknown
from state_backend.testing.faults import AnswerLost, Fault, Faults, Late, Overtaken, Refused, RequestLost
from state_backend.values import Keyspace, Reading, Revision
from tests.simulation import checks, facts, virtual
from tests.simulation.world import OPTIONS, World, registered


def test_what_arrives_together_is_one_segment_and_every_asker_gets_its_own_answers() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            await replica.submit(facts.APP, number([*facts.writes(0), *facts.reads(0)]))
            before = len(await checks.read_log(world.reader(), facts.APP))
            batches = [number([facts.asks(0)] * 10) for _ in range(8)]
            told = await asyncio.gather(*(replica.submit(facts.APP, batch) for batch in batches))
            assert [answer.shuffle_id for answers in told for answer in answers if isinstance(answer, Ready)] == [
                1
            ] * 80
            assert len(await checks.read_log(world.reader(), facts.APP)) - before <= 2
            assert await checks.wrongs(world.reader(), facts.APP, {facts.DRIVER: set(range(1, number.last + 1))}) == []

    virtual.run(story())


@pytest.mark.parametrize("fault", [AnswerLost(), RequestLost(), Late(1), Late(3), Overtaken(), Refused()], ids=str)
def test_whatever_the_store_says_a_commit_is_in_the_log_once(fault: Fault) -> None:
    async def story() -> None:
        async with World() as world:
            running = await world.start(Faults(writes={2: fault, 3: fault, 5: fault}), reap=False)
            number = await registered(running.replica)
            for job in range(4):
                answers = await running.replica.submit(facts.APP, number(facts.whole(job)))
                assert not [answer for answer in answers if isinstance(answer, Rejection)]
            await running.backend.apply_late()
            wrong = await checks.wrongs(world.reader(), facts.APP, {facts.DRIVER: set(range(1, number.last + 1))})
            assert wrong == []
            assert await running.replica.view(facts.APP) == checks.fold_log(
                await checks.read_log(world.reader(), facts.APP)
            )

    virtual.run(story())


def test_an_outage_is_told_as_nothing_happened_and_ends_by_itself() -> None:
    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False)
            number = await registered(running.replica)
            requests = number(facts.writes(0))
            running.backend.weather = Refused()
            with pytest.raises(Unavailable) as told:
                await running.replica.submit(facts.APP, requests)
            assert told.value.happened is Happened.NOTHING
            with pytest.raises(Unavailable):
                await running.replica.view(facts.APP)
            assert len(await checks.read_log(world.reader(), facts.APP)) == 2
            running.backend.weather = None
            assert await running.replica.submit(facts.APP, requests) == [Accepted()] * 3

    virtual.run(story())


def test_who_waits_through_a_short_outage_gets_an_answer() -> None:
    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False)
            number = await registered(running.replica)
            running.backend.weather = Refused()
            waiting = asyncio.create_task(running.replica.submit(facts.APP, number(facts.writes(0))))
            await asyncio.sleep(1)
            running.backend.weather = None
            assert await waiting == [Accepted()] * 3

    virtual.run(story())


def test_what_was_wrong_with_the_store_once_is_not_told_of_it_later() -> None:
    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False)
            number = await registered(running.replica)
            running.backend.weather = Refused()
            with pytest.raises(Unavailable, match="an outage"):
                await running.replica.submit(facts.APP, number(facts.writes(0)))
            running.backend.weather = None
            await running.replica.submit(facts.APP, number(facts.writes(1)))
            get, answers = running.backend.get, asyncio.Event()

            async def slow(keyspace: Keyspace, key: str) -> Reading:
                await answers.wait()
                return await get(keyspace, key)

            running.backend.get = slow  # type: ignore[method-assign]
            with pytest.raises(Unavailable, match="it did not answer in time"):
                await running.replica.submit(facts.APP, [Request(facts.DRIVER, 0, facts.asks(7))])
            answers.set()

    virtual.run(story())


def test_an_answer_that_is_lost_each_time_is_found_in_the_log() -> None:
    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False)
            number = await registered(running.replica)
            running.backend.weather = AnswerLost()
            assert await running.replica.submit(facts.APP, number(facts.writes(0))) == [Accepted()] * 3

    virtual.run(story())


def test_an_unknown_outcome_is_told_as_unknown_and_settled_later() -> None:
    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False)
            number = await registered(running.replica)
            requests = number(facts.writes(0))
            running.backend.weather = RequestLost()
            with pytest.raises(InDoubt) as told:
                await running.replica.submit(facts.APP, requests, within_s=0.5)
            assert told.value.happened is Happened.UNKNOWN
            running.backend.weather = None
            assert await running.replica.submit(facts.APP, requests) == [Accepted()] * 3
            assert await checks.wrongs(world.reader(), facts.APP, {facts.DRIVER: {1, 2, 3}}) == []

    virtual.run(story())


def test_a_commit_is_in_doubt_as_long_as_nobody_can_read_who_won() -> None:
    """Its answer was lost, it is in the log, and the store refuses the read that would say so."""

    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False)
            number = await registered(running.replica)
            requests = number(facts.writes(0))
            get = running.backend.get

            async def denied(keyspace: Keyspace, key: str) -> Reading:
                if keyspace is Keyspace.EVENTS and running.backend.weather is not None:
                    raise Denied("a distant store", "its token has run out")
                return await get(keyspace, key)

            running.backend.get = denied  # type: ignore[method-assign]
            running.backend.weather = AnswerLost()
            with pytest.raises(InDoubt) as told:
                await running.replica.submit(facts.APP, requests, within_s=0.5)
            assert told.value.happened is Happened.UNKNOWN
            running.backend.weather = None
            assert await running.replica.submit(facts.APP, requests) == [Accepted()] * 3

    virtual.run(story())


@pytest.mark.parametrize("finds", ["the store", "who reads it"])
def test_a_commit_whose_place_in_the_log_is_damaged_is_in_doubt_and_not_asked_for_for_ever(finds: str) -> None:
    """Its answer was lost, and what stands there does not say whose it is."""

    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False)
            number = await registered(running.replica)
            requests = number(facts.writes(0))
            get = running.backend.get

            async def damaged(keyspace: Keyspace, key: str) -> Reading:
                reading = await get(keyspace, key)
                if keyspace is not Keyspace.EVENTS or reading.entry is None:
                    return reading
                if finds == "the store":
                    raise Corrupt("a distant store", f"the record events/{key} fails its checksum")
                return replace(reading, entry=replace(reading.entry, value=b"no segment"))

            running.backend.get = damaged  # type: ignore[method-assign]
            running.backend.weather = AnswerLost()
            begun_s = virtual.clock().monotonic_s()
            with pytest.raises(InDoubt, match=r"was not confirmed \(the log of application \S+ cannot be read") as told:
                await running.replica.submit(facts.APP, requests, within_s=60)
            assert told.value.happened is Happened.UNKNOWN
            assert virtual.clock().monotonic_s() - begun_s < 10
            running.backend.get = get  # type: ignore[method-assign]
            running.backend.weather = None
            assert await running.replica.submit(facts.APP, requests) == [Accepted()] * 3

    virtual.run(story())


def test_a_batch_of_which_a_part_is_in_the_log_is_in_doubt() -> None:
    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False)
            number = await registered(running.replica)
            writers = [ReportStageSubmitted(facts.attempt(n), writes=AppShuffle(n), tasks=1) for n in range(120)]
            requests = number(writers)
            put_txn = running.backend.put_txn

            async def once(compares: Any, operations: Any) -> Revision:
                done = await put_txn(compares, operations)
                running.backend.weather = Refused()
                return done

            running.backend.put_txn = once  # type: ignore[method-assign]
            with pytest.raises(PartlyDone, match="50 of 120 requests") as told:
                await running.replica.submit(facts.APP, requests)
            assert told.value.happened is Happened.UNKNOWN
            running.backend.put_txn = put_txn  # type: ignore[method-assign]
            running.backend.weather = None
            assert await running.replica.submit(facts.APP, requests) == [Accepted()] * 120

    virtual.run(story())


@pytest.mark.parametrize("ends", ["the store is closed", "the log is damaged"])
def test_what_waits_behind_a_commit_that_is_in_doubt_has_not_happened(ends: str) -> None:
    async def story() -> None:
        async with World(options=replace(OPTIONS, commit_requests_max=3)) as world:
            running = await world.start(reap=False)
            number = await registered(running.replica)
            go_on, met = asyncio.Event(), iter([OutcomeUnknown("a commit", "no answer"), Closed("a distant store")])

            async def ended(*_: object) -> Revision:
                await go_on.wait()
                if ends == "the log is damaged":
                    raise DamagedLog(facts.APP, "what stands in its place does not say whose it is")
                raise next(met)

            running.backend.put_txn = ended  # type: ignore[method-assign, assignment]
            both = [asyncio.create_task(running.replica.submit(facts.APP, number(facts.writes(n)))) for n in (0, 1)]
            await virtual.moment()
            go_on.set()
            told = await asyncio.gather(*both, return_exceptions=True)
            assert [one.happened for one in told if isinstance(one, CoordinatorError)] == [
                Happened.UNKNOWN,
                Happened.NOTHING,
            ]
            del running.backend.put_txn

    virtual.run(story())


def test_so_is_one_that_a_stopping_replica_had_begun() -> None:
    waiting = Waiting(facts.APP, 10, virtual.clock())

    async def story() -> None:
        batch = Batch([Request(facts.DRIVER, n, Tick()) for n in (1, 2)], asyncio.get_running_loop().create_future())
        await waiting.put(batch, 1)
        waiting.answer(batch, [Accepted()])
        waiting.refuse_all(Draining("replica-1"))
        with pytest.raises(PartlyDone):
            await batch.done

    virtual.run(story())


def test_more_than_may_wait_is_refused_and_nothing_of_it_happens() -> None:
    async def story() -> None:
        async with World(options=replace(OPTIONS, limits=Limits(waiting=4))) as world:
            running = await world.start(reap=False)
            number = await registered(running.replica)
            running.backend.weather = Refused()
            first = asyncio.create_task(running.replica.submit(facts.APP, number(facts.writes(0))))
            await virtual.moment()
            with pytest.raises(Overloaded) as told:
                await running.replica.submit(facts.APP, number(facts.reads(0)), within_s=0.1)
            assert told.value.happened is Happened.NOTHING
            with pytest.raises(Unavailable):
                await first

    virtual.run(story())


def test_an_application_that_nobody_registered_is_unknown_and_leaves_nothing_behind() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            with pytest.raises(UnknownApplication):
                await replica.submit(facts.APP, facts.Numbers()(facts.writes(0)))
            await registered(replica)
            assert await replica.submit(facts.APP, facts.Numbers()(facts.writes(0))) == [Accepted()] * 3

    virtual.run(story())


def test_a_repeated_registration_is_accepted_and_another_ones_is_not() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            await registered(replica)
            assert await replica.register(facts.opening()[0]) == Accepted()
            other = Request(facts.DRIVER, 0, replace(facts.registration(), token_hash="another"))
            assert isinstance(await replica.register(other), Rejection)

    virtual.run(story())


def test_stopping_commits_what_waits_and_takes_nothing_more() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            last = asyncio.create_task(replica.submit(facts.APP, number(facts.writes(0))))
            await asyncio.sleep(0)
            await replica.stop()
            assert await last == [Accepted()] * 3
            with pytest.raises(Draining):
                await replica.submit(facts.APP, number(facts.reads(0)))

    virtual.run(story())


def test_stopping_does_not_wait_for_ever_for_a_store_that_is_away() -> None:
    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False)
            number = await registered(running.replica)
            running.backend.weather = RequestLost()
            last = asyncio.create_task(running.replica.submit(facts.APP, number(facts.writes(0))))
            await virtual.moment()
            await asyncio.wait_for(running.replica.stop(), 30)
            with pytest.raises(InDoubt):
                await last

    virtual.run(story())


def test_what_a_drain_could_not_end_is_told_as_unknown() -> None:
    """It may land in the store after all."""

    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False)
            number = await registered(running.replica)

            async def never(*_: object) -> None:
                await asyncio.Event().wait()

            running.backend.put_txn = never  # type: ignore[method-assign, assignment]
            last = asyncio.create_task(running.replica.submit(facts.APP, number(facts.writes(0)), within_s=60))
            await virtual.moment()
            await asyncio.wait_for(running.replica._engines.stop(drain=True), 30)
            with pytest.raises(InDoubt):
                await last
            del running.backend.put_txn

    virtual.run(story())


def test_an_application_whose_state_was_torn_by_a_mistake_is_loaded_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    def torn(state: State, _: object) -> None:
        state.clients.clear()
        raise ZeroDivisionError

    async def story() -> None:
        async with World() as world:
            writer, reader = [(await world.start(reap=False)).replica for _ in range(2)]
            number = await registered(writer)
            before = await reader.view(facts.APP)
            await writer.submit(facts.APP, number(facts.writes(0)))
            with monkeypatch.context() as mistaken:
                mistaken.setattr(loading, "fold_segment", torn)
                with pytest.raises(Defect):
                    await reader.view(facts.APP)
            assert (await reader.view(facts.APP)).clients.keys() == before.clients.keys()
            assert await reader.view(facts.APP) == await writer.view(facts.APP)

    virtual.run(story())


def test_asking_for_what_nobody_registered_leaves_nothing_in_memory() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            for number in range(100):
                with pytest.raises(UnknownApplication):
                    await replica.view(ApplicationId(f"guess-{number}"))
            assert list(replica._engines) == []
            assert replica._pulses == {}

    virtual.run(story())


def test_an_application_that_another_replica_has_registered_meanwhile_is_known() -> None:
    async def story() -> None:
        async with World() as world:
            one, two = [(await world.start(reap=False)).replica for _ in range(2)]
            with pytest.raises(UnknownApplication):
                await one.view(facts.APP)
            await registered(two)
            assert (await one.view(facts.APP)).meta.application == facts.APP

    virtual.run(story())


def test_the_head_says_where_the_log_ends() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            await replica.submit(facts.APP, number(facts.whole(0)))
            entry = (await world.reader().get(Keyspace.HEADS, facts.APP)).entry
            assert entry is not None
            state = await replica.view(facts.APP)
            assert decode(Head, entry.value, "head").next_sequence == state.meta.next_sequence

    virtual.run(story())
