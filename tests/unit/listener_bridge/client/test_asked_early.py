"""The token and the address, asked for before the first session has begun."""

from __future__ import annotations

import threading
import time

import pytest

from listener_bridge import client, plugin
from listener_bridge.bridge import Bridge
from tests.support.spark import wait_for
from tests.unit.listener_bridge.client.attached import Attached, handle_of
from tests.unit.listener_bridge.fakes import FakeCoordinator


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

    def held(*limits: int, **more: bool) -> None:
        may_go_on.wait(20)
        connected(*limits, **more)

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
