"""A driver that begins again: as a new client where the log is lost, as a new application where its own was closed."""

from __future__ import annotations

import logging
import threading

import grpc
import pytest
from shuffle_lifecycle.v1 import common_pb2, errors_pb2, service_pb2

from listener_bridge import bridge
from listener_bridge.backoff import BackOff
from listener_bridge.client import NOT_TAKEN_MAX, REFUSALS_MAX
from listener_bridge.tap.facts import KnownShuffle, Snapshot
from tests.support.spark import wait_for
from tests.unit.listener_bridge.client.attached import Attached, handle_of, jobs
from tests.unit.listener_bridge.fakes import FakeCoordinator, accepted


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


@pytest.mark.parametrize(
    "wrong",
    [
        (grpc.StatusCode.INVALID_ARGUMENT, "the message has 300001 items in its lists"),
        (grpc.StatusCode.INTERNAL, "the server failed"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "SERVER: Received message larger than max (157671 vs. 65536)"),
    ],
    ids=["too large inside", "a rule fails on it", "too large for a limit that was lowered"],
)
def test_who_is_not_taken_again_and_again_tells_everything_anew(
    coordinator: FakeCoordinator,
    attached: Attached,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    wrong: tuple[grpc.StatusCode, str],
) -> None:
    """The request would be sent first in every session, and end it."""
    coordinator.what_is_wrong = wrong
    monkeypatch.setattr(BackOff, "next_s", lambda self: 0.01)
    attached.tell(1)
    coordinator.wait(lambda: jobs(coordinator) == [1], "the first request")
    attached.wait_answered()
    coordinator.cannot_take = lambda one: one.HasField("report_job_ended") and one.report_job_ended.job == 2
    with caplog.at_level(logging.WARNING, "shuffle_lifecycle"):
        attached.tell(2)
        coordinator.wait(lambda: coordinator.hellos[-1].client == "driver-2", "a new client")
        attached.tap.present = Snapshot("snapshot-1", (), (), ())
        coordinator.wait(lambda: "resync" in coordinator.commands(), "the whole truth")
        attached.tell(3)
        coordinator.wait(lambda: jobs(coordinator) == [1, 3], "what comes then")
    assert [hello.client for hello in coordinator.hellos] == ["driver-1"] * NOT_TAKEN_MAX + ["driver-2"]
    assert wrong[1] in caplog.text
