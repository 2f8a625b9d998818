"""The end of the application and of the bridge: told once, at once, and waited for by nobody."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from shuffle_lifecycle.v1 import errors_pb2, service_pb2

from listener_bridge.bridge import DETACHED, ENDED
from listener_bridge.session import Ending, Session
from listener_bridge.tap.facts import ApplicationEnded, JobEnded
from tests.support.spark import in_background, wait_for
from tests.unit.listener_bridge.client.attached import Attached
from tests.unit.listener_bridge.fakes import PATIENCE, FakeCoordinator


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


class Deaf(FakeCoordinator):
    """It does not hear that a driver hangs up."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()

    def Session(self, requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:  # noqa: N802
        self.go_on.wait(PATIENCE)
        yield service_pb2.SessionReply()


def test_a_session_that_is_closed_before_it_has_begun_waits_for_nobody() -> None:
    coordinator = Deaf()
    with coordinator:
        session = Session(Attached(coordinator.address).bridge, coordinator.address)
        session.close()
        with in_background(session.converse) as ending:
            try:
                assert ending.result(PATIENCE / 2) is Ending.CLOSED
            finally:
                coordinator.go_on.set()


@pytest.mark.parametrize("fails", ["post_marker", "close"])
def test_what_fails_at_the_end_keeps_nothing_else_from_ending(
    coordinator: FakeCoordinator, attached: Attached, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    """Else the session would go on, and be tried again and again, for as long as the driver lives."""

    def failing(*_: object) -> None:
        raise ValueError("an error of the JVM's")

    monkeypatch.setattr(attached.tap, fails, failing)
    attached.bridge.stop("detached", ending=DETACHED)
    assert endings(coordinator) == [DETACHED]
    assert attached.bridge.client.is_hopeless
    assert attached.service.calls[-1] == ("close",)
    attached.tap.end()


def endings(coordinator: FakeCoordinator) -> list[int]:
    told = [one for one in coordinator.requests if one.WhichOneof("command") == "end_application"]
    return [one.end_application.ending for one in told]


@pytest.mark.parametrize("where", ["_hear_the_rest", "_tell_the_end"])
def test_a_program_that_is_interrupted_while_it_detaches_is_left_all_the_same(
    coordinator: FakeCoordinator, attached: Attached, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Nobody listens on, and no session goes on of an application that carries out nothing any more."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    coordinator.wait(lambda: len(coordinator.hellos) == 1, "the session")
    monkeypatch.setattr(attached.bridge, where, interrupted)
    with pytest.raises(KeyboardInterrupt):
        attached.bridge.stop("detached", ending=DETACHED)
    assert attached.bridge.is_stopped.is_set()
    assert attached.tap.is_closed
    wait_for(lambda: not attached.bridge.client._thread.is_alive(), "the end of the session")


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
