"""The bridge without Spark: facts in, a coordinator that lives, dies, is slow and lies at the other end."""

from __future__ import annotations

import logging
import random
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from shuffle_lifecycle.v1 import common_pb2, errors_pb2, service_pb2

from coordinator.core.ids import ApplicationId
from coordinator.runtime.errors import NewerLog
from coordinator.server.statuses import status_for
from listener_bridge import Attachment, bridge, client, plugin, session, settings
from listener_bridge.backoff import BackOff
from listener_bridge.bridge import DETACHED, ENDED, Bridge
from listener_bridge.client import REFUSALS_MAX
from listener_bridge.outbox import Outbox
from listener_bridge.seldom import AT_ONCE
from listener_bridge.shuffle_services.api import Cannot, Fenced, Freed
from listener_bridge.tap.facts import ApplicationEnded, EventsDropped, JobEnded, KnownShuffle, MarkerPassed, Snapshot
from tests.support.spark import wait_for
from tests.unit.listener_bridge.fakes import LOCATOR, FakeCoordinator, FakeService, FakeTap, accepted, delete, fence


class Attached:
    """A bridge with all its neighbours."""

    def __init__(self, *addresses: str, **answers: Any) -> None:
        self.tap = FakeTap()
        self.service = FakeService(**{"forget": Freed(0), **answers})
        self.registration = service_pb2.RegisterApplication(application="app-1")
        self.bridge = Bridge(self.tap, self.service, self.registration, "secret", lambda: addresses)  # type: ignore[arg-type]

    def tell(self, *jobs: int) -> None:
        self.tap.tell(*(JobEnded(0, job, 0, True, None) for job in jobs))

    def wait_answered(self) -> None:
        """All that was told is answered, and none of it will be sent again."""
        wait_for(lambda: self.bridge.reporter.backlog().unanswered == 0, "all answers")


@pytest.fixture
def coordinator() -> Iterator[FakeCoordinator]:
    with FakeCoordinator() as running:
        yield running


@pytest.fixture
def attached(coordinator: FakeCoordinator) -> Iterator[Attached]:
    here = Attached(coordinator.address, fence=Fenced(LOCATOR, 5, "mark"), free=Freed(5))
    here.bridge.start()
    yield here
    here.bridge.stop("the test has ended")


def jobs(coordinator: FakeCoordinator) -> list[int]:
    return [one.report_job_ended.job for one in coordinator.requests if one.HasField("report_job_ended")]


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


def test_40_a_coordinator_that_dies_and_comes_back_misses_nothing(
    coordinator: FakeCoordinator, attached: Attached, caplog: pytest.LogCaptureFixture
) -> None:
    attached.tell(1)
    coordinator.wait(lambda: jobs(coordinator) == [1], "the first request")
    attached.wait_answered()
    with caplog.at_level(logging.INFO, "shuffle_lifecycle"):
        coordinator.stop()
        wait_for(lambda: attached.bridge.client.is_away, "it to be missed")
        attached.tell(2, 3)
        coordinator.start()
        coordinator.wait(lambda: jobs(coordinator)[-2:] == [2, 3], "the rest")
        wait_for(lambda: not attached.bridge.client.is_away, "it to be back")
    assert jobs(coordinator) == [1, 2, 3]
    away, back = [record.message for record in caplog.records]
    assert "does not answer" in away
    assert "the job goes on, nothing more is deleted early" in away
    assert "is back" in back


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


def test_several_addresses_go_on_at_the_next_one(
    coordinator: FakeCoordinator, caplog: pytest.LogCaptureFixture
) -> None:
    with FakeCoordinator() as second, caplog.at_level(logging.INFO, "shuffle_lifecycle"):
        second.requests = coordinator.requests  # replicas have one log
        here = Attached("127.0.0.1:1", coordinator.address, second.address)
        here.bridge.start()
        here.tell(1)
        coordinator.wait(lambda: jobs(coordinator) == [1], "the first that lives")
        here.wait_answered()
        coordinator.stop()
        here.tell(2)
        second.wait(lambda: jobs(second) == [1, 2], "the next one")
        told = {(record.levelname, "going on at the next one" in record.message) for record in caplog.records}
        assert told == {("INFO", True)}  # nobody need be woken
        second.stop()
        wait_for(lambda: here.bridge.client.is_away, "all to be missed")
        assert [record.message for record in caplog.records if "nothing more is deleted" in record.message]
        coordinator.start()
        here.bridge.stop("the test has ended")


