"""Questions: whole, in pages, and never an empty success for what is not there."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from shuffle_lifecycle.v1 import common_pb2, events_pb2
from shuffle_lifecycle.v1 import service_pb2 as pb

from coordinator.core.ids import ClientId
from coordinator.core.lifecycle import Life
from coordinator.server.shown import number_of
from coordinator.server.tokens import hash_of
from coordinator.wire.codec import record_from_message
from coordinator.wire.records import SessionRecord
from tests.unit.server import facts
from tests.unit.server.fakes import APP, Running, register, running
from tests.unit.server.refused import refusal

Code = grpc.StatusCode


async def told(run: Running) -> None:
    """App shuffle 0 is readable and app shuffle 1, made from it, is being written."""
    await register(run)
    lineage = [facts.LINEAGE, {**facts.LINEAGE, "app_shuffle": 1, "reads": [0]}]
    job: Any = {"job": 1, "final_stage": 6, "reads": [1], "stages": [{"first": 4, "last": 6}], "lineage": lineage}
    second: Any = {"stage": {"stage": 5}, "reads": [0], "writes": 1, "tasks": 2, "name": "reduce"}
    requests = [
        pb.NumberedRequest(report_job_started=job),
        pb.NumberedRequest(report_stage_submitted=facts.WRITES),
        pb.NumberedRequest(report_stage_completed=facts.WRITTEN),
        pb.NumberedRequest(report_stage_submitted=second),
        pb.NumberedRequest(set_pin=pb.SetPin(app_shuffle=0, why="a person wants it")),
    ]
    await run.stub.Submit(pb.SubmitCall(caller=run.caller(), requests=requests))


async def test_one_application_is_told_in_full() -> None:
    async with running() as run:
        await told(run)
        shown = await run.stub.GetApplication(pb.GetApplicationRequest(caller=run.caller()))
        assert shown.application == APP
        assert shown.driver.name == "nightly"
        assert shown.sequence == len(run.coordinator.logs[APP])
        assert {(one.life, one.generations, one.bytes) for one in shown.lives} == {
            (common_pb2.LIFE_READABLE, 1, 100),
            (common_pb2.LIFE_WRITING, 1, 0),
        }
        assert list(shown.pins) == [0]


async def test_applications_come_in_pages() -> None:
    async with running() as run:
        for name in ("a", "b", "c"):
            await register(run, name)
        first = await run.stub.ListApplications(pb.ListApplicationsRequest(page_size=2))
        assert [one.application for one in first.applications] == ["a", "b"]
        rest = await run.stub.ListApplications(pb.ListApplicationsRequest(page_token=first.next_page_token))
        assert [one.application for one in rest.applications] == ["c"]
        assert rest.next_page_token == ""


async def test_who_was_heard_of_and_where_is_told_of_each_and_in_the_list() -> None:
    async with running() as run:
        await register(run, APP)
        run.coordinator.heard[APP] = SessionRecord(APP, ClientId("driver"), "r2", 1_700)
        (listed,) = (await run.stub.ListApplications(pb.ListApplicationsRequest())).applications
        alone = await run.stub.GetApplication(pb.GetApplicationRequest(caller=run.caller()))
        assert [(one.heard_ms, one.replica) for one in (listed, alone)] == 2 * [(1_700, "r2")]


async def test_applications_are_listed_for_an_administrator_where_there_is_one() -> None:
    async with running(administrators=(hash_of("admin"),)) as run:
        await refusal(run.stub.ListApplications(pb.ListApplicationsRequest()), Code.PERMISSION_DENIED)
        assert run.coordinator.audited == [("wrong administrator token", "the administrator's token is missing")]
        reply = await run.stub.ListApplications(pb.ListApplicationsRequest(token="admin"))
        assert list(reply.applications) == []


async def test_shuffles_come_in_pages_and_by_state() -> None:
    async with running() as run:
        await told(run)
        first = await run.stub.ListShuffles(pb.ListShufflesRequest(caller=run.caller(), page_size=1))
        assert [(one.shuffle_id, one.app_shuffle, one.pinned) for one in first.shuffles] == [(1, 0, True)]
        rest = await run.stub.ListShuffles(
            pb.ListShufflesRequest(caller=run.caller(), page_token=first.next_page_token)
        )
        assert [one.shuffle_id for one in rest.shuffles] == [2]
        writing = await run.stub.ListShuffles(
            pb.ListShufflesRequest(caller=run.caller(), lives=[common_pb2.LIFE_WRITING])
        )
        assert [one.shuffle_id for one in writing.shuffles] == [2]


async def test_a_shuffle_is_told_with_its_readers_and_writers() -> None:
    async with running() as run:
        await told(run)
        by_id = await run.stub.GetShuffle(pb.GetShuffleRequest(caller=run.caller(), shuffle_id=1))
        assert [(reader.stage, reader.attempt) for reader in by_id.readers] == [(5, 0)]
        by_app = await run.stub.GetShuffle(pb.GetShuffleRequest(caller=run.caller(), app_shuffle=1))
        assert [writer.stage for writer in by_app.writers] == [5]
        assert by_app.call_site == "map at job.py:3"


async def test_the_end_of_a_shuffle_is_told() -> None:
    async with running() as run:
        await register(run, capabilities={"completes_after_loss": False})
        missing = pb.ReportMissing(app_shuffle=0, shuffle_id=1, stage=facts.ask().stage)
        requests = [*facts.story(), pb.NumberedRequest(report_missing=missing)]
        await run.stub.Submit(pb.SubmitCall(caller=run.caller(), requests=requests))
        reply = await run.stub.ListShuffles(pb.ListShufflesRequest(caller=run.caller()))
        assert [(one.life, one.shuffle_id, one.app_shuffle) for one in reply.shuffles] == [(common_pb2.LIFE_LOST, 1, 0)]


async def test_what_is_long_gone_was_there_all_the_same() -> None:
    async with running() as run:
        await told(run)
        cleaned = pb.NumberedRequest(report_shuffle_cleaned=pb.ReportShuffleCleaned(app_shuffle=0))
        await run.stub.Submit(pb.SubmitCall(caller=run.caller(), requests=[cleaned]))
        gone = await run.stub.GetShuffle(pb.GetShuffleRequest(caller=run.caller(), shuffle_id=1))
        assert gone.life == common_pb2.LIFE_DELETED
        assert not gone.HasField("app_shuffle")


@pytest.mark.parametrize(
    ("which", "words"),
    [
        ({"shuffle_id": 99}, "shuffle id 99 was never given out; expected one of 1, 2"),
        ({"app_shuffle": 99}, "app shuffle 99 is not known: never told, or removed by Spark's own cleaner"),
    ],
)
async def test_a_shuffle_that_is_not_there_says_which_are(which: dict[str, int], words: str) -> None:
    async with running() as run:
        await told(run)
        request: Any = pb.GetShuffleRequest(caller=run.caller(), **which)
        _, said = await refusal(run.stub.GetShuffle(request), Code.NOT_FOUND)
        assert words in said


async def test_a_shuffle_that_was_announced_or_cleaned_is_not_said_to_be_unheard_of() -> None:
    async with running() as run:
        await told(run)
        job: Any = {"job": 2, "final_stage": 8, "reads": [2], "lineage": [{**facts.LINEAGE, "app_shuffle": 2}]}
        announced = pb.NumberedRequest(report_job_started=job)
        cleaned = pb.NumberedRequest(report_shuffle_cleaned=pb.ReportShuffleCleaned(app_shuffle=0))
        await run.stub.Submit(pb.SubmitCall(caller=run.caller(), requests=[announced, cleaned]))
        for app_shuffle, words in ((2, "is announced and not yet written"), (0, "removed by Spark's own cleaner")):
            asked = run.stub.GetShuffle(pb.GetShuffleRequest(caller=run.caller(), app_shuffle=app_shuffle))
            assert words in (await refusal(asked, Code.NOT_FOUND))[1]


async def test_a_state_that_is_none_here_is_not_taken_for_all_of_them() -> None:
    async with running() as run:
        await told(run)
        lives: Any = [common_pb2.LIFE_WRITING, 99]
        asked = run.stub.ListShuffles(pb.ListShufflesRequest(caller=run.caller(), lives=lives))
        assert "lives holds the unknown value 99" in (await refusal(asked, Code.INVALID_ARGUMENT))[1]


async def test_questions_that_make_no_sense_are_refused() -> None:
    async with running() as run:
        await told(run)
        nothing = run.stub.GetShuffle(pb.GetShuffleRequest(caller=run.caller()))
        assert "no shuffle is named" in (await refusal(nothing, Code.INVALID_ARGUMENT))[1]
        token = run.stub.ListShuffles(pb.ListShufflesRequest(caller=run.caller(), page_token="x"))
        assert "the page token is 'x'" in (await refusal(token, Code.INVALID_ARGUMENT))[1]


async def test_every_question_asks_for_the_token() -> None:
    async with running() as run:
        await told(run)
        nobody = run.caller(token="wrong")
        calls = [
            run.stub.GetApplication(pb.GetApplicationRequest(caller=nobody)),
            run.stub.ListShuffles(pb.ListShufflesRequest(caller=nobody)),
            run.stub.GetShuffle(pb.GetShuffleRequest(caller=nobody, shuffle_id=1)),
            run.stub.GetGraph(pb.GetGraphRequest(caller=nobody)),
            run.stub.ListDirectives(pb.ListDirectivesRequest(caller=nobody)),
            run.stub.ListEvents(pb.ListEventsRequest(caller=nobody)),
            run.stub.TailEvents(pb.TailEventsRequest(caller=nobody)).read(),
        ]
        for call in calls:
            await refusal(call, Code.PERMISSION_DENIED)


async def test_the_graph_shows_stages_shuffles_and_lineage() -> None:
    async with running() as run:
        await told(run)
        graph = await run.stub.GetGraph(pb.GetGraphRequest(caller=run.caller()))
        assert [(one.app_shuffle, list(one.reads)) for one in graph.lineage] == [(0, []), (1, [0])]
        assert [one.shuffle_id for one in graph.shuffles] == [1, 2]
        assert [(one.stage.stage, list(one.reads), one.writes, one.name) for one in graph.stages] == [
            (5, [0], 1, "reduce")
        ]


async def test_a_graph_is_told_whole_though_it_is_larger_than_what_may_be_sent_here() -> None:
    """It has no pages. The limit keeps others from filling a replica's memory."""
    async with running(message_bytes_max=600) as run:
        await register(run)
        for number in range(20):
            lineage: Any = [{**facts.LINEAGE, "app_shuffle": number, "call_site": f"step {number} at nightly.py"}]
            job: Any = {"job": number, "final_stage": number, "reads": [number], "lineage": lineage}
            requests = [pb.NumberedRequest(report_job_started=job)]
            await run.stub.Submit(pb.SubmitCall(caller=run.caller(), requests=requests))
        graph = await run.stub.GetGraph(pb.GetGraphRequest(caller=run.caller()))
        assert graph.ByteSize() > 600
        assert [one.app_shuffle for one in graph.lineage] == list(range(20))


