"""The network between the processes of a test, which can be told to misbehave: what it is told, and a TCP proxy.

Responsible for passing bytes from one named process to another, and for holding, delaying and cutting them, each
direction by itself. Refuses to know protocols, but for one line: who an etcd member says it is when it calls another.
Invariant: bytes arrive in order or their connection breaks; what is held arrives when the hold is over, as packets that
TCP sends again; nobody hears of a connection's end through a direction that is held.

The proxy needs no rights. Where there are some, packets can really vanish (`namespaces`).

Flows are named by their ends: ("driver", "r0"), ("r0", "e1"), ("e1", "e2").
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

_CHUNK_BYTES = 1 << 16
_START_S = 10.0
_SERVER_FROM = re.compile(rb"X-Server-From: ([0-9a-f]+)\r\n", re.IGNORECASE)
STRANGER = "?"
LOOPBACK = "127.0.0.1"


@dataclass(eq=False)
class Flow:
    """Bytes from one process to another."""

    open: asyncio.Event = field(default_factory=asyncio.Event)
    delay_s: float = 0.0
    passed_bytes: int = 0

    def __post_init__(self) -> None:
        self.open.set()

    async def passing(self, count: int) -> None:
        """Waits as long as this flow makes its bytes wait."""
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        await self.open.wait()
        self.passed_bytes += count


@dataclass(frozen=True, slots=True)
class Port:
    """Where a process is reached through the network: from whom (``STRANGER``: as it says), and to whom."""

    source: str
    target: str
    target_port: int


class Network(ABC):
    """All flows; a thread of its own moves the bytes. Its methods may be called from any other thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._flows: dict[tuple[str, str], Flow] = {}
        self._thread = threading.Thread(target=self._run, name="network", daemon=True)
        self._thread.start()

    # ---- laying ----

    @abstractmethod
    def lay(self, port: int, to: Port) -> str:
        """The address at which that source reaches that target from now on; this port may be used for it."""

    def introduce(self, members: Mapping[str, str]) -> None:  # noqa: B027 - not everybody has to know
        """How etcd members call themselves (hexadecimal) -> the process's name."""

    def host(self, name: str) -> str:
        """Where this process listens."""
        return LOOPBACK

    def within(self, name: str) -> tuple[str, ...]:
        """What the command begins with by which this process is started."""
        return ()

    def open_door(self, name: str, port: int) -> None:  # noqa: B027 - not everything is behind one
        """Has the test itself reach this port of that process, at the loopback address, whatever happens here."""

    def close(self) -> None:
        """Breaks everything, and stops."""
        with contextlib.suppress(RuntimeError):
            self._do(self._shut())
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_START_S)

    # ---- misbehaving ----

    @abstractmethod
    def break_connections(self, one: str, other: str) -> None:
        """As a reset: what is under way is lost, and both ends hear of it at once."""

    def hold(self, source: str, target: str) -> None:
        """Nothing arrives from here to there, until `heal`."""
        self._call(lambda: self._flow(source, target).open.clear())

    def delay(self, source: str, target: str, seconds: float) -> None:
        """All that goes from here to there takes so much longer."""
        self._call(lambda: setattr(self._flow(source, target), "delay_s", seconds))

    def heal(self, source: str, target: str) -> None:
        """What goes from here to there arrives."""
        self._call(lambda: self._heal(self._flow(source, target)))

    def heal_all(self) -> None:
        """Everything arrives."""
        self._call(lambda: self._heal(*self._flows.values()))

    def passed_bytes(self, source: str, target: str) -> int:
        """How many bytes have arrived."""
        return self._call(lambda: self._flow(source, target).passed_bytes)

    # ---- within the thread ----

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    def _do(self, work: Awaitable[T]) -> T:
        async def done() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(done(), self._loop).result(_START_S)

    def _call(self, work: Callable[[], T]) -> T:
        async def done() -> T:
            return work()

        return self._do(done())

    def _flow(self, source: str, target: str) -> Flow:
        return self._flows.setdefault((source, target), Flow())

    def _heal(self, *flows: Flow) -> None:
        for flow in flows:
            flow.delay_s = 0.0
            flow.open.set()

    @abstractmethod
    async def _shut(self) -> None: ...


class Proxy(Network):
    """All processes share the machine's loopback address, and reach one another through ports of this one."""

    def __init__(self) -> None:
        self._writers: defaultdict[frozenset[str], set[asyncio.StreamWriter]] = defaultdict(set)
        self._members: dict[bytes, str] = {}
        self._servers: list[asyncio.Server] = []
        super().__init__()

    def lay(self, port: int, to: Port) -> str:
        self._do(self._listen(port, to))
        return f"{LOOPBACK}:{port}"

    def introduce(self, members: Mapping[str, str]) -> None:
        self._members.update({one.encode(): name for one, name in members.items()})

    def break_connections(self, one: str, other: str) -> None:
        self._call(lambda: abort(self._writers[frozenset((one, other))]))

    async def _listen(self, port: int, to: Port) -> None:
        self._servers.append(
            await asyncio.start_server(lambda r, w: self._connected(to, r, w), LOOPBACK, port, limit=_CHUNK_BYTES)
        )

    async def _shut(self) -> None:
        for server in self._servers:
            server.close()
        for writers in self._writers.values():
            abort(writers)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, to: Port, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until both directions have ended."""
        first = b""
        source = to.source
        with contextlib.suppress(OSError, asyncio.CancelledError):
            if source == STRANGER:
                first = await reader.read(_CHUNK_BYTES)
                source = self._who(first)
            await self._flow(source, to.target).passing(0)  # a connection too is something that arrives
            await self._join(source, to, first, (reader, writer))
        writer.transport.abort()

    async def _join(
        self, source: str, to: Port, first: bytes, near: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    ) -> None:
        far = await asyncio.open_connection(LOOPBACK, to.target_port, limit=_CHUNK_BYTES)
        mine = self._writers[frozenset((source, to.target))]
        mine.update((near[1], far[1]))
        try:
            await self._both(
                (
                    self._pump(self._flow(source, to.target), first, near[0], far[1]),
                    self._pump(self._flow(to.target, source), b"", far[0], near[1]),
                )
            )
        finally:
            mine.difference_update((near[1], far[1]))
            far[1].transport.abort()

    async def _both(self, pumps: Iterable[Awaitable[None]]) -> None:
        await asyncio.gather(*pumps, return_exceptions=True)

    async def _pump(self, flow: Flow, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until one side ends; the other side hears of it as it hears of bytes."""
        try:
            data = first or await reader.read(_CHUNK_BYTES)
            while data:
                await flow.passing(len(data))
                writer.write(data)
                await writer.drain()
                data = await reader.read(_CHUNK_BYTES)
            await flow.passing(0)
            if writer.can_write_eof():
                writer.write_eof()
        except OSError:
            await flow.passing(0)
            writer.transport.abort()

    def _who(self, first: bytes) -> str:
        found = _SERVER_FROM.search(first)
        return self._members.get(found.group(1).lower(), STRANGER) if found is not None else STRANGER


def abort(writers: Iterable[asyncio.StreamWriter]) -> None:
    """Breaks their connections."""
    for writer in list(writers):
        writer.transport.abort()