def test_go_away_goes_elsewhere(coordinator: FakeCoordinator, attached: Attached) -> None:
    attached.tell(1)
    coordinator.wait(lambda: coordinator.requests, "the session")
    with FakeCoordinator() as other:
        other.requests = coordinator.requests
        go_away = service_pb2.GoAway(why="draining", elsewhere=[other.address])
        coordinator.say(service_pb2.SessionReply(go_away=go_away))
        attached.tell(2)
        wait_for(lambda: jobs(other) == [1, 2], "the session to go on")


def test_replicas_that_are_named_no_more_are_asked_no_more(coordinator: FakeCoordinator) -> None:
    gone = "127.0.0.1:1"
    with FakeCoordinator() as other:
        other.requests = coordinator.requests
        coordinator.elsewhere = [gone]
        here = Attached(coordinator.address)
        here.bridge.start()
        here.tell(1)
        coordinator.wait(lambda: jobs(coordinator) == [1], "the first session")
        here.wait_answered()
        coordinator.elsewhere = [other.address]
        coordinator.stop()
        coordinator.start()
        wait_for(lambda: len(coordinator.hellos) == 2 and here.bridge.client.address, "the second one")
        assert gone in here.bridge.client._known
        coordinator.stop()
        here.tell(2)
        wait_for(lambda: jobs(other) == [1, 2], "the session to go on")
        assert set(here.bridge.client._known) == {coordinator.address, other.address}
        coordinator.start()
        here.bridge.stop("the test has ended")


def test_a_coordinator_that_has_lost_its_log_is_told_everything_anew(
    coordinator: FakeCoordinator, attached: Attached
) -> None:
    attached.tell(1, 2)
    coordinator.wait(lambda: len(coordinator.requests) == 2, "the first requests")
    wait_for(lambda: attached.bridge.reporter.confirmed == 2, "their answers")
    coordinator.stop()
    coordinator.requests.clear()
    coordinator.start()
    coordinator.wait(lambda: len(coordinator.requests) == 2, "the truth")
    assert [(one.number, one.WhichOneof("command")) for one in coordinator.requests] == [
        (1, "report_gap"),
        (2, "resync"),
    ]
    assert [hello.client for hello in coordinator.hellos] == ["driver-1", "driver-1", "driver-2"]
    attached.tell(3)
    coordinator.wait(lambda: jobs(coordinator) == [3], "what follows")


