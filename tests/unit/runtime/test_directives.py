"""Directives reach the driver, whoever appended them: once a session, again in the next, and not before they are due.

Responsible for what is sent, when, and how much at once. Refuses to know why sessions begin and end. Invariant: what is
outstanding is sent by whichever replica holds the session.
"""

from __future__ import annotations

import asyncio

import pytest

from coordinator.core.commands import Busy, Cannot, Failed, Fenced, ReportOutcome
from coordinator.core.ids import DirectiveId
from coordinator.core.values import DirectiveKind, Locator, Policy, Rule
from coordinator.runtime import sessions
from state_backend.testing.faults import Faults
from tests.simulation import facts, virtual
from tests.simulation.world import World, registered
from tests.unit.runtime.listening import directive_of, fencing, silent


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


def test_22_what_is_answered_while_others_are_being_sent_is_not_sent_any_more() -> None:
    """As to a driver that comes back: it sends its outcomes while it is sent what is outstanding."""

    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            await replica.submit(facts.APP, number([each for job in range(4) for each in facts.whole(job)]))
            session = await replica.open_session(facts.APP, facts.DRIVER)
            first = await directive_of(session)
            done = [ReportOutcome(DirectiveId(first.directive + 1), Cannot("not now"))]
            await replica.submit(facts.APP, number(done))
            assert [(await directive_of(session)).shuffle_id for _ in range(2)] == [3, 4]

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
