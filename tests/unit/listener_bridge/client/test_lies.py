"""Scenario 40: a coordinator that lies, says nothing, or never answers costs the driver nothing."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest
from shuffle_lifecycle.v1 import service_pb2

from listener_bridge import session
from listener_bridge.shuffle_services.api import Cannot
from tests.support.spark import wait_for
from tests.unit.listener_bridge.client.attached import Attached, jobs
from tests.unit.listener_bridge.fakes import FakeCoordinator, fence

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