def test_a_driver_that_was_taken_for_gone_goes_on_as_a_new_application(
    coordinator: FakeCoordinator,
    attached: Attached,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where something between them refuses the new one at first."""
    attached.tell(1, 2)
    coordinator.wait(lambda: len(coordinator.requests) == 2, "the first requests")
    attached.wait_answered()
    coordinator.stop()
    coordinator.requests.clear()
    coordinator.refuse_with = (grpc.StatusCode.FAILED_PRECONDITION, "it is over (lost)")
    with caplog.at_level(logging.WARNING, "shuffle_lifecycle"):
        coordinator.start()
        wait_for(lambda: attached.bridge.application != "app-1", "a new application")
        coordinator.refuse_with = (grpc.StatusCode.UNAUTHENTICATED, "who are you")
        before = len(coordinator.hellos)
        monkeypatch.setattr(BackOff, "next_s", lambda self: 0.01)
        coordinator.wait(lambda: len(coordinator.hellos) > before + 2 * REFUSALS_MAX, "refusals")
        coordinator.refuse_with = None
        coordinator.wait(lambda: len(coordinator.requests) == 2, "the truth")
    assert coordinator.commands() == ["report_gap", "resync"]
    last = coordinator.hellos[-1]
    assert last.application == last.register.application == attached.bridge.application
    assert (last.client, last.token, last.confirmed) == ("driver-2", "", 0)
    said = [one.message for one in caplog.records if "has closed this application" in one.message]
    assert [attached.bridge.application in line for line in said] == [True]
    attached.tell(3)
    coordinator.wait(lambda: jobs(coordinator) == [3], "what follows")


@pytest.mark.parametrize("is_known", [True, False])
def test_a_new_application_has_the_policy_and_the_pins_of_the_one_that_was_closed(
    coordinator: FakeCoordinator, attached: Attached, caplog: pytest.LogCaptureFixture, is_known: bool
) -> None:
    """Who had said `observe` by hand must not find deletions after a long outage."""
    attached.tap.present = Snapshot("snapshot-0", (KnownShuffle(4, 2, 2),), (), ())
    attached.registration.policy.CopyFrom(common_pb2.Policy(rule=common_pb2.RULE_EAGER, observe=False))
    attached.tell(1)
    coordinator.wait(lambda: jobs(coordinator) == [1], "the first request")
    attached.wait_answered()
    chosen = common_pb2.Policy(rule=common_pb2.RULE_EAGER, observe=True)
    coordinator.application = service_pb2.Application(policy=chosen, pins=[4]) if is_known else None
    coordinator.stop()
    coordinator.requests.clear()
    coordinator.refuse_with = (grpc.StatusCode.FAILED_PRECONDITION, "it is over (lost)")
    with caplog.at_level(logging.WARNING, "shuffle_lifecycle"):
        coordinator.start()
        wait_for(lambda: attached.bridge.application != "app-1", "a new application")
        coordinator.refuse_with = None
        coordinator.wait(lambda: "resync" in coordinator.commands(), "the truth")
        attached.tell(2)
        coordinator.wait(lambda: jobs(coordinator) == [2], "what follows")
    [caller] = coordinator.callers
    assert (caller.application, caller.token) == ("app-1", "told-1")
    pinned = [
        (one.report_kept.app_shuffle, one.report_kept.why)
        for one in coordinator.requests
        if one.HasField("report_kept")
    ]
    assert pinned == ([(4, "pinned in application app-1")] if is_known else [])
    assert coordinator.hellos[-1].register.policy.observe is is_known
    goes_along = "with its policy and 1 pin, without what was chosen for job groups"
    line = next(line for line in caplog.messages if "has closed this application" in line)
    assert line.endswith(goes_along if is_known else "without what was pinned or chosen by hand")


def test_who_is_left_while_the_coordinator_is_asked_for_that_begins_nothing(
    coordinator: FakeCoordinator, attached: Attached, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, may_answer = threading.Event(), threading.Event()

    def slowly(*_: object) -> None:
        asked.set()
        may_answer.wait(20)

    monkeypatch.setattr(bridge, "choices_of", slowly)
    attached.tell(1)
    coordinator.wait(lambda: jobs(coordinator) == [1], "the first request")
    attached.wait_answered()
    coordinator.stop()
    coordinator.refuse_with = (grpc.StatusCode.FAILED_PRECONDITION, "it is over (lost)")
    with caplog.at_level(logging.WARNING, "shuffle_lifecycle"):
        coordinator.start()
        assert asked.wait(20), "the question"
        handle_of(attached).detach()
        may_answer.set()
        attached.bridge.client._thread.join(20)
    assert attached.bridge.application == "app-1"
    assert [line for line in caplog.messages if "has closed this application" in line] == []


def test_who_is_refused_for_a_while_and_was_let_in_before_goes_on(
    coordinator: FakeCoordinator, attached: Attached, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a proxy that knows nobody yet."""
    attached.tell(1)
    coordinator.wait(lambda: jobs(coordinator) == [1], "the first request")
    attached.wait_answered()
    monkeypatch.setattr(BackOff, "next_s", lambda self: 0.01)
    coordinator.stop()
    coordinator.refuse_with = (grpc.StatusCode.UNAUTHENTICATED, "who are you")
    coordinator.start()
    coordinator.wait(lambda: len(coordinator.hellos) > 2 * REFUSALS_MAX, "refusals")
    assert attached.bridge.client.is_away
    assert not attached.bridge.client.refused
    coordinator.refuse_with = None
    attached.tell(2)
    coordinator.wait(lambda: jobs(coordinator) == [1, 2], "the rest")
    monkeypatch.setattr("listener_bridge.client.REFUSED_S", 0.05)
    coordinator.stop()
    coordinator.refuse_with = (grpc.StatusCode.UNAUTHENTICATED, "who are you")
    coordinator.start()
    wait_for(lambda: attached.bridge.client.refused, "a coordinator that means it")


@pytest.mark.parametrize("is_ending", [True, False])
def test_an_interpreter_that_ends_misses_no_coordinator(
    is_ending: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts no thread any more, of which an embedded coordinator needs some."""
    monkeypatch.setattr(BackOff, "next_s", lambda self: 0.01)
    tried: list[int] = []

    def start() -> list[str]:
        tried.append(1)
        raise RuntimeError("can't register atexit after shutdown")

    if is_ending:
        over = threading.Thread(target=int)
        over.start()
        over.join()
        monkeypatch.setattr(threading, "main_thread", lambda: over)
    with caplog.at_level(logging.WARNING, "shuffle_lifecycle"):
        client = Bridge(FakeTap(), FakeService(), service_pb2.RegisterApplication(), "secret", start).client  # type: ignore[arg-type]
        client.start()
        wait_for(lambda: not client._thread.is_alive() if is_ending else len(tried) > 3, "what becomes of it")
        client.close(5.0)
    assert any("does not answer" in one.message for one in caplog.records) is not is_ending
    assert (len(tried) == 1) is is_ending


def test_a_coordinator_that_does_not_know_what_it_refused_has_lost_nothing() -> None:
    """A refusal at a limit is an answer, and not counted by the coordinator: the session that follows goes on."""
    refused = errors_pb2.Rejection(reason=errors_pb2.REASON_EXHAUSTED, fact="too many")
    with FakeCoordinator(lambda request: {"rejection": refused} if request.number > 1 else accepted(request)) as there:
        here = Attached(there.address)
        here.bridge.start()
        here.tell(1, 2)
        wait_for(lambda: here.bridge.reporter.confirmed >= 2, "the answers")
        there.stop()
        there.answered = 1
        there.start()
        wait_for(lambda: here.bridge.client.address, "the session that follows")
        assert {hello.client for hello in there.hellos} == {"driver-1"}
        here.bridge.stop("the test has ended")


def test_16_dropped_events_are_told_and_the_truth_follows(coordinator: FakeCoordinator, attached: Attached) -> None:
    attached.tap.present = Snapshot("snapshot-1", (KnownShuffle(4, 2, 2),), (), ())
    attached.tap.tell(EventsDropped(0, 9, "bus"))
    coordinator.wait(lambda: "resync" in coordinator.commands(), "the truth")
    assert coordinator.commands() == ["report_gap", "report_outputs", "resync"]
    assert coordinator.requests[2].resync.outputs[0].app_shuffle == 4


def test_16_an_overflow_while_the_coordinator_is_away_is_told_when_it_is_back() -> None:
    coordinator = FakeCoordinator()
    coordinator.start()
    coordinator.stop()
    here = Attached(coordinator.address)
    here.bridge.reporter._outbox = Outbox(waiting_max=5)
    here.bridge.start()
    here.tell(*range(20))
    wait_for(lambda: here.bridge.reporter.backlog().dropped == 20, "the overflow")
    coordinator.start()
    coordinator.wait(lambda: len(coordinator.requests) == 2, "the truth")
    assert coordinator.commands() == ["report_gap", "resync"]
    assert coordinator.requests[0].report_gap.dropped == 20
    here.bridge.stop("the test has ended")
    coordinator.stop()


def test_attached_to_a_running_context_the_truth_comes_first(coordinator: FakeCoordinator) -> None:
    here = Attached(coordinator.address)
    here.tap.present = Snapshot("snapshot-0", (KnownShuffle(4, 2, 2),), (), ())
    here.bridge.start()
    here.tell(1)
    coordinator.wait(lambda: len(coordinator.requests) == 4, "all requests")
    assert coordinator.commands() == ["report_gap", "report_outputs", "resync", "report_job_ended"]
    here.bridge.stop("the test has ended")


def test_16_attached_without_knowing_what_runs_a_gap_is_told_until_the_truth_comes(
    coordinator: FakeCoordinator,
) -> None:
    here = Attached(coordinator.address)
    here.tap.present = None
    here.bridge.start()
    here.tell(1)
    coordinator.wait(lambda: len(coordinator.requests) == 2, "the gap")
    here.tap.present = Snapshot("snapshot-1", (KnownShuffle(4, 2, 2),), (), ())
    here.tap.tell(MarkerPassed(0, "snapshot-1", ""))
    coordinator.wait(lambda: "resync" in coordinator.commands(), "the truth")
    assert coordinator.commands() == ["report_gap", "report_job_ended", "report_outputs", "resync"]
    here.bridge.stop("the test has ended")


@pytest.mark.parametrize("reason", [errors_pb2.REASON_INVALID, errors_pb2.REASON_EXHAUSTED])
def test_a_fact_that_is_refused_is_a_gap_and_the_truth_follows(
    coordinator: FakeCoordinator, attached: Attached, caplog: pytest.LogCaptureFixture, reason: errors_pb2.Reason
) -> None:
    refusal = errors_pb2.Rejection(reason=reason, fact="one command makes 99 records")
    coordinator.answer = lambda one: {"rejection": refusal} if one.report_job_ended.job == 2 else accepted(one)
    attached.tap.present = Snapshot("snapshot-1", (), (), ())
    with caplog.at_level(logging.WARNING, "shuffle_lifecycle"):
        attached.tell(1, 2, 3)
        coordinator.wait(lambda: "resync" in coordinator.commands(), "the truth")
    assert jobs(coordinator) == [1, 2, 3]
    assert coordinator.commands()[3:] == ["report_gap", "resync"]
    assert len(coordinator.hellos) == 1
    [line] = [record.message for record in caplog.records]
    assert "refused report_job_ended (one command makes 99 records)" in line


def test_facts_that_are_all_refused_are_not_all_said_to_be(
    coordinator: FakeCoordinator, attached: Attached, caplog: pytest.LogCaptureFixture
) -> None:
    """As of every job, once one of the coordinator's limits is reached."""
    refusal = errors_pb2.Rejection(reason=errors_pb2.REASON_EXHAUSTED, fact="it has 9 shuffles")
    coordinator.answer = lambda one: {"rejection": refusal} if one.HasField("report_job_ended") else accepted(one)
    with caplog.at_level(logging.WARNING, "shuffle_lifecycle"):
        attached.tell(*range(50))
        wait_for(lambda: attached.bridge.reporter.missed() >= 50, "all refusals")
    assert len([one for one in caplog.records if "has refused" in one.message]) == AT_ONCE


def test_a_truth_that_is_refused_is_told_again_ever_more_slowly(
    coordinator: FakeCoordinator, attached: Attached, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("listener_bridge.backoff.FIRST_S", 0.02)
    refusal = errors_pb2.Rejection(reason=errors_pb2.REASON_INVALID, fact="too much")
    coordinator.answer = lambda one: {"rejection": refusal} if one.HasField("resync") else accepted(one)
    attached.tap.present = Snapshot("snapshot-1", (), (), ())
    attached.tap.tell(EventsDropped(0, 9, "bus"))
    coordinator.wait(lambda: coordinator.commands().count("resync") == 3, "three tries")
    assert attached.bridge.reporter._refusals._failures >= 2
    coordinator.answer = accepted
    coordinator.wait(lambda: coordinator.commands().count("resync") == 4, "the last one")
    wait_for(lambda: not attached.bridge.reporter._refusals._failures, "its answer")
    assert coordinator.commands().count("report_gap") == 1


def test_sessions_without_an_answer_follow_one_another_ever_more_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[int] = []
    monkeypatch.setattr(BackOff, "next_s", lambda self: _note(self, pauses))
    failed = errors_pb2.Rejection(reason=errors_pb2.REASON_FAILED_PRECONDITION, fact="the session ends with it")
    with FakeCoordinator(lambda _: {"rejection": failed}) as coordinator:
        here = Attached(coordinator.address)
        here.bridge.start()
        here.tell(1)
        coordinator.wait(lambda: len(coordinator.hellos) == 6, "six sessions")
        assert pauses[:5] == [0, 1, 2, 3, 4]
        coordinator.answer = accepted
        wait_for(lambda: here.bridge.reporter.confirmed == 1, "the answer")
        assert not here.bridge.client._back_off._failures
        here.bridge.stop("the test has ended")


def test_the_programs_own_random_numbers_are_as_without_us() -> None:
    random.seed(7)
    first = random.random()
    random.seed(7)
    BackOff().next_s()
    assert random.random() == first


def _note(back_off: BackOff, pauses: list[int]) -> float:
    pauses.append(back_off._failures)
    back_off._failures += 1
    return 0.01


# ---- its end ----


def test_the_end_is_told_at_once(coordinator: FakeCoordinator, attached: Attached) -> None:
    attached.tell(1)
    attached.bridge.stop("detached", ending=DETACHED)
    assert coordinator.commands() == ["report_job_ended", "end_application"]
    assert endings(coordinator) == [DETACHED]
    assert attached.tap.is_closed
    assert attached.service.calls[-1] == ("close",)


def test_the_end_of_the_application_is_told_once(coordinator: FakeCoordinator, attached: Attached) -> None:
    attached.tap.tell(JobEnded(0, 1, 0, True, None), ApplicationEnded(0, 0))
    attached.tap.end()
    assert attached.bridge.is_stopped.wait(5)
    assert coordinator.commands() == ["report_job_ended", "end_application"]
    assert endings(coordinator) == [ENDED]


def test_an_application_that_cannot_be_listened_to_lives_on(coordinator: FakeCoordinator, attached: Attached) -> None:
    attached.tap.fail(ValueError("no sense"))
    assert attached.bridge.is_stopped.wait(5)
    assert endings(coordinator) == [DETACHED]


def endings(coordinator: FakeCoordinator) -> list[int]:
    told = [one for one in coordinator.requests if one.WhichOneof("command") == "end_application"]
    return [one.end_application.ending for one in told]


def test_a_coordinator_that_has_heard_of_the_end_refuses_nobody(
    coordinator: FakeCoordinator, attached: Attached, caplog: pytest.LogCaptureFixture
) -> None:
    """It hangs up as soon as it is told; here things are still wound up then, for as long as it takes."""
    with caplog.at_level(logging.INFO, "shuffle_lifecycle"):
        attached.tap.tell(ApplicationEnded(0, 0))
        coordinator.wait(lambda: coordinator.commands() == ["end_application"], "the end")
        attached.wait_answered()
        coordinator.refuse_with = (grpc.StatusCode.FAILED_PRECONDITION, "it is over (ended)")
        coordinator.say(service_pb2.SessionReply(go_away=service_pb2.GoAway(why="the application has ended")))
        wait_for(lambda: attached.bridge.client.is_hopeless, "the end of the sessions")
    assert not attached.bridge.client.refused
    assert caplog.records == []


def test_what_is_told_after_the_end_is_not_missed(
    coordinator: FakeCoordinator, attached: Attached, caplog: pytest.LogCaptureFixture
) -> None:
    ended = errors_pb2.Rejection(reason=errors_pb2.REASON_FAILED_PRECONDITION, fact="the application has ended")
    with caplog.at_level(logging.INFO, "shuffle_lifecycle"):
        attached.tap.tell(ApplicationEnded(0, 0))
        coordinator.wait(lambda: coordinator.commands() == ["end_application"], "the end")
        attached.wait_answered()
        coordinator.answer = lambda _: {"rejection": ended}
        attached.tell(2)
        wait_for(lambda: attached.bridge.client.is_hopeless, "the end of the sessions")
    assert not attached.bridge.client.is_away
    assert caplog.records == []


@pytest.mark.parametrize("alive", [True, False], ids=["silent", "dead"])
def test_40_an_end_without_a_coordinator_is_not_waited_for(alive: bool) -> None:
    with FakeCoordinator() as coordinator:
        coordinator.answers = False
        here = Attached(coordinator.address if alive else "127.0.0.1:1")
        here.bridge.start()
        here.tell(1)
        if alive:
            coordinator.wait(lambda: coordinator.requests, "the session")
        began = time.monotonic()
        here.bridge.stop("detached")
        assert time.monotonic() - began < 15.0  # a second, where the machine has nothing else to do


# ---- one that lies ----


UNKNOWN = 4_000_000_000


def asked(attached: Attached) -> list[Any]:
    """What the shuffle service was asked to do."""
    return [call for call in attached.service.calls if call[0] in ("fence", "free", "forget", "invalidate")]


@pytest.mark.parametrize(
    "reply",
    [
        service_pb2.SessionReply(),
        service_pb2.SessionReply(
            answers=service_pb2.Answers(answers=[service_pb2.NumberedAnswer(number=99, last=2**60)])
        ),
        service_pb2.SessionReply(answers=service_pb2.Answers(answers=[service_pb2.NumberedAnswer(number=0)])),
        service_pb2.SessionReply(directives=service_pb2.Directives(directives=[service_pb2.Directive()])),
        service_pb2.SessionReply(directives=service_pb2.Directives(directives=[fence(7, 1, UNKNOWN)])),
        service_pb2.SessionReply(welcome=service_pb2.Welcome()),
        service_pb2.SessionReply(notice=service_pb2.Notice(text="%s %d {}")),
    ],
    ids=["nothing", "far answer", "answer 0", "no directive", "unknown shuffle", "second welcome", "odd notice"],
)
def test_40_lies_change_nothing(
    coordinator: FakeCoordinator, attached: Attached, reply: service_pb2.SessionReply
) -> None:
    attached.service.answers["fence"] = Cannot("app shuffle is not registered with Spark")
    attached.tell(1)
    coordinator.wait(lambda: coordinator.requests, "the session")
    attached.wait_answered()
    coordinator.say(reply)
    attached.tell(2)
    coordinator.wait(lambda: jobs(coordinator) == [1, 2], "the next request")
    attached.wait_answered()
    named = [one.app_shuffle for one in reply.directives.directives if one.app_shuffle]
    wait_for(lambda: asked(attached) == [("fence", one) for one in named], "what the service itself refuses, alone")
    assert coordinator.numbers() == list(range(1, len(coordinator.requests) + 1)), "nothing is left out or sent twice"


def test_40_one_that_never_welcomes_or_answers_is_left(
    coordinator: FakeCoordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "ANSWER_LIMIT_WITH_OTHERS_S", 0.3)
    monkeypatch.setattr(session, "WELCOME_LIMIT_S", 0.3)
    coordinator.welcomes = False
    with FakeCoordinator() as silent, FakeCoordinator() as good:
        silent.answers = False
        here = Attached(coordinator.address, silent.address, good.address)
        here.bridge.start()
        here.tell(1)
        good.wait(lambda: jobs(good) == [1], "the one that answers")
        assert jobs(silent) == [1]
        here.bridge.stop("the test has ended")


@pytest.mark.parametrize("answers", [0, 1])
def test_40_one_that_speaks_and_owes_answers_is_left_as_well(
    coordinator: FakeCoordinator, monkeypatch: pytest.MonkeyPatch, answers: int
) -> None:
    """Also where it answered a part of what it was asked, and there is nothing more to ask."""
    monkeypatch.setattr(session, "ANSWER_LIMIT_WITH_OTHERS_S", 0.5)
    coordinator.answered = answers
    with FakeCoordinator() as talker:
        talker.answers = False
        here = Attached(talker.address, coordinator.address)
        here.bridge.start()
        here.tell(1, 2)
        talker.wait(lambda: jobs(talker) == [1, 2], "both requests")
        told = [service_pb2.NumberedAnswer(number=number + 1, accepted={}) for number in range(answers)]
        talker.say(service_pb2.SessionReply(answers=service_pb2.Answers(answers=told)))
        until_s = time.monotonic() + 5.0
        while not coordinator.hellos and time.monotonic() < until_s:
            talker.say(service_pb2.SessionReply(notice=service_pb2.Notice(text="in a moment")))
            time.sleep(0.05)
        coordinator.wait(lambda: 2 in jobs(coordinator), "the one that answers")
        here.bridge.stop("the test has ended")


def test_40_one_that_takes_connections_and_says_nothing_is_left_soon(
    coordinator: FakeCoordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is paused: its machine goes on to take connections."""
    monkeypatch.setattr(session, "CONNECT_LIMIT_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as paused:
        here = Attached(f"127.0.0.1:{paused.getsockname()[1]}", coordinator.address)
        began = time.monotonic()
        here.bridge.start()
        here.tell(1)
        coordinator.wait(lambda: jobs(coordinator) == [1], "the one that answers")
        assert time.monotonic() - began < session.WELCOME_LIMIT_S
        here.bridge.stop("the test has ended")


def test_a_refusal_that_is_meant_ends_it_with_one_line(
    coordinator: FakeCoordinator, caplog: pytest.LogCaptureFixture
) -> None:
    coordinator.refuse_with = (grpc.StatusCode.PERMISSION_DENIED, "the token is another one")
    here = Attached(coordinator.address)
    with caplog.at_level(logging.INFO, "shuffle_lifecycle"):
        here.bridge.start()
        wait_for(lambda: here.bridge.client.refused, "the refusal")
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "PERMISSION_DENIED: the token is another one" in caplog.records[0].message
    here.bridge.stop("the test has ended")


def test_a_replica_that_cannot_read_the_log_yet_is_asked_again(coordinator: FakeCoordinator) -> None:
    """It is of an older release; the next one there, or the same place after its upgrade, is not."""
    newer = status_for(NewerLog(ApplicationId("app-1"), "its form has version 2"))
    coordinator.refuse_with = (code_of(newer), newer.message)
    here = Attached(coordinator.address)
    here.bridge.start()
    coordinator.wait(lambda: len(coordinator.hellos) > REFUSALS_MAX, "more than would end it, were it a refusal")
    assert not here.bridge.client.refused
    coordinator.refuse_with = None
    wait_for(lambda: here.bridge.client.address, "a session")
    here.bridge.stop("the test has ended")


def code_of(status: Any) -> grpc.StatusCode:
    return next(code for code in grpc.StatusCode if code.value[0] == status.code)


def test_a_client_that_is_refused_asks_the_same_number_again(coordinator: FakeCoordinator, attached: Attached) -> None:
    refusal = errors_pb2.Rejection(reason=errors_pb2.REASON_FAILED_PRECONDITION, fact="not registered")
    coordinator.answer = lambda _: {"rejection": refusal}
    attached.tell(1)
    coordinator.wait(lambda: len(coordinator.hellos) == 2, "the next session")
    coordinator.answer = accepted
    wait_for(lambda: attached.bridge.reporter.confirmed == 1, "the answer")
    assert set(coordinator.numbers()) == {1}


# ---- nobody has answered yet -----------------------------------------------------------------------------------------


def test_whom_nobody_answers_is_told_soon_and_why_when_it_is_known(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As where an embedded coordinator waits for a store at which nobody listens."""
    monkeypatch.setattr(client, "SOON_S", 0.2)
    is_known = threading.Event()

    def addresses() -> tuple[str, ...]:
        is_known.wait(20)
        raise OSError("no member answers")

    here = Attached()
    here.bridge = Bridge(here.tap, here.service, here.registration, "", addresses)  # type: ignore[arg-type]
    here.bridge.start()
    with caplog.at_level(logging.INFO, "shuffle_lifecycle"):
        wait_for(lambda: caplog.messages, "the line")
        [line] = caplog.messages
        is_known.set()
        wait_for(lambda: len(caplog.messages) == 2, "the reason")
    assert line.startswith("no coordinator inside this driver has answered for 0.2 s: the job goes on, nothing more is")
    assert caplog.messages[1].startswith(
        "the coordinator does not answer (OSError: no member answers): the job goes on"
    )
    here.bridge.stop("the test has ended")


def test_who_answers_late_is_told_of_too(
    coordinator: FakeCoordinator, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(client, "SOON_S", 0.2)
    may_start = threading.Event()
    here = Attached()
    where = (coordinator.address,)
    here.bridge = Bridge(
        here.tap, here.service, here.registration, "", lambda: where if may_start.wait(20) else ()  # type: ignore[arg-type]
    )  # fmt: skip
    with caplog.at_level(logging.INFO, "shuffle_lifecycle"):
        here.bridge.start()
        wait_for(lambda: here.bridge.client.is_away, "it to be missed")
        may_start.set()
        wait_for(lambda: not here.bridge.client.is_away, "it to come")
    assert caplog.messages[1:] == [f"the coordinator has answered at {where[0]}: reporting begins"]
    here.bridge.stop("the test has ended")


def test_who_is_answered_in_time_is_told_nothing_and_no_thread_waits(
    coordinator: FakeCoordinator, attached: Attached, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "shuffle_lifecycle"):
        attached.tell(1)
        coordinator.wait(lambda: jobs(coordinator) == [1], "the first request")
        wait_for(lambda: not attached.bridge.client._soon.is_alive(), "its thread's end")
    assert caplog.messages == []


def handle_of(attached: Attached) -> Attachment:
    handle = Attachment(settings.Settings(), "")
    handle._bridge = attached.bridge
    return handle


def test_who_asks_for_token_and_address_right_after_attach_has_them(coordinator: FakeCoordinator) -> None:
    here = Attached(coordinator.address)
    here.bridge.start()
    handle = handle_of(here)
    assert (handle.token, handle.address) == ("told-1", coordinator.address)
    here.bridge.stop("the test has ended")


def test_who_asks_between_the_token_and_the_session_waits_for_both(
    coordinator: FakeCoordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Attached(coordinator.address)
    connected, may_go_on = here.bridge.reporter.connected, threading.Event()

    def held(*limits: int) -> None:
        may_go_on.wait(20)
        connected(*limits)

    monkeypatch.setattr(here.bridge.reporter, "connected", held)
    here.bridge.start()
    wait_for(lambda: here.bridge.token, "the token")
    threading.Timer(0.2, may_go_on.set).start()
    assert handle_of(here).address == coordinator.address
    here.bridge.stop("the test has ended")


def test_who_asks_while_the_interpreter_ends_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a function that is called at exit, when no thread begins any more."""
    monkeypatch.setattr(client, "_is_over", lambda _: True)
    here = Attached()

    def addresses() -> tuple[str, ...]:
        raise RuntimeError("can't start new thread at interpreter shutdown")

    here.bridge = Bridge(here.tap, here.service, here.registration, "", addresses)  # type: ignore[arg-type]
    here.bridge.start()
    began_s = time.monotonic()
    assert handle_of(here).token == ""
    assert time.monotonic() - began_s < plugin.ASKED_LIMIT_S / 2
    here.bridge.stop("the test has ended")


def test_who_asks_where_nobody_answers_has_nothing_and_waits_no_longer_than_that_is_known(
    coordinator: FakeCoordinator, attached: Attached
) -> None:
    nobody = Attached("127.0.0.1:1")
    nobody.bridge.start()
    began_s = time.monotonic()
    assert (handle_of(nobody).token, handle_of(nobody).address) == ("", "")
    assert time.monotonic() - began_s < plugin.ASKED_LIMIT_S
    nobody.bridge.stop("the test has ended")
    assert handle_of(nobody).token == ""
