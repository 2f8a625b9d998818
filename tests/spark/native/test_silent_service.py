"""Hosts whose shuffle service does not answer: nobody waits for one again and again."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from listener_bridge.shuffle_services import native
from tests.support.standalone import free_port

pytestmark = pytest.mark.spark


@contextmanager
def deaf(backlog: int) -> Iterator[int]:
    """A port where connections are taken and nothing is said; with no backlog left nobody can connect any more."""
    with ExitStack() as stack:
        listening = stack.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(backlog)
        for _ in range(0 if backlog else 2):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        yield int(listening.getsockname()[1])


def asked(run: Any, deletion: Any, port: int, within_s: float = 1.5, by: str = "the shuffle service at ") -> str:
    driver = run.tap.driver
    place = driver.construct(native.load(run.tap), "Place", "7", "127.0.0.1", port)
    end_ns = driver.gateway.jvm.java.lang.System.nanoTime() + int(within_s * 1e9)
    with pytest.raises(Exception, match=rf"{by}.*127\.0\.0\.1") as refused:
        deletion.byService(3, place, end_ns)
    return str(refused.value)


@pytest.fixture
def deletion(run: Any) -> Iterator[Any]:
    driver = run.tap.driver
    network = driver.gateway.jvm.org.apache.spark.network
    conf = network.util.TransportConf("shuffle", network.util.MapConfigProvider.EMPTY)
    client = network.shuffle.ExternalBlockStoreClient(conf, None, False, 5000)
    client.init("an-application")
    yield driver.construct(native.load(run.tap), "Deletion", driver.block_manager.master(), None, client, None)
    client.close()


@pytest.mark.parametrize("backlog", [5, 0], ids=["that says nothing", "that cannot be reached"])
def test_a_service_that_does_not_answer_is_left_alone_for_a_while(run: Any, deletion: Any, backlog: int) -> None:
    with deaf(backlog) as port:
        assert "no time was left" in asked(run, deletion, port, within_s=0.5)
        assert "has not answered within" in asked(run, deletion, port)
        assert "asked again in a while" in asked(run, deletion, port)


def test_a_service_that_is_not_there_is_left_alone_for_a_while(run: Any, deletion: Any) -> None:
    """It may be starting again: who asked at once, and again and again, would soon take it for gone."""
    port = free_port()
    assert f"127.0.0.1:{port}" in asked(run, deletion, port, by="Failed to connect to ")
    assert "asked again in a while" in asked(run, deletion, port)


def test_who_had_no_time_to_answer_is_not_taken_for_silent(run: Any) -> None:
    silences = run.tap.driver.construct(native.load(run.tap), "Silences")
    with pytest.raises(Exception, match="a server was not asked: no time was left"):
        silences.ask("a server", 999)
    assert silences.times("a server") == 0
    silences.ask("a server", 1000).over()
