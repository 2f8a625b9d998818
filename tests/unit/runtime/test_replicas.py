"""Several replicas on one store: whoever appends, everybody is in the same state, and a driver may go anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from coordinator.core import events as e
from coordinator.core.commands import Busy, Cannot, EndApplication, Failed, Fenced, ReportOutcome
from coordinator.core.ids import ApplicationId
from coordinator.core.rejections import Accepted, Ready, Recover
from coordinator.core.state import Directive
from coordinator.core.values import DirectiveKind, Locator, Policy, Rule
from coordinator.runtime import sessions
from coordinator.runtime.api import GoAway, Message, Notice, Session
from coordinator.runtime.errors import ApplicationOver, Unavailable
from coordinator.runtime.replica import Replica
from state_backend.memory import MemoryBackend, MemoryStore
from state_backend.testing.faults import Faults, Refused
from state_backend.values import Compare, Keyspace, Operation, Page, Reading, Revision
from tests.simulation import checks, facts, virtual
from tests.simulation.world import OPTIONS, World, registered


async def next_of(session: Session, within_s: float = 5.0) -> Message:
    return await asyncio.wait_for(session.__anext__(), within_s)


async def directive_of(session: Session, within_s: float = 5.0) -> Directive:
    message = await next_of(session, within_s)
    assert isinstance(message, Directive)
    return message


async def silent(session: Session, for_s: float) -> bool:
    try:
        await asyncio.wait_for(session.__anext__(), for_s)
    except asyncio.TimeoutError:
        return True
    return False


async def fencing(replica: Replica) -> facts.Numbers:
    """An application with one fence outstanding."""
    number = await registered(replica)
    await replica.submit(facts.APP, number(facts.whole(0)))
    return number


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


def test_directives_reach_the_session_whoever_appends() -> None:
    async def story() -> None:
        async with World() as world:
            here, there = [(await world.start(reap=False)).replica for _ in range(2)]
            number = await registered(here)
            session = await here.open_session(facts.APP, facts.DRIVER)
            await there.submit(facts.APP, number(facts.whole(0)))
            fence = await directive_of(session)
            assert (fence.kind, fence.shuffle_id) == (DirectiveKind.FENCE, 1)
            done = ReportOutcome(fence.directive, Fenced(1_000, Locator("native", b"0")))
            await there.submit(facts.APP, number([done]))
            delete = await directive_of(session)
            assert (delete.kind, delete.locator) == (DirectiveKind.DELETE, Locator("native", b"0"))
            assert session.answered == number.last
            assert session.outstanding == 1

    virtual.run(story())


def test_what_came_while_a_watch_was_interrupted_is_heard_of() -> None:
    async def story() -> None:
        async with World() as world:
            one = (await world.start(Faults(watch_commits=1), reap=False)).replica
            two = (await world.start(reap=False)).replica
            number = await registered(one)
            async with await one.open_session(facts.APP, facts.DRIVER) as session:
                await two.submit(facts.APP, number([*facts.writes(0), *facts.reads(0)]))
                await virtual.moment()  # the watch has told of this commit, and is interrupted
                await two.submit(facts.APP, number(facts.finishes(0)))
                assert (await directive_of(session)).kind is DirectiveKind.FENCE

    virtual.run(story())


def test_directives_wait_for_answers_where_a_driver_has_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "IN_FLIGHT_MAX", 2)

    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            session = await replica.open_session(facts.APP, facts.DRIVER)
            await replica.submit(facts.APP, number([each for job in range(4) for each in facts.whole(job)]))
            first, second = await directive_of(session), await directive_of(session)
            assert await silent(session, 5.0)
            await replica.submit(facts.APP, number([ReportOutcome(first.directive, Cannot("not now"))]))
            assert (await directive_of(session)).shuffle_id == 3
            assert await silent(session, 5.0)
            assert session.outstanding == 3
            assert second.shuffle_id == 2

    virtual.run(story())


def test_21_another_replica_sends_the_outstanding_directive_again() -> None:
    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False)
            await fencing(running.replica)
            before = await directive_of(await running.replica.open_session(facts.APP, facts.DRIVER))
            await running.kill()
            after = await directive_of(
                await (await world.start(reap=False)).replica.open_session(facts.APP, facts.DRIVER)
            )
            assert after == before

    virtual.run(story())


def test_a_directive_is_sent_once_a_session_and_again_in_the_next() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await fencing(replica)
            session = await replica.open_session(facts.APP, facts.DRIVER)
            first = await directive_of(session)
            await replica.submit(facts.APP, number(facts.writes(5)))
            assert await silent(session, 5)
            again = await replica.open_session(facts.APP, facts.DRIVER)
            assert await directive_of(again) == first

    virtual.run(story())


def test_23_a_failed_deletion_is_asked_again_when_its_pause_is_over() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await fencing(replica)
            session = await replica.open_session(facts.APP, facts.DRIVER)
            fence = await directive_of(session)
            await replica.submit(facts.APP, number([ReportOutcome(fence.directive, Fenced(10))]))
            delete = await directive_of(session)
            await replica.submit(facts.APP, number([ReportOutcome(delete.directive, Failed("disk"))]))
            assert await silent(session, 0.1)
            again = await directive_of(session, 0.2)
            assert (again.directive, again.failures) == (delete.directive, 1)

    virtual.run(story())


def test_17_grace_runs_in_event_time_and_only_where_the_session_is_held() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            graceful = Policy(Rule.EAGER, observe=False, grace_ms=60_000)
            number = await registered(replica, policy=graceful)
            await replica.submit(facts.APP, number(facts.whole(0)))
            await asyncio.sleep(120)
            assert not (await replica.view(facts.APP)).directives
            session = await replica.open_session(facts.APP, facts.DRIVER)
            assert (await directive_of(session)).kind is DirectiveKind.FENCE
            await replica.submit(facts.APP, number(facts.whole(1)))
            assert await silent(session, 55)
            assert (await directive_of(session, 10)).shuffle_id == 2

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


def test_a_clock_that_was_an_hour_ahead_holds_up_nothing_that_is_due_after_it() -> None:
    async def story() -> None:
        async with World() as world:
            ahead = (await world.start(reap=False, skew_s=3_600.0)).replica
            here = (await world.start(reap=False)).replica
            number = await fencing(ahead)
            async with await here.open_session(facts.APP, facts.DRIVER) as session:
                fence = await directive_of(session)
                await here.submit(facts.APP, number([ReportOutcome(fence.directive, Busy(("stage 9.0",)))]))
                assert (await directive_of(session)).kind is DirectiveKind.FENCE

    virtual.run(story())


def test_an_application_whose_session_is_being_opened_is_not_forgotten() -> None:
    async def story() -> None:
        async with World() as world:
            first = (await world.start(reap=False)).replica
            number = await registered(first)
            running = await world.start(reap=False, idle_s=1.0)
            second, claim = running.replica, running.backend.put_txn
            await second.view(facts.APP)

            async def slow(compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
                await asyncio.sleep(1.5)
                return await claim(compares, operations)

            running.backend.put_txn = slow  # type: ignore[method-assign]
            session = await second.open_session(facts.APP, facts.DRIVER)
            await first.submit(facts.APP, number(facts.whole(0)))
            assert (await directive_of(session)).kind is DirectiveKind.FENCE
            assert second.standing().sessions == 1
            await session.close()
            assert second.standing().sessions == 0

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


def test_a_newer_session_sends_the_older_one_away() -> None:
    async def story() -> None:
        async with World() as world:
            one, two = [(await world.start(reap=False)).replica for _ in range(2)]
            await registered(one)
            old = await one.open_session(facts.APP, facts.DRIVER)
            new = await one.open_session(facts.APP, facts.DRIVER)
            assert isinstance(await next_of(old), GoAway)
            with pytest.raises(StopAsyncIteration):
                await old.__anext__()
            await two.open_session(facts.APP, facts.DRIVER)
            await asyncio.sleep(2)
            await new.heartbeat()
            assert isinstance(await next_of(new), GoAway)

    virtual.run(story())


def test_the_end_of_the_application_ends_its_session_and_lets_no_other_open() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            session = await replica.open_session(facts.APP, facts.DRIVER)
            assert await replica.submit(facts.APP, number([EndApplication()])) == [Accepted()]
            assert isinstance(await next_of(session), GoAway)
            with pytest.raises(ApplicationOver):
                await replica.open_session(facts.APP, facts.DRIVER)

    virtual.run(story())


def test_a_stopping_replica_tells_its_sessions_where_else_to_go() -> None:
    async def story() -> None:
        async with World() as world:
            one = (await world.start(reap=False, address="one:1")).replica
            two = (await world.start(reap=False, address="two:2")).replica
            await registered(one)
            assert {peer.address for peer in await one.replicas()} == {"one:1", "two:2"}
            session = await one.open_session(facts.APP, facts.DRIVER)
            await one.stop()
            farewell = await next_of(session)
            assert isinstance(farewell, GoAway)
            assert farewell.elsewhere == ("two:2",)
            assert {peer.address for peer in await two.replicas()} == {"two:2"}

    virtual.run(story())


def test_a_replica_that_cannot_reach_the_store_sends_quiet_drivers_on_before_others_take_them_for_dead() -> None:
    async def story() -> None:
        async with World() as world:
            cut_off = await world.start(reap=False, address="one:1")
            await world.start(reap=True, address="two:2")
            await registered(cut_off.replica)
            await asyncio.sleep(1)
            session = await cut_off.replica.open_session(facts.APP, facts.DRIVER)
            cut_off.backend.weather = Refused()
            began_s = asyncio.get_running_loop().time()
            farewell = asyncio.create_task(next_of(session, OPTIONS.silence_s))
            while not farewell.done():
                await session.heartbeat()
                await asyncio.sleep(OPTIONS.heartbeat_s)
            told = await farewell
            assert isinstance(told, GoAway)
            assert told.elsewhere == ("two:2",)
            assert asyncio.get_running_loop().time() - began_s < OPTIONS.silence_s
            cut_off.backend.weather = None

    virtual.run(story())


def test_who_is_alone_keeps_its_drivers_through_an_outage() -> None:
    async def story() -> None:
        async with World() as world:
            alone = await world.start(reap=False)
            await registered(alone.replica)
            session = await alone.replica.open_session(facts.APP, facts.DRIVER)
            alone.backend.weather = Refused()
            for _ in range(2 * int(OPTIONS.silence_s)):
                await session.heartbeat()
                await asyncio.sleep(1)
            alone.backend.weather = None
            assert await silent(session, 5.0)

    virtual.run(story())


def test_one_registration_that_fails_takes_nothing_from_another_of_the_same_application() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            let_in, late = replica._census.let_in, asyncio.Event()

            async def full(application: ApplicationId) -> None:
                await late.wait()
                raise Unavailable(application, "it is to fail")

            replica._census.let_in = full  # type: ignore[method-assign]
            failing = asyncio.create_task(replica.register(facts.opening()[0]))
            await virtual.moment()
            replica._census.let_in = let_in  # type: ignore[method-assign]
            number = await registered(replica)
            session = await replica.open_session(facts.APP, facts.DRIVER)
            late.set()
            with pytest.raises(Unavailable):
                await failing
            await replica.submit(facts.APP, number(facts.whole(0)))
            assert (await directive_of(session)).kind is DirectiveKind.FENCE

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


def test_18_a_suspension_is_told_to_the_driver() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            session = await replica.open_session(facts.APP, facts.DRIVER)
            for job in range(12):
                await replica.submit(facts.APP, number(facts.whole(job)))
                fence = await next_of(session)
                if isinstance(fence, Notice):
                    assert "suspended" in fence.text
                    return
                assert isinstance(fence, Directive)
                await replica.submit(facts.APP, number([ReportOutcome(fence.directive, Fenced(1))]))
                await next_of(session)
                await replica.submit(facts.APP, number(facts.reads(job)))
            pytest.fail("every shuffle was missed and nobody was told")

    virtual.run(story())


def test_an_outage_ends_and_the_session_goes_on() -> None:
    async def story() -> None:
        async with World() as world:
            running = await world.start(reap=False)
            number = await registered(running.replica)
            session = await running.replica.open_session(facts.APP, facts.DRIVER)
            running.backend.weather = Refused()
            await session.heartbeat()
            await asyncio.sleep(30)
            running.backend.weather = None
            await running.replica.submit(facts.APP, number(facts.whole(0)))
            assert (await directive_of(session)).kind is DirectiveKind.FENCE

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


class Counted(MemoryBackend):
    """Notes what it is asked."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.asked: list[str] = []

    async def get(self, keyspace: Keyspace, key: str) -> Reading:
        self.asked.append(f"get {keyspace.value}")
        return await super().get(keyspace, key)

    async def scan(self, keyspace: Keyspace, *more: Any, **named: Any) -> Page:
        self.asked.append(f"scan {keyspace.value}")
        return await super().scan(keyspace, *more, **named)

    async def put_txn(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        self.asked.append("write")
        return await super().put_txn(compares, operations)


def test_a_driver_that_comes_from_another_replica_waits_for_few_calls_of_the_store() -> None:
    """What its Hello asks for, in this order; each call is a round trip that the driver waits for."""

    async def story() -> None:
        async with World() as world:
            number = await registered(first := (await world.start(reap=False)).replica)
            await first.submit(facts.APP, number(facts.whole(0)))
            store = Counted(world.store)
            async with Replica(store, replace(OPTIONS, replica="second", reap=False), virtual.clock()) as second:
                await asyncio.sleep(1)
                store.asked.clear()
                await second.registration(facts.APP)
                assert await second.register(facts.opening()[0]) == Accepted()
                await second.open_session(facts.APP, facts.DRIVER)
                assert store.asked == ["get heads", "scan events", "get heads", "get sessions", "write"]

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