async def test_directives_under_way_are_listed() -> None:
    async with running() as run:
        await told(run)
        reply = await run.stub.ListDirectives(pb.ListDirectivesRequest(caller=run.caller()))
        assert list(reply.directives) == []


async def events_of(run: Running, **asked: int) -> tuple[list[int], int]:
    reply = await run.stub.ListEvents(pb.ListEventsRequest(caller=run.caller(), **asked))
    return [record.sequence for record in reply.records], reply.next_after


async def test_events_come_by_range_and_in_pages() -> None:
    async with running() as run:
        await told(run)
        last = len(run.coordinator.logs[APP])
        assert await events_of(run) == (list(range(1, last + 1)), 0)
        assert await events_of(run, after=2, until=4) == ([3, 4], 0)
        assert await events_of(run, after=2, limit=2) == ([3, 4], 4)
        assert await events_of(run, after=last) == ([], 0)


async def test_a_page_of_events_fits_into_a_message() -> None:
    async with running(message_bytes_max=400) as run:
        await told(run)
        read: list[int] = []
        after, pages = 0, 0
        while pages == 0 or after:
            page, after = await events_of(run, after=after)
            read += page
            pages += 1
        assert read == list(range(1, len(run.coordinator.logs[APP]) + 1))
        assert pages > 1


