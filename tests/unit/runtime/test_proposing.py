"""What waits is cut into segments, and what never fits into one is refused alone.

Responsible for batches that are too large, commands that are, and rules that fail, each among others that are well.
Refuses to know what the store says. Invariant: who waits beside a refused request gets its own answers.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest

from coordinator.core.commands import (
    Command,
    Fenced,
    ReportJobStarted,
    ReportOutcome,
    ReportStageCompleted,
    ReportStageSubmitted,
    Request,
    Resync,
    SetPin,
)
from coordinator.core.ids import AppShuffle, ClientId, JobId, Span, StageId
from coordinator.core.lifecycle import Life
from coordinator.core.rejections import Accepted, Answer, Ready, Reason, Rejection
from coordinator.core.state import State
from coordinator.core.values import Level, Lineage, Locator, Outputs, Policy, Rule
from coordinator.runtime.journal import SEGMENT_BYTES_MAX
from coordinator.runtime.replica import Replica
from tests.simulation import checks, facts, virtual
from tests.simulation.world import World, registered


def test_a_batch_that_moves_more_than_a_segment_holds_is_cut_between_commands() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            writers = [ReportStageSubmitted(facts.attempt(n), writes=AppShuffle(n), tasks=1) for n in range(120)]
            answers = await replica.submit(facts.APP, number(writers))
            assert answers == [Accepted()] * 120
            segments = (await checks.read_log(world.reader(), facts.APP))[2:]
            started = [sum(hasattr(r.event, "shuffle_id") for r in segment.records) for segment in segments]
            assert max(started) <= 50
            assert sum(started) == 120
            assert await checks.wrongs(world.reader(), facts.APP, {facts.DRIVER: set(range(1, 121))}) == []

    virtual.run(story())


def test_a_stage_may_read_more_shuffles_than_a_segment_moves() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            many = tuple(AppShuffle(n) for n in range(200))
            job = ReportJobStarted(JobId(1), StageId(200), reads=many, stages=(Span(0, 200),))
            writers = [
                command
                for n in range(200)
                for command in (
                    ReportStageSubmitted(facts.attempt(n), writes=AppShuffle(n), tasks=1),
                    ReportStageCompleted(facts.attempt(n), shuffle_bytes_written=1),
                )
            ]
            reader = ReportStageSubmitted(facts.attempt(200), reads=many, tasks=1)
            answers = await replica.submit(facts.APP, number([job, *writers, reader]))
            assert answers == [Accepted()] * 402
            state = await replica.view(facts.APP)
            assert [len(generation.readers) for generation in state.generations.values()] == [1] * 200
            assert await checks.wrongs(world.reader(), facts.APP, {facts.DRIVER: set(range(1, 403))}) == []

    virtual.run(story())


def test_one_command_beyond_a_segment_is_refused_alone() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            await replica.submit(facts.APP, number(facts.writes(0)))
            huge = replica.submit(facts.APP, [Request(ClientId("a"), 0, SetPin(AppShuffle(0), "x" * 1_100_000))])
            small = replica.submit(facts.APP, number(facts.reads(0)))
            (refused,), told = await asyncio.gather(huge, small)
            assert is_over_size(refused)
            assert isinstance(told[1], Ready)

    virtual.run(story())


def test_a_number_beyond_a_segment_is_answered_and_those_behind_it_go_on() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            huge = SetPin(AppShuffle(0), "x" * 1_100_000)
            batch = number([*facts.writes(0), huge, *facts.reads(0)])
            answers = await replica.submit(facts.APP, batch)
            assert [is_over_size(answer) for answer in answers] == [False] * 3 + [True] + [False] * 2
            assert isinstance(answers[-1], Ready)
            again = await replica.submit(facts.APP, batch)
            assert is_over_size(again[3])
            assert again[-1] == answers[-1]
            done = set(range(1, number.last + 1)) - {batch[3].number}
            assert await checks.wrongs(world.reader(), facts.APP, {facts.DRIVER: done}) == []

    virtual.run(story())


@pytest.mark.parametrize("shuffles", [1, 30])
def test_locators_count_where_they_stand_in_records_too(shuffles: int) -> None:
    """A segment that fits holds them twice, its transaction once more: every store refused that, for ever."""

    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            await replica.submit(facts.APP, number([each for job in range(shuffles) for each in facts.whole(job)]))
            await until(replica, lambda state: len(state.directives) == shuffles)
            long = Locator("fake", bytes((SEGMENT_BYTES_MAX - 200 * shuffles) // 2 // shuffles))
            fences = sorted((await replica.view(facts.APP)).directives)
            done = [ReportOutcome(directive, Fenced(1, long)) for directive in fences]
            answers = await replica.submit(facts.APP, number([*done, *facts.writes(shuffles)]))
            refused = [is_over_size(answer) for answer in answers]
            assert refused == [shuffles == 1] * shuffles + [False] * 3
            wished = Life.FENCING if shuffles == 1 else Life.FENCED
            assert lives(await replica.view(facts.APP))[wished] == shuffles

    virtual.run(story())


def is_over_size(answer: Answer) -> bool:
    return isinstance(answer, Rejection) and answer.reason is Reason.INVALID and "in one commit" in answer.expected


def test_30_a_stage_with_more_expired_inputs_than_a_segment_moves_is_accepted_and_they_are_rescued() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica, policy=Policy(Rule.EAGER, observe=True))
            many = tuple(AppShuffle(n) for n in range(100))
            lineage = (*(Lineage(one, maps=1) for one in many), Lineage(AppShuffle(100), many, maps=1))
            job = ReportJobStarted(JobId(1), StageId(101), (AppShuffle(100),), stages=(Span(0, 101),), lineage=lineage)
            writers = [each for n in range(100) for each in wrote(n, ())]
            await replica.submit(facts.APP, number([job, *writers, *wrote(100, many)]))
            await until(replica, lambda state: lives(state)[Life.EXPIRED] == 100)
            reader = ReportStageSubmitted(facts.attempt(100, 1), many, AppShuffle(100), tasks=1)
            assert await replica.submit(facts.APP, number([reader])) == [Accepted()]
            await until(replica, lambda state: not lives(state)[Life.EXPIRED])
            assert await checks.wrongs(world.reader(), facts.APP, {facts.DRIVER: set(range(1, number.last + 1))}) == []

    virtual.run(story())


def test_16_a_resync_that_finds_many_stages_writing_anew_and_takes_back_what_waits_is_accepted() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica, policy=Policy(Rule.EAGER, observe=False, grace_ms=60_000))
            waiting, anew = [tuple(map(AppShuffle, numbers)) for numbers in (range(24), range(24, 48))]
            lineage = tuple(Lineage(one, level=Level.INDETERMINATE, maps=2) for one in anew)
            job = ReportJobStarted(JobId(1), StageId(101), anew, stages=(Span(0, 101),), lineage=lineage)
            writers = [each for one in (*waiting, *anew) for each in wrote(int(one), ())]
            reader: list[Command] = [
                ReportStageSubmitted(facts.attempt(100), waiting),
                ReportStageCompleted(facts.attempt(100), output_bytes=7),
            ]
            await replica.submit(facts.APP, number([job, *writers, *reader]))
            assert lives(await replica.view(facts.APP)) == {Life.EXPIRED: 24, Life.READABLE: 24}
            again = tuple(ReportStageSubmitted(facts.attempt(int(one), 1), (), one, tasks=2) for one in anew)
            truth = Resync((job,), again, outputs=tuple(Outputs(one, 2, 2) for one in (*waiting, *anew)))
            assert await replica.submit(facts.APP, number([truth, *again])) == [Accepted()] * 25
            assert lives(await replica.view(facts.APP)) == {Life.READABLE: 24, Life.WRITING: 24}
            assert await checks.wrongs(world.reader(), facts.APP, {facts.DRIVER: set(range(1, number.last + 1))}) == []

    virtual.run(story())


def wrote(stage: int, reads: tuple[AppShuffle, ...]) -> list[Command]:
    submitted = ReportStageSubmitted(facts.attempt(stage), reads, AppShuffle(stage), tasks=1)
    return [submitted, ReportStageCompleted(facts.attempt(stage), shuffle_bytes_written=1)]


async def until(replica: Replica, so: Callable[[State], bool]) -> None:
    for _ in range(1_000):
        if so(await replica.view(facts.APP)):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("ten seconds of virtual time have passed in vain")


def lives(state: State) -> Counter[Life]:
    return Counter(generation.life for generation in state.generations.values())


def test_a_failing_rule_is_one_askers_error() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            poison = replica.submit(facts.APP, [Request(ClientId("a"), 0, "no command")])  # type: ignore[arg-type]
            good = replica.submit(facts.APP, number(facts.writes(0)))
            refused, told = await asyncio.gather(poison, good, return_exceptions=True)
            assert isinstance(refused, KeyError)
            assert told == [Accepted()] * 3

    virtual.run(story())
