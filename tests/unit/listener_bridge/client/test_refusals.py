"""A coordinator that refuses the driver: asked again while it may change its mind, and left when it means it."""

from __future__ import annotations

import logging
from typing import Any

import grpc
import pytest

from coordinator.core.ids import ApplicationId
from coordinator.runtime.errors import NewerLog
from coordinator.server.statuses import status_for
from listener_bridge.backoff import BackOff
from listener_bridge.client import REFUSALS_MAX
from tests.support.spark import wait_for
from tests.unit.listener_bridge.client.attached import Attached, jobs
from tests.unit.listener_bridge.fakes import FakeCoordinator


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


def code_of(status: Any) -> grpc.StatusCode:
    return next(code for code in grpc.StatusCode if code.value[0] == status.code)


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
