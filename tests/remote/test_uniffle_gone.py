"""A server that is gone for good: what of it can be purged is, and nobody asks it for ever."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from listener_bridge.shuffle_services.api import Failed, Fenced, Freed
from listener_bridge.shuffle_services.testing import TIMEOUT
from tests.remote.conftest import OnUniffle, asked_in_vain, on_uniffle
from tests.support.servers import Server
from tests.support.spark import wait_for
from tests.support.uniffle import SERVERS, Uniffle

pytestmark = pytest.mark.timeout(200, func_only=True)
SILENCES = ("client", "silences")
STARTED = "Shuffle server start successfully"


@pytest.fixture
def run(uniffle: Uniffle, tmp_path: Path) -> Iterator[OnUniffle]:
    """Each shuffle is on two of the six servers."""
    two = {"spark.rss.client.assignment.shuffle.nodes.max": "2"}
    with on_uniffle(uniffle, tmp_path, **two) as on_two:
        yield on_two


@pytest.fixture
def killed(uniffle: Uniffle) -> Iterator[list[Server]]:
    """Those that a test has killed: they are there again for the next one."""
    gone: list[Server] = []
    yield gone
    for server in gone:
        start_again(server)


def start_again(server: Server) -> None:
    before = server.said().count(STARTED)
    server.start()
    wait_for(lambda: server.said().count(STARTED) > before, "the server's return")


def test_a_server_that_was_asked_in_vain_too_often_is_given_up(run: OnUniffle, killed: list[Server]) -> None:
    shuffle = run.write()
    name, other = sorted(run.servers(shuffle))
    assert run.blocks(shuffle).keys() == {name, other}
    fenced = run.service.fence(shuffle, TIMEOUT)
    assert isinstance(fenced, Fenced)
    killed.append(run.cluster.servers[int(name.rpartition(":")[2]) - SERVERS])
    killed[0].kill()
    outcome = run.service.free(fenced.locator, TIMEOUT)
    assert isinstance(outcome, Failed)
    assert name in outcome.why
    assert other not in outcome.why
    wait_for(lambda: run.client.blocks(other, shuffle, 3) == 0, "the other server's part of it")
    asked_in_vain(run, SILENCES, 8)
    again = run.service.free(fenced.locator, TIMEOUT)
    assert isinstance(again, Failed), "nine times"
    assert f"{name} did not answer a moment ago" in again.why
    asked_in_vain(run, SILENCES, 1)
    assert run.service.free(fenced.locator, TIMEOUT) == Freed(0)
    assert run.service.forget(fenced.locator, TIMEOUT) == Freed(0)
    assert run.read_again(shuffle)
