"""Packets that vanish: what the network of namespaces does to real connections, and a short run over it.

Its invariant: what is waited for comes through a socket, never a time; where no namespaces can be made it is said why.
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.namespaces import Namespaces, why_not
from tests.faults.network import LOOPBACK, Port
from tests.faults.run import run
from tests.faults.schedule import Kind, schedule

WHY_NOT = why_not()
pytestmark = [pytest.mark.faults, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]

PORT, PATIENCE_S = 4_000, 20.0
SEED, SECONDS, PAUSE_S = 12, 15.0, (0.5, 1.5)
LINKS = (Kind.CUT, Kind.CUT_ONE_WAY, Kind.FLAP, Kind.DELAY, Kind.BREAK, Kind.LOSE_REPLIES)
Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def network() -> Iterator[Namespaces]:
    network = Namespaces()
    try:
        yield network
    finally:
        network.close()


@pytest.fixture
def listening(network: Namespaces) -> Iterator[socket.socket]:
    with network.socket_at("b") as server:
        server.settimeout(PATIENCE_S)
        server.bind((network.host("b"), PORT))
        server.listen()
        yield server


def connect(network: Namespaces, listening: socket.socket) -> Pair:
    """From `a` to `b`."""
    host, _, port = network.lay(0, Port("a", "b", PORT)).partition(":")
    near = network.socket_at("a")
    near.settimeout(PATIENCE_S)
    near.connect((host, int(port)))
    far, _ = listening.accept()
    far.settimeout(PATIENCE_S)
    return near, far


def test_what_is_lost_is_sent_again(network: Namespaces, listening: socket.socket) -> None:
    near, far = connect(network, listening)
    with near, far:
        network.hold("a", "b")
        near.sendall(b"request")
        far.sendall(b"from the other side")
        assert near.recv(100) == b"from the other side", "the other direction is open"
        far.setblocking(False)
        with pytest.raises(BlockingIOError):
            far.recv(100)
        far.settimeout(PATIENCE_S)
        network.heal("a", "b")
        assert far.recv(100) == b"request"


def test_nobody_is_told_of_an_end_through_what_is_cut(network: Namespaces, listening: socket.socket) -> None:
    near, far = connect(network, listening)
    with far:
        network.hold("a", "b")
        near.close()
        far.settimeout(0.5)
        with pytest.raises(TimeoutError):
            far.recv(100)
        far.settimeout(PATIENCE_S)
        network.heal_all()
        assert far.recv(100) == b""


def test_a_broken_connection_ends_at_both_ends_and_a_new_one_does_not(
    network: Namespaces, listening: socket.socket
) -> None:
    near, far = connect(network, listening)
    with near, far:
        near.sendall(b"request")
        assert far.recv(100) == b"request"
        network.break_connections("b", "a")
        for end in (near, far):
            with pytest.raises(ConnectionResetError):
                end.recv(100)
    near, far = connect(network, listening)
    with near, far:
        near.sendall(b"request")
        assert far.recv(100) == b"request"


def test_a_connection_breaks_with_what_a_cut_has_kept(network: Namespaces, listening: socket.socket) -> None:
    """As where replies are lost: what was asked has happened, and nobody hears."""
    near, far = connect(network, listening)
    with near, far:
        network.hold("b", "a")
        near.sendall(b"request")
        assert far.recv(100) == b"request"
        far.sendall(b"reply")
        network.break_connections("a", "b")
        for end in (near, far):
            with pytest.raises(ConnectionResetError):
                end.recv(100)


def test_a_delay_is_felt_both_ways(network: Namespaces, listening: socket.socket) -> None:
    near, far = connect(network, listening)
    with near, far:
        for way in (("a", "b"), ("b", "a")):
            network.delay(*way, 0.3)
        began_s = time.monotonic()
        near.sendall(b"request")
        far.sendall(far.recv(100))
        assert near.recv(100) == b"request"
        assert time.monotonic() - began_s >= 0.6


def test_a_door_leads_past_all_that(network: Namespaces, listening: socket.socket) -> None:
    with socket.create_server((LOOPBACK, 0)) as free:
        door = free.getsockname()[1]
    with network.socket_at("b") as server:
        server.settimeout(PATIENCE_S)
        server.bind((network.host("b"), door))
        server.listen()
        network.open_door("b", door)
        network.hold("a", "b")
        with socket.create_connection((LOOPBACK, door), PATIENCE_S) as near:
            far, _ = server.accept()
            with far:
                far.sendall(b"here")
                assert near.recv(100) == b"here"


def test_nothing_is_left_behind() -> None:
    before = interfaces(), descriptors()
    network = Namespaces()
    addresses = subprocess.run([*network.within("a"), "ip", "addr"], check=True, capture_output=True, text=True).stdout
    assert network.host("a") in addresses
    assert interfaces() == before[0], "what is made is not to be seen from here"
    network.close()
    assert (interfaces(), descriptors()) == before


def interfaces() -> str:
    return subprocess.run(["ip", "-brief", "link"], check=True, capture_output=True, text=True).stdout


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.timeout(240)
def test_faults_of_links_where_packets_vanish(tmp_path: Path) -> None:
    faults = schedule(SEED, SECONDS, LINKS, PAUSE_S)
    verdict = run(tmp_path, SEED, faults, SECONDS, network=Namespaces)
    print(*faults, verdict.counts, sep="\n")
    assert verdict.wrong == []
    assert verdict.counts["faults"] == len(faults) > 5
    assert verdict.counts["requests ok"] > 500
