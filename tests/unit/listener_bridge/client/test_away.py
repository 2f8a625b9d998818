"""A coordinator that is away, comes late, or is elsewhere: nothing is missed, and people are told once."""

from __future__ import annotations

import logging
import random
import threading

import pytest
from shuffle_lifecycle.v1 import errors_pb2, service_pb2

from listener_bridge import client
from listener_bridge.backoff import BackOff
from listener_bridge.bridge import Bridge
from tests.support.spark import wait_for
from tests.unit.listener_bridge.client.attached import Attached, handle_of, jobs
from tests.unit.listener_bridge.fakes import FakeCoordinator, FakeService, FakeTap, accepted


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


def test_why_nobody_answers_is_known_until_somebody_does(coordinator: FakeCoordinator) -> None:
    """As of a store, or a file of lessons, that is none: what keeps the coordinator from starting."""
    starts = [OSError("no such store")]

    def started() -> tuple[str, ...]:
        if starts:
            raise starts[0]
        return (coordinator.address,)

    here = Attached()
    here.bridge.client._addresses = started
    here.bridge.start()
    wait_for(lambda: here.bridge.client.is_away, "it to be missed")
    status = handle_of(here).status()
    assert (status.state, status.why) == ("away", "the coordinator does not answer (OSError: no such store)")
    starts.clear()
    wait_for(lambda: here.bridge.client.address, "it to come")
    assert handle_of(here).status().why == ""
    here.bridge.stop("the test has ended")


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


def test_an_answer_that_cannot_be_taken_ends_the_session_and_the_next_one_is_asked(
    coordinator: FakeCoordinator, caplog: pytest.LogCaptureFixture
) -> None:
    with FakeCoordinator() as other, caplog.at_level(logging.WARNING, "shuffle_lifecycle"):
        here = Attached(coordinator.address, other.address)
        heard, other.welcomes = here.bridge.client.answered, False

        def failing() -> None:
            here.bridge.client.answered = heard  # type: ignore[method-assign]
            raise ValueError("no sense")

        here.bridge.client.answered = failing  # type: ignore[method-assign]
        here.bridge.start()
        here.tell(1)
        other.wait(lambda: other.hellos, "a session elsewhere")
        assert here.bridge.client.address == "", "it has answered nothing yet"
        here.bridge.stop("the test has ended")
    assert "ValueError: no sense" in caplog.text


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
