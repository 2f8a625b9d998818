"""Several replicas on one store: whoever appends, everybody is in the same state, and each may be asked.

Responsible for what replicas know of the log, of one another, and of whom they may forget. Refuses to know what a
driver is told on its session. Invariant: a request is carried out once, on whichever replica it is asked again.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from coordinator.core import events as e
from coordinator.core.ids import ApplicationId
from coordinator.core.rejections import Accepted, Ready, Recover
from coordinator.core.values import DirectiveKind
from coordinator.runtime.api import GoAway
from coordinator.runtime.errors import Draining, Happened, Unavailable
from state_backend.testing.faults import RequestLost
from state_backend.values import Keyspace, Page, Reading
from tests.simulation import checks, facts, virtual
from tests.simulation.world import Distant, World, registered
from tests.unit.runtime.listening import directive_of


def test_27_two_reports_of_one_loss_on_two_replicas_are_one_recovery() -> None:
    async def story() -> None:
        async with World(seed=3) as world:
            one, two = [(await world.start(reap=False)).replica for _ in range(2)]
            number = await registered(one, completes_after_loss=False)
            await one.submit(facts.APP, number([*facts.writes(0), *facts.reads(0)]))
            await two.view(facts.APP)
            first, second = number([facts.misses(0, 1, 1)] * 2)
            told = await asyncio.gather(one.submit(facts.APP, [first]), two.submit(facts.APP, [second]))
            answers = [answers[0] for answers in told]
            assert all(isinstance(answer, Recover) for answer in answers)
            assert answers[0] == answers[1]
            log = await checks.read_log(world.reader(), facts.APP)
            kinds = [type(recorded.event) for segment in log for recorded in segment.records]
            assert kinds.count(e.RecoveryOpened) == 1
            assert kinds.count(e.RecoveryJoined) == 1
            assert await checks.wrongs(world.reader(), facts.APP, {}) == []
            assert await one.view(facts.APP) == await two.view(facts.APP)

    virtual.run(story())


def test_35_a_request_sent_again_to_another_replica_is_carried_out_once() -> None:
    async def story() -> None:
        async with World() as world:
            one, two = [(await world.start(reap=False)).replica for _ in range(2)]
            number = await registered(one)
            requests = number([*facts.writes(0), *facts.reads(0)])
            first = await one.submit(facts.APP, requests)
            length = (await two.view(facts.APP)).meta.next_sequence
            assert await two.submit(facts.APP, requests) == first
            assert (await two.view(facts.APP)).meta.next_sequence == length

    virtual.run(story())


def test_many_at_once_on_three_replicas_agree() -> None:
    async def story() -> None:
        async with World(seed=11) as world:
            replicas = [(await world.start(reap=False)).replica for _ in range(3)]
            number = await registered(replicas[0])
            await replicas[0].submit(facts.APP, number(command for job in range(6) for command in facts.writes(job)))
            asked = [number(facts.reads(job)) for job in range(6)]
            told = await asyncio.gather(
                *(replicas[n % 3].submit(facts.APP, requests) for n, requests in enumerate(asked))
            )
            assert [answers[1] for answers in told] == [Ready(n + 1) for n in range(6)]  # type: ignore[arg-type]
            states = [await replica.view(facts.APP) for replica in replicas]
            assert states[0] == states[1] == states[2]
            assert await checks.wrongs(world.reader(), facts.APP, {facts.DRIVER: set(range(1, number.last + 1))}) == []

    virtual.run(story())


def test_a_question_sees_what_another_replica_has_just_acknowledged() -> None:
    async def story() -> None:
        async with World(seed=5) as world:
            one, two = [(await world.start(reap=False)).replica for _ in range(2)]
            number = await registered(one)
            for job in range(5):
                await one.submit(facts.APP, number(facts.writes(job)))
                assert len((await two.view(facts.APP)).shuffles) == job + 1

    virtual.run(story())


def test_a_clock_that_is_behind_does_not_turn_event_time_back() -> None:
    async def story() -> None:
        async with World() as world:
            ahead = (await world.start(reap=False, skew_s=3_600)).replica
            behind = (await world.start(reap=False)).replica
            number = await registered(ahead)
            await ahead.submit(facts.APP, number(facts.writes(0)))
            await behind.submit(facts.APP, number(facts.reads(0)))
            times = [recorded.time_ms for recorded in await behind.events(facts.APP)]
            assert times == sorted(times)

    virtual.run(story())


@pytest.mark.parametrize("asks", [True, False])
def test_an_application_that_nobody_asks_about_is_forgotten_whatever_others_append(asks: bool) -> None:
    async def story() -> None:
        async with World() as world:
            first = (await world.start(reap=False)).replica
            number = await registered(first)
            second = (await world.start(reap=False, idle_s=2.0)).replica
            other = ApplicationId("other")
            await registered(second, other)
            await second.open_session(other, facts.DRIVER)  # and it follows all heads
            await second.view(facts.APP)
            for job in range(10):
                await first.submit(facts.APP, number(facts.whole(job)))
                if asks:
                    await second.view(facts.APP)
                await asyncio.sleep(0.5)
            assert {engine.application for engine in second._engines} == ({facts.APP, other} if asks else {other})

    virtual.run(story())


@pytest.mark.parametrize("keyspace", [Keyspace.HEADS, Keyspace.REPLICAS])
def test_a_foreign_key_in_the_store_ends_no_watch(keyspace: Keyspace) -> None:
    async def story() -> None:
        async with World() as world:
            one = (await world.start(reap=False)).replica
            two = (await world.start(reap=False)).replica
            number = await registered(one)
            session = await two.open_session(facts.APP, facts.DRIVER)
            await asyncio.sleep(1)
            await world.reader().put(keyspace, "%FF", b"foreign")
            await asyncio.sleep(1)
            await one.submit(facts.APP, number(facts.whole(0)))
            assert (await directive_of(session)).kind is DirectiveKind.FENCE
            three = (await world.start(reap=False, address="three:3")).replica
            await asyncio.sleep(1)
            assert "three:3" in two._registration.elsewhere
            await three.stop()

    virtual.run(story())


def test_a_killed_replicas_registration_goes_with_its_lease() -> None:
    async def story() -> None:
        async with World() as world:
            one = await world.start(reap=False)
            two = (await world.start(reap=False)).replica
            await asyncio.sleep(1)
            await one.kill()
            assert len(await two.replicas()) == 2
            await asyncio.sleep(10)
            assert len(await two.replicas()) == 1

    virtual.run(story())


def test_what_nobody_asks_about_is_forgotten_and_loaded_again() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False, idle_s=10.0)).replica
            number = await registered(replica)
            await replica.submit(facts.APP, number(facts.writes(0)))
            assert replica._engines.find(facts.APP) is not None
            await asyncio.sleep(30)
            assert replica._engines.find(facts.APP) is None
            assert len((await replica.view(facts.APP)).shuffles) == 1

    virtual.run(story())


def test_a_list_is_read_page_by_page_and_in_time() -> None:
    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False)
            await registered(running.replica)
            asked: list[int] = []
            scan, hung = running.backend.scan, asyncio.Event()

            async def counted(keyspace: Keyspace, *told: Any, **more: Any) -> Page:
                if keyspace is Keyspace.APPLICATIONS:
                    asked.append(told[-1])
                    if hung.is_set():
                        await asyncio.Event().wait()
                return await scan(keyspace, *told, **more)

            running.backend.scan = counted  # type: ignore[method-assign]
            assert len(await running.replica.applications(limit=1_000_000)) == 1
            assert asked == [100]
            hung.set()
            with pytest.raises(Unavailable, match="in time"):
                await running.replica.applications()

    virtual.run(story())


def test_a_replica_that_was_stopped_and_started_again_hears_what_others_append() -> None:
    async def story() -> None:
        async with World() as world:
            one, two = [(await world.start(reap=False)).replica for _ in range(2)]
            number = await registered(one)
            async with await one.open_session(facts.APP, facts.DRIVER):
                await virtual.moment()
            await one.stop()
            await one.start()
            async with await one.open_session(facts.APP, facts.DRIVER) as session:
                await two.submit(facts.APP, number(facts.whole(0)))
                told = await asyncio.wait_for(directive_of(session), 10)
            assert told.kind is DirectiveKind.FENCE

    virtual.run(story())


def test_a_stop_that_nobody_waits_for_goes_on_and_whoever_stops_it_again_waits_for_its_end() -> None:
    async def story() -> None:
        async with World() as world:
            running = await world.start()
            await registered(running.replica)
            await virtual.moment()
            running.backend.weather = RequestLost()
            waiting = asyncio.create_task(running.replica.submit(facts.APP, facts.Numbers()(facts.writes(0))))
            await virtual.moment()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(running.replica.stop(), 0.1)
            await running.replica.stop()
            await asyncio.gather(waiting, return_exceptions=True)
            assert asyncio.all_tasks() == {asyncio.current_task()}
            await running.replica.start()
            stopping = asyncio.create_task(running.replica.stop())
            await asyncio.sleep(0)
            await running.replica.start()
            assert stopping.done()
            running.backend.weather = None
            assert await running.replica.register(facts.opening()[0]) == Accepted()

    virtual.run(story())


def test_a_session_that_is_opened_while_the_replica_stops_leaves_nobody_listening() -> None:
    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False)
            await registered(running.replica)
            put_txn, stopped = running.backend.put_txn, asyncio.Event()

            async def late(*told: Any) -> Any:
                await stopped.wait()
                return await put_txn(*told)

            running.backend.put_txn = late  # type: ignore[method-assign, assignment]
            opening = asyncio.create_task(running.replica.open_session(facts.APP, facts.DRIVER))
            await virtual.moment()
            await running.replica.stop()
            stopped.set()
            async with await opening as session:
                assert isinstance(await anext(session), GoAway)
            assert "follower" not in {task.get_name() for task in asyncio.all_tasks()}

    virtual.run(story())


@pytest.mark.parametrize(
    ("read", "keyspace", "asked"),
    [
        ("get", Keyspace.HEADS, "register"),
        ("scan_keys", Keyspace.SESSIONS, "register"),
        ("scan", Keyspace.REPLICAS, "replicas"),
        ("scan", Keyspace.SESSIONS, "roll_call"),
    ],
)
def test_whatever_is_asked_has_its_answer_in_time_also_where_the_store_gives_none(
    read: str, keyspace: Keyspace, asked: str
) -> None:
    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False)
            await virtual.moment()
            plain, answers = getattr(running.backend, read), asyncio.Event()

            async def hangs(wanted: Keyspace, *told: Any, **more: Any) -> Any:
                if wanted is keyspace:
                    await answers.wait()
                return await plain(wanted, *told, **more)

            setattr(running.backend, read, hangs)
            requests = [facts.opening()[0]] if asked == "register" else []
            with pytest.raises(Unavailable, match="in time") as told:
                await asyncio.wait_for(getattr(running.replica, asked)(*requests), 30)
            assert told.value.happened is Happened.NOTHING
            answers.set()
            await getattr(running.replica, asked)(*requests)

    virtual.run(story())


def test_who_is_asked_while_it_stops_loads_nothing_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it would load then, nobody would ever close."""
    stopped = asyncio.Event()
    get = Distant.get

    async def slow(self: Distant, keyspace: Keyspace, key: str) -> Reading:
        reading = await get(self, keyspace, key)
        if keyspace is Keyspace.HEADS:
            await stopped.wait()
        return reading

    async def story() -> None:
        async with World() as world:
            await registered((await world.start(reap=False)).replica)
            late = (await world.start(reap=False)).replica
            monkeypatch.setattr(Distant, "get", slow)
            asked = asyncio.ensure_future(late.view(facts.APP))
            await asyncio.sleep(1)
            await late.stop()
            stopped.set()
            with pytest.raises(Draining):
                await asked
            assert list(late._engines) == []

    virtual.run(story())
