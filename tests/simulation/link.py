"""The line between one driver and one replica, with what may happen on it.

Responsible for carrying a session's messages both ways, through the server's own code, and for losing, doubling,
delaying and reordering them where a story says so. Refuses to know what they say. Invariant: what meets nothing arrives
once and in order; messages of a driver are counted over all its lines, so that a fault is met by the one that it names.

A real stream neither loses nor reorders: it breaks. Here it may, and what is sent again after a break comes twice.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import grpc

from coordinator.runtime.api import Coordinator, CoordinatorError
from coordinator.server.calls import calls_of
from coordinator.server.options import ServerOptions
from coordinator.server.security import Gate
from coordinator.server.sessions import Sessions
from coordinator.server.statuses import Refused
from coordinator.wire.errors import WireError

#: How long a server takes to notice that its driver is gone, where the line says nothing.
UNNOTICED_S = 4.0
_HARMLESS = ("cut", "half-cut", "doubled")


class Traffic:
    """All that one driver sends and is sent, over all its lines, and what meets it."""

    def __init__(self, plan: dict[tuple[str, int], str], pass_s: float) -> None:
        self.plan = plan
        self.pass_s = pass_s
        self.answered = False  #: Only then is what a stream would keep in order asked for in order.
        self.counts: Counter[str] = Counter()
        self.met: Counter[str] = Counter()

    def meets(self, way: str) -> str:
        """What the next message this way meets."""
        number = self.counts[way]
        self.counts[way] = number + 1
        fault = self.plan.get((way, number), "")
        if way == "up" and not self.answered and fault not in _HARMLESS:
            return ""  # a client of whom nothing is known may begin at any number
        if fault:
            self.met[fault] += 1
        return fault

    def heal(self) -> None:
        """From now on everything arrives."""
        self.plan = {}


class Mailbox:
    """What has arrived; None at the end: nothing more will."""

    def __init__(self) -> None:
        self._messages: deque[Any] = deque()
        self._waiting: asyncio.Future[None] | None = None
        self.closed = False

    def put(self, message: Any) -> None:
        if not self.closed:
            self._messages.append(message)
            self._wake()

    def close(self) -> None:
        """Nothing more arrives."""
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def get(self, within_s: float | None = None) -> Any:
        """The next message; None where there will be none; raises `TimeoutError` where none came in time."""
        if not self._messages and not self.closed:
            await self._wait(within_s)
        if self._messages:
            return self._messages.popleft()
        if self.closed:
            return None
        raise TimeoutError

    async def _wait(self, within_s: float | None) -> None:
        loop = asyncio.get_running_loop()
        waiting = self._waiting = loop.create_future()
        timer = loop.call_later(within_s, _settle, waiting) if within_s is not None else None
        try:
            await waiting
        finally:
            if timer is not None:
                timer.cancel()


def _settle(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


class Pipe:
    """One way of a line."""

    def __init__(self, traffic: Traffic, way: str, box: Mailbox, cut: Callable[[bool], None]) -> None:
        self._traffic = traffic
        self._way = way
        self._box = box
        self._cut = cut
        self._under_way: deque[Any] = deque()

    def send(self, message: Any) -> None:
        """Puts a message on its way."""
        fault = self._traffic.meets(self._way)
        if fault in ("cut", "half-cut"):
            self._cut(fault == "half-cut")
        elif fault.startswith("late-"):
            delay_s = int(fault[5:]) / 1000
            asyncio.get_running_loop().call_later(self._traffic.pass_s + delay_s, self._box.put, message)
        elif fault == "lost" and self._way == "down":
            # A directive is sent once a session: a stream that loses one breaks, and somebody notices in the end.
            asyncio.get_running_loop().call_later(UNNOTICED_S, self._cut, False)
        elif fault != "lost":
            for _ in range(2 if fault == "doubled" else 1):
                self._under_way.append(message)
                asyncio.get_running_loop().call_later(self._traffic.pass_s, self._arrive)

    def _arrive(self) -> None:
        self._box.put(self._under_way.popleft())


class ServerEnd:
    """The line as the server's code sees it: gRPC's context, as far as a session uses it."""

    def __init__(self, arrived: Mailbox, down: Pipe) -> None:
        self._arrived = arrived
        self._down = down

    async def read(self) -> Any:
        message = await self._arrived.get()
        return grpc.aio.EOF if message is None else message

    async def write(self, reply: Any) -> None:
        self._down.send(reply)

    def peer(self) -> str:
        return "ipv4:127.0.0.1:1"

    def invocation_metadata(self) -> tuple[()]:
        return ()

    def time_remaining(self) -> None:
        return None


class Line:
    """One session of a driver at a replica, from its first message to its end."""

    def __init__(self, coordinator: Coordinator, replica: str, traffic: Traffic) -> None:
        self.replica = replica
        self.why: Exception | None = None  #: Why the server ended it.
        self._up, self._down = Mailbox(), Mailbox()
        self._pipe = Pipe(traffic, "up", self._up, self.cut)
        self._traffic = traffic
        end: Any = ServerEnd(self._up, Pipe(traffic, "down", self._down, self.cut))
        self._serving = asyncio.create_task(self._serve(sessions_of(coordinator, replica), end), name="session")

    def send(self, message: Any) -> None:
        """The driver says something."""
        if not self._down.closed:
            self._pipe.send(message)

    async def read(self, within_s: float) -> Any:
        """What the driver hears next; None where the line has ended; raises `TimeoutError`."""
        return await self._down.get(within_s)

    def cut(self, unnoticed: bool = False) -> None:
        """The line is broken, and the driver knows; the server, if ``unnoticed``, some time later."""
        self._down.close()
        if self._serving.done():
            return
        if unnoticed:
            asyncio.get_running_loop().call_later(UNNOTICED_S, self._serving.cancel)
        else:
            self._serving.cancel()

    async def _serve(self, sessions: Sessions, end: Any) -> None:
        try:
            await sessions.serve(end)
        except (CoordinatorError, Refused, WireError) as error:
            self.why = error
        finally:
            asyncio.get_running_loop().call_later(self._traffic.pass_s, self._down.close)


def sessions_of(coordinator: Coordinator, replica: str) -> Sessions:
    """A server's sessions, without the server."""
    options = ServerOptions(replica, mint=lambda: f"a mint of {replica}")
    gate = Gate(coordinator, options)
    return Sessions(coordinator, gate, calls_of(coordinator, gate, options), options)
