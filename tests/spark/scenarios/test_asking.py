"""Questions and reports by unary calls, about an application whose jobs run: scenarios 26, 27, 28, 35, 36, 37.

Responsible for: what tasks would be told, whichever replica they ask and however often.
Refuses to know: the session of the driver, which reports beside them.
Invariant: one recovery a lost generation, and a later generation is untouched by reports about an earlier one.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_status import rpc_status  # type: ignore[import-untyped]
from shuffle_lifecycle.v1 import common_pb2, errors_pb2, service_pb2

from coordinator.app import start_replica
from tests.spark.bridge.conftest import Log
from tests.spark.scenarios.conftest import deleted
from tests.spark.scenarios.test_deleting import close, newest
from tests.support.gates import held_at
from tests.support.premature import deleting_at_random
from tests.support.spark import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]


def report(log: Log, app_shuffle: int, shuffle_id: int, client: str = "", number: int = 0) -> Any:
    """A task's report that it did not find a generation."""
    caller = service_pb2.Caller(application=log.application, token=log.token(), client=client, number=number)
    missing = service_pb2.ReportMissing(app_shuffle=app_shuffle, shuffle_id=shuffle_id, detail="a task looked")
    return log.ask("ReportMissingShuffle", service_pb2.ReportMissingShuffleCall(caller=caller, command=missing))


def ask(log: Log, app_shuffle: int, stage: Any, application: str = "") -> Any:
    caller = service_pb2.Caller(application=application or log.application, token=log.token())
    question = service_pb2.GetShuffleId(app_shuffle=app_shuffle, stage=stage)
    return log.ask("GetShuffleId", service_pb2.GetShuffleIdCall(caller=caller, command=question))


def missing(run: Any, attachment: Any, log: Log, held: Any) -> tuple[Any, int, int]:
    """An RDD whose shuffle A1 is gone; A and A1."""
    held.open()
    first = run.again(run.keyed(), held)
    assert run.again(first).count() == 400
    run.settled(attachment)
    source, a, _ = log.map_stages()
    wait_for(lambda: set(deleted(log)) == {source, a}, "A to go")
    close(held)
    return first, a, newest(log, a)


def test_26_a_late_report_joins_the_recovery_and_leaves_the_next_generation_alone(run: Any) -> None:
    with deleting_at_random(0, odds=0.0), run.attached(budget_premature=100) as (attachment, log):
        held = run.gate()
        first, a, a1 = missing(run, attachment, log, held)
        told = report(log, a, a1).recover
        assert (told.missing, a in told.recompute) == (a1, True)
        with held_at(held, first.count) as job:
            wait_for(held.arrived, "A2's writers")
            run.settled(attachment)
            a2 = newest(log, a)
            assert report(log, a, a1).recover == told  # t2, late
            held.open()
            assert job.result() == 400
        run.settled(attachment)
        assert report(log, a, a1).not_ready.why.startswith("a later generation exists")  # read again: it is over
        assert newest(log, a) == a2 > a1
        [recovery] = log.events("recovery_opened")
        assert (recovery.recovery, recovery.missing) == (told.recovery, a1)
        assert run.files(a)

        # 28: A2 is missing later. What was missed before may go again here, so that it can be.
        assert run.again(first).count() == 400
        run.settled(attachment)
        wait_for(lambda: deleted(log).count(a) == 2, "A2 to go")
        again = report(log, a, a2).recover
        assert (again.missing, again.recovery > told.recovery) == (a2, True)
        assert first.count() == 400
        run.settled(attachment)
        named = [gone for event in log.events("recovery_opened") for gone in event.gone]
        assert sorted(named) == sorted(set(named))
        assert {a1, a2} <= set(named)


def test_27_and_35_two_replicas_give_one_recovery_and_a_repeat_its_first_answer(run: Any, tmp_path: Path) -> None:
    store = f"sqlite://{tmp_path}/log.db"
    one, two = start_replica(store), start_replica(store)
    try:
        with run.attached_to(one.address) as (attachment, log):
            wait_for(lambda: attachment.status().state == "connected", "the session")
            held = run.gate()
            first, a, a1 = missing(run, attachment, log, held)
            replicas = [Log(one.address, log.application, log.token), Log(two.address, log.application, log.token)]
            with ThreadPoolExecutor(8) as pool:
                told = [task.result() for task in [pool.submit(report, replicas[n % 2], a, a1) for n in range(8)]]
            assert len({reply.recover.recovery for reply in told}) == 1
            assert len(log.events("recovery_opened")) == 1

            register(log, "a-task")
            answer = report(replicas[0], a, a1, "a-task", 2)
            joined = len(log.events("recovery_joined"))
            assert report(replicas[1], a, a1, "a-task", 2) == answer
            assert answer.recover.recovery == told[0].recover.recovery
            assert len(log.events("recovery_joined")) == joined
            held.open()
            assert first.count() == 400
    finally:
        one.stop()
        two.stop()


def register(log: Log, client: str) -> None:
    caller = service_pb2.Caller(application=log.application, token=log.token(), client=client)
    request = service_pb2.NumberedRequest(number=1, register_client=service_pb2.RegisterClient(client=client))
    log.ask("Submit", service_pb2.SubmitCall(caller=caller, requests=[request]))


def test_36_what_nobody_heard_of_is_an_error_that_says_what_there_is(run: Any) -> None:
    with run.attached() as (attachment, log):
        assert run.keyed().count() == 400
        run.settled(attachment)
        [a] = log.map_stages()
        stage = common_pb2.StageAttempt(stage=0)
        with pytest.raises(grpc.RpcError) as unknown_shuffle:
            ask(log, a + 1_000, stage)
        assert unknown_shuffle.value.code() is grpc.StatusCode.NOT_FOUND
        rejection = rejection_in(unknown_shuffle.value)
        assert str(a + 1_000) in rejection.fact
        assert str(a) in rejection.expected
        with pytest.raises(grpc.RpcError) as unknown_application:
            ask(log, a, stage, "00000000-0000-4000-8000-000000000000")
        assert unknown_application.value.code() in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.PERMISSION_DENIED)
        assert ask(log, a, log.events("stage_submitted")[-1].stage).ready.shuffle_id == newest(log, a)


def rejection_in(error: grpc.RpcError) -> errors_pb2.Rejection:
    """The details that come with a refusal."""
    status = rpc_status.from_call(error)
    assert status is not None
    rejection = errors_pb2.Rejection()
    assert any(detail.Unpack(rejection) for detail in status.details)
    return rejection


def test_37_who_asks_while_it_is_written_is_told_when_to_ask_again(run: Any) -> None:
    with run.attached() as (attachment, log):
        held = run.gate()
        first = run.again(run.keyed(), held)
        with held_at(held, first.count) as job:
            wait_for(held.arrived, "A's writers")
            run.settled(attachment)
            a = log.map_stages()[-1]
            readers = log.events("job_started")[-1].final_stage
            told = ask(log, a, common_pb2.StageAttempt(stage=readers)).not_ready
            assert (told.shuffle_id, told.ask_again_ms > 0, told.why) == (newest(log, a), True, "being written")
            held.open()
            assert job.result() == 400
        run.settled(attachment)
        reader = log.events("stage_submitted")[-1].stage
        assert ask(log, a, reader).ready.shuffle_id == told.shuffle_id
