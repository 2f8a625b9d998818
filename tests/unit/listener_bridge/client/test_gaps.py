"""Scenario 16: what was missed is told as a gap, and the truth follows."""

from __future__ import annotations

import logging

import pytest
from shuffle_lifecycle.v1 import errors_pb2

from listener_bridge.outbox import Outbox
from listener_bridge.seldom import AT_ONCE
from listener_bridge.tap.facts import EventsDropped, KnownShuffle, MarkerPassed, Snapshot
from tests.support.spark import wait_for
from tests.unit.listener_bridge.client.attached import Attached, jobs
from tests.unit.listener_bridge.fakes import FakeCoordinator, accepted


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
