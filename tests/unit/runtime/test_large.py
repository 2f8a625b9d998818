"""What a large application tells fits into commits, as the driver tells it; what does not is refused in useful words.

Responsible for very many roots, and very much lineage, from the driver's pure modules to the log. Refuses to know gRPC.
Invariant: what was accepted is in the log, and the log folds into what every replica holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from shuffle_lifecycle.v1 import service_pb2

from coordinator.core import commands as c
from coordinator.core.ids import AppShuffle, ExecutionId, JobId, LookId, StageId
from coordinator.core.rejections import Accepted, Answer, Reason, Rejection
from coordinator.core.values import Lineage, RootKind
from coordinator.runtime.replica import Replica
from coordinator.wire.messages import requests_of
from listener_bridge.reach.findings import Kind, Root
from listener_bridge.reach.telling import Told, begin
from listener_bridge.tap import facts as spark
from listener_bridge.translate import Translator, gap
from listener_bridge.words import Request
from tests.simulation import checks, facts, virtual
from tests.simulation.world import World, registered
from tests.unit.listener_bridge.fakes import stage

CALL_SITE = "reduceByKey at /home/ann/projects/etl/daily/pagerank.py:41"


async def submitted(replica: Replica, first: int, told: Sequence[Request]) -> list[Answer]:
    """Told as a driver does, numbered from `first` on; one by one, so that nothing hides in a larger commit."""
    answers: list[Answer] = []
    for number, request in enumerate(told, first):
        request.number = number
        batch = service_pb2.Batch(requests=[request], confirmed=number - 1)
        answers += await replica.submit(facts.APP, requests_of(batch, facts.DRIVER))
    return answers


async def wrongs(world: World, last: int) -> list[str]:
    return await checks.wrongs(world.reader(), facts.APP, {facts.DRIVER: set(range(1, last + 1))})


def found(last: int, first: int = 0) -> list[Root]:
    """As the names of a list of DataFrames."""
    return [Root(f"o{n}", Kind.HANDLE, frozenset({n}), f"`frames[{n}]` in etl.py:41") for n in range(first, last)]


def test_looks_at_very_many_roots_are_taken_whole() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            await registered(replica)
            told = Told()
            looks = (found(60_000), found(80_000, 40_000), found(3))
            for look, roots in enumerate(looks, 1):
                if look == 2:
                    told.missed()  # all anew, and the others gone
                answers = await submitted(replica, 2 * look - 1, [begin(look), told.report(look, roots)])
                assert answers == [Accepted()] * 2
                state = await replica.view(facts.APP)
                assert state.meta.seen_sequence == state.meta.look_sequence
                needs = {need for root in state.roots.values() for need in root.needs}
                assert needs == {need for root in roots for need in root.needs}
            assert sorted(state.roots) == ["o0", "o1", "o2"]
            assert await wrongs(world, 6) == []

    virtual.run(story())


@pytest.mark.parametrize("is_truth", [False, True], ids=["a job starts", "the truth after a gap"])
def test_very_much_lineage_is_learned_ahead_of_its_job(is_truth: bool) -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            await registered(replica)
            stages = (*(stage(n, writes=n, parents=(n - 1,) if n else (), name=CALL_SITE) for n in range(16_000)),)
            final = stage(16_000, parents=(15_999,))
            translator = Translator()
            translator.tells_ahead = True
            if is_truth:
                running = spark.ActiveJob(1, (*stages, final), 16_000, None, None)
                told = [gap(0, "attach"), *translator.resync(spark.Snapshot("m", (), (), (running,)))]
            else:
                told = translator.requests_of([spark.JobStarted(0, 1, 0, (*stages, final), 16_000, None, None)])
            assert await submitted(replica, 1, told) == [Accepted()] * len(told)
            state = await replica.view(facts.APP)
            assert state.shuffles[AppShuffle(15_999)].lineage.reads == (15_998,)
            assert (len(state.shuffles), list(state.jobs)) == (16_000, [1])
            assert await wrongs(world, len(told)) == []

    virtual.run(story())


def roots(count: int) -> tuple[c.ReportedRoot, ...]:
    return tuple(c.ReportedRoot(f"o{n}", RootKind.HANDLE, (AppShuffle(n),), "`x` in etl.py:41") for n in range(count))


JOB = c.ReportJobStarted(
    JobId(1), StageId(1), lineage=tuple(Lineage(AppShuffle(n), call_site=CALL_SITE) for n in range(16_000))
)
EXECUTIONS = tuple(c.ReportExecutionStarted(ExecutionId(n), CALL_SITE) for n in range(20_000))


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        (c.ReportCut(LookId(1), roots(25_000)), "half a look proves nothing: tell roots of one kind as one"),
        (JOB, "tell lineage that is new before it, in several ReportLineage"),
        (c.Resync(executions=EXECUTIONS), "more than that must end first"),
        (c.ReportLineage(JOB.lineage), "cut it into several commands"),
    ],
    ids=["ReportCut", "ReportJobStarted", "Resync", "ReportLineage"],
)
def test_what_no_commit_holds_is_refused_with_what_to_do(command: c.Command, advice: str) -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            await replica.submit(facts.APP, number([c.BeginLook(LookId(1))]))
            (refusal,) = await replica.submit(facts.APP, number([command]))
            assert isinstance(refusal, Rejection)
            assert refusal.reason is Reason.INVALID
            assert f"one {type(command).__name__} of application {facts.APP} makes " in refusal.fact
            assert advice in refusal.next_step
            assert (await replica.view(facts.APP)).meta.seen_sequence == 0

    virtual.run(story())
