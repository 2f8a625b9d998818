"""The network between the processes of a test, where each has a network namespace and packets really vanish.

Responsible for a namespace a process, with one interface whose other end is here, and for passing its packets on, late
or not at all. Refuses to know what is in them, but for what it takes to reset a connection (`packets`). Invariant:
nothing that it makes has a name outside, and all of it goes with this process and those that it started: interfaces
with their descriptors, namespaces with who is in them. So two runs never meet, and nothing is left behind, whatever
ends one.

What is cut here is lost, in any amount: senders send again, later and later, connections stay half open, and nobody is
told of an end. The kernel could drop packets by itself; that it delays them takes a module that many have not.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import threading
from dataclasses import dataclass

from tests.faults import packets
from tests.faults.network import LOOPBACK, Flow, Network, Port, abort
from tests.faults.packets import End

_CLONE_NEWNET = 0x40000000
_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_DEVICE = "tun0"
_PACKET_BYTES = 9_000
_AT_ONCE = 64  #: Packets of one node, before the others' are looked at.
_CHUNK_BYTES = 1 << 16
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Node:
    """One process's place. ``tun`` and ``namespace`` are descriptors."""

    name: str
    host: str
    tun: int
    namespace: int


class Namespaces(Network):
    """A switch between namespaces."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._by_address: dict[bytes, Node] = {}
        self._expected: dict[End, int] = {}  # what each end has said last that it expects next
        self._broken: set[End] = set()
        self._doors: list[asyncio.Server] = []
        self._visits: set[asyncio.StreamWriter] = set()
        self._home = os.open("/proc/self/ns/net", os.O_RDONLY)
        super().__init__()

    # ---- laying ----

    def lay(self, port: int, to: Port) -> str:
        return f"{self.host(to.target)}:{to.target_port}"

    def host(self, name: str) -> str:
        return self._node(name).host

    def within(self, name: str) -> tuple[str, ...]:
        return ("nsenter", f"--net=/proc/{os.getpid()}/fd/{self._node(name).namespace}")

    def open_door(self, name: str, port: int) -> None:
        self._do(self._open(self._node(name), port))

    def socket_at(self, name: str) -> socket.socket:
        """One of the test's own, in that process's place."""
        node = self._node(name)
        return self._call(lambda: self._socket_within(node))

    def _node(self, name: str) -> Node:
        if name not in self._nodes:
            node = self._nodes[name] = make_node(name, f"10.77.0.{len(self._nodes) + 1}")
            self._call(lambda: self._join(node))
        return self._nodes[name]

    def _join(self, node: Node) -> None:
        self._by_address[socket.inet_aton(node.host)] = node
        self._loop.add_reader(node.tun, self._arrived, node)

    async def _shut(self) -> None:
        for door in self._doors:
            door.close()
        abort(self._visits)
        for node in self._nodes.values():
            self._loop.remove_reader(node.tun)
            os.close(node.tun)
            os.close(node.namespace)
        os.close(self._home)

    # ---- packets ----

    def break_connections(self, one: str, other: str) -> None:
        self._call(lambda: self._break({one, other}))

    def _break(self, names: set[str]) -> None:
        for end, number in list(self._expected.items()):
            if {self._by_address[end.source].name, self._by_address[end.target].name} == names:
                self._broken.add(end)
                self._reset(end, number)

    def _reset(self, end: End, number: int) -> None:
        """Tells the end that the other one has broken the connection."""
        self._deliver(self._by_address[end.source], packets.reset(end.back, number))

    def _arrived(self, source: Node) -> None:
        for _ in range(_AT_ONCE):
            try:
                packet = os.read(source.tun, _PACKET_BYTES)
            except BlockingIOError:
                return
            target = self._by_address.get(packets.target_of(packet) or b"")
            if target is not None:
                self._pass(self._flow(source.name, target.name), target, packet)

    def _pass(self, flow: Flow, target: Node, packet: bytes) -> None:
        if self._is_refused(packet) or not flow.open.is_set():
            return
        flow.passed_bytes += len(packet)
        if flow.delay_s:
            self._loop.call_later(flow.delay_s, self._deliver, target, packet)
        else:
            self._deliver(target, packet)

    def _is_refused(self, packet: bytes) -> bool:
        """Whether it is of a connection that was broken; then its sender is told once more."""
        sent = packets.read(packet)
        if sent is None:
            return False
        if sent.opens:
            self._broken -= {sent.end, sent.end.back}
            self._expected.pop(sent.end.back, None)
        elif sent.flags & packets.ACK:
            self._expected[sent.end] = sent.expects
        if sent.end not in self._broken:
            return False
        if not sent.flags & packets.RST:
            self._reset(sent.end, sent.expects)
        return True

    def _deliver(self, target: Node, packet: bytes) -> None:
        with contextlib.suppress(OSError):  # its queue is full, or all is over: it is lost
            os.write(target.tun, packet)

    # ---- doors ----

    async def _open(self, node: Node, port: int) -> None:
        visit = lambda r, w: self._visit(node, port, r, w)  # noqa: E731
        self._doors.append(await asyncio.start_server(visit, LOOPBACK, port))

    async def _visit(self, node: Node, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of the test's own, which never is a packet of this network."""
        self._visits.add(writer)
        try:
            with contextlib.suppress(OSError):
                there = self._socket_within(node)
                await self._loop.sock_connect(there, (node.host, port))
                far_reader, far = await asyncio.open_connection(sock=there)
                self._visits.add(far)
                await asyncio.gather(_pump(reader, far), _pump(far_reader, writer))
                far.transport.abort()
                self._visits.discard(far)
        finally:
            writer.transport.abort()
            self._visits.discard(writer)

    def _socket_within(self, node: Node) -> socket.socket:
        """A socket stays in the namespace in which it was made, wherever its thread goes."""
        _enter(node.namespace)
        try:
            made = socket.socket()
        finally:
            _enter(self._home)
        made.setblocking(False)
        return made


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until one side ends; then the other one has to."""
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
    writer.transport.close()


def why_not() -> str:
    """Why no namespace can be made here; empty: they can."""
    try:
        node = make_node("trial", "10.77.0.1")
        subprocess.run(["nsenter", f"--net=/proc/{os.getpid()}/fd/{node.namespace}", "true"], check=True)
    except (OSError, AttributeError, subprocess.CalledProcessError) as error:
        return f"no network namespaces here ({error})"
    os.close(node.tun)
    os.close(node.namespace)
    return ""


def make_node(name: str, host: str) -> Node:
    """In a thread of its own, which leaves this process's namespace for good."""
    made: list[Node | OSError | subprocess.CalledProcessError] = []
    thread = threading.Thread(target=lambda: made.append(_made(name, host)), name=f"namespace of {name}")
    thread.start()
    thread.join()
    (node,) = made
    if isinstance(node, Exception):
        raise node
    return node


def _made(name: str, host: str) -> Node | OSError | subprocess.CalledProcessError:
    try:
        _check(_libc.unshare(_CLONE_NEWNET))
        namespace = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH22x", _DEVICE.encode(), _IFF_TUN | _IFF_NO_PI))
        for command in (
            "link set lo up",
            f"addr add {host}/24 dev {_DEVICE}",
            f"link set {_DEVICE} up mtu {_PACKET_BYTES}",
        ):
            subprocess.run(["ip", *command.split()], check=True)
        return Node(name, host, tun, namespace)
    except (OSError, subprocess.CalledProcessError) as error:
        return error


def _enter(namespace: int) -> None:
    _check(_libc.setns(namespace, _CLONE_NEWNET))


def _check(status: int) -> None:
    if status:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
