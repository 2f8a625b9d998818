"""One session: what is told arrives numbered and in order, and what is asked for is carried out."""

from __future__ import annotations

from shuffle_lifecycle.v1 import common_pb2, errors_pb2, service_pb2

from listener_bridge.tap.facts import JobEnded, MarkerPassed
from tests.support.spark import wait_for
from tests.unit.listener_bridge.client.attached import Attached, jobs
from tests.unit.listener_bridge.fakes import FakeCoordinator, accepted, delete, fence


def test_facts_arrive_numbered_and_in_order(coordinator: FakeCoordinator, attached: Attached) -> None:
    attached.tell(*range(100))
    coordinator.wait(lambda: len(coordinator.requests) == 100, "all requests")
    assert jobs(coordinator) == list(range(100))
    assert coordinator.numbers() == list(range(1, 101))
    [hello] = coordinator.hellos
    assert (hello.application, hello.token, hello.client, hello.register) == (
        "app-1", "", "driver-1", attached.registration,
    )  # fmt: skip
    assert hello.registration_token == "secret"
    assert len(hello.proof) >= 32


def test_the_token_that_a_welcome_told_is_shown_from_then_on(coordinator: FakeCoordinator, attached: Attached) -> None:
    attached.tell(1)
    coordinator.wait(lambda: jobs(coordinator) == [1], "the first request")
    attached.wait_answered()
    coordinator.stop()
    coordinator.start()
    attached.tell(2)
    coordinator.wait(lambda: jobs(coordinator) == [1, 2], "the rest")
    first, *_, last = coordinator.hellos
    assert (first.token, last.token, attached.bridge.token) == ("", "told-1", "told-1")
    assert (first.proof, last.proof) == (last.proof, first.proof)


def test_what_is_pinned_now_can_be_asked_for(coordinator: FakeCoordinator, attached: Attached) -> None:
    wait_for(lambda: attached.bridge.client.address, "a session")
    assert attached.bridge.pins() == ()
    coordinator.application = service_pb2.Application(policy=common_pb2.Policy(rule=common_pb2.RULE_EAGER), pins=[4])
    assert attached.bridge.pins() == (4,)
    coordinator.stop()
    wait_for(lambda: not attached.bridge.client.address, "its end")
    assert attached.bridge.pins() == ()


def test_silence_is_filled_with_heartbeats(coordinator: FakeCoordinator, attached: Attached) -> None:
    coordinator.wait(lambda: coordinator.heartbeats >= 2, "two heartbeats")


def test_directives_are_carried_out_and_their_outcomes_come_back(
    coordinator: FakeCoordinator, attached: Attached
) -> None:
    attached.tell(1)
    coordinator.wait(lambda: coordinator.requests, "the session")
    coordinator.direct(fence(1))
    wait_for(lambda: attached.bridge.executor.counts.fenced, "the fence")
    attached.tap.tell(JobEnded(0, 2, 0, True, None), MarkerPassed(0, "mark", ""), JobEnded(0, 3, 0, True, None))
    coordinator.wait(lambda: "report_outcome" in coordinator.commands(), "the fence's outcome")
    coordinator.direct(delete(2))
    coordinator.wait(lambda: len(coordinator.requests) == 5, "all requests")
    outcomes = [r.report_outcome.WhichOneof("outcome") for r in coordinator.requests if r.HasField("report_outcome")]
    assert outcomes == ["fenced", "freed"]
    names = coordinator.commands()
    assert names[:2] == ["report_job_ended", "report_job_ended"]
    assert names.index("report_outcome") < jobs_index(coordinator, 3)


def jobs_index(coordinator: FakeCoordinator, job: int) -> int:
    return next(i for i, one in enumerate(coordinator.requests) if one.report_job_ended.job == job)


def test_what_was_not_answered_is_sent_again_with_its_number(coordinator: FakeCoordinator, attached: Attached) -> None:
    coordinator.answers = False
    attached.tell(1, 2)
    coordinator.wait(lambda: len(coordinator.requests) == 2, "the first try")
    coordinator.stop()
    coordinator.answers = True
    coordinator.start()
    coordinator.wait(lambda: len(coordinator.requests) == 4, "the second one")
    assert [(one.number, one.report_job_ended.job) for one in coordinator.requests] == [(1, 1), (2, 2)] * 2
    assert [hello.client for hello in coordinator.hellos] == ["driver-1"] * 2


def test_a_client_that_is_refused_asks_the_same_number_again(coordinator: FakeCoordinator, attached: Attached) -> None:
    refusal = errors_pb2.Rejection(reason=errors_pb2.REASON_FAILED_PRECONDITION, fact="not registered")
    coordinator.answer = lambda _: {"rejection": refusal}
    attached.tell(1)
    coordinator.wait(lambda: len(coordinator.hellos) == 2, "the next session")
    coordinator.answer = accepted
    wait_for(lambda: attached.bridge.reporter.confirmed == 1, "the answer")
    assert set(coordinator.numbers()) == {1}