async def test_events_can_be_followed() -> None:
    async with running() as run:
        await told(run)
        following = run.stub.TailEvents(pb.TailEventsRequest(caller=run.caller(), after=1))
        log = run.coordinator.logs[APP]
        read: list[events_pb2.Record] = [await following.read() for _ in log[1:]]
        assert [record_from_message(record) for record in read] == log[1:]
        following.cancel()


def test_every_state_of_life_has_its_number() -> None:
    assert sorted(number_of(life) for life in Life) == list(range(1, len(Life) + 1))
    assert number_of(None) == 0


async def test_a_page_token_that_is_none_is_refused_in_few_words() -> None:
    async with running() as run:
        await register(run)
        for token in ("9" * 5_000, "x" * 5_000):
            asked = pb.ListShufflesRequest(caller=run.caller(), page_token=token)
            _, words = await refusal(run.stub.ListShuffles(asked), grpc.StatusCode.INVALID_ARGUMENT)
            assert len(words) < 1_000
        listed = pb.ListApplicationsRequest(page_token="x" * 5_000)
        _, words = await refusal(run.stub.ListApplications(listed), grpc.StatusCode.INVALID_ARGUMENT)
        assert len(words) < 1_000


async def test_a_list_of_applications_is_cut_where_the_message_would_be_too_large() -> None:
    async with running(message_bytes_max=600) as run:
        for number in range(8):
            lessons: Any = [{"lineage": "kind", "reads": 1}]
            await register(run, f"{APP}-{number}", settings={"lessons": lessons})
        seen: list[str] = []
        pages, token = 0, None
        while token != "":
            asked = pb.ListApplicationsRequest(page_token=token or "")
            reply = await run.stub.ListApplications(asked)
            assert not any(one.settings.lessons for one in reply.applications)
            seen += [one.application for one in reply.applications]
            pages, token = pages + 1, reply.next_page_token
        assert seen == [f"{APP}-{number}" for number in range(8)]
        assert pages > 1
