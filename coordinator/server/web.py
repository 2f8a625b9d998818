"""One question, one answer over HTTP: what the pages and the metrics are served by.

Responsible for a listener of its own port, for GET and HEAD alone, one question a connection, and for hanging up.
Refuses to know gRPC and what is asked for. Invariant: a peer that is slow, rude or many costs a bounded number of
connections, bytes and seconds; no peer keeps the listener from stopping. (Who does not end a TLS handshake costs a
bounded number of seconds alone.)
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from coordinator import logs
from coordinator.server.interfaces import CannotListen
from state_backend.waiting import within

log = logs.logger(__name__)

_HEAD_BYTES = 16_384
_HEAD_S = 10.0
_WRITE_S = 20.0
_SENT_AWAY_S = 1.0
_CONNECTIONS = 32


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for, by GET or HEAD. ``headers``: their lines, as they came."""

    target: str
    headers: Sequence[str] = ()

    def all(self, name: str) -> list[str]:
        """What the headers of this name say; ``name`` in lower case."""
        pairs = (line.partition(":") for line in self.headers)
        return [value.strip() for found, _, value in pairs if found.lower() == name]


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered."""

    status: str
    body: bytes = b""
    kind: str = "text/plain; charset=utf-8"
    headers: tuple[str, ...] = ()


_BUSY = Reply("503 Service Unavailable", b"Too many ask at once; try again.\n")
_FAILED = Reply("500 Internal Server Error", b"This could not be answered; the coordinator's log says why.\n")
_READ_ONLY = Reply(
    "405 Method Not Allowed", b"GET and HEAD alone: nothing can be changed here.\n", headers=("Allow: GET, HEAD",)
)


class Listener:
    """One port. ``headers``: of every reply."""

    def __init__(self, answer: Callable[[Question], Awaitable[Reply]], headers: Sequence[str] = ()) -> None:
        self._answer = answer
        self._headers = headers
        self._served: set[asyncio.Task[None]] = set()  #: A connection each, until it is closed.
        self._server: asyncio.Server | None = None
        self.address = ""  #: Known once it has started.

    async def start(self, bind: str, tls: ssl.SSLContext | None = None) -> None:
        """Listens. Raises `CannotListen`."""
        host, _, port = bind.rpartition(":")
        try:
            self._server = await asyncio.start_server(
                self._accept,
                host.strip("[]") or None,
                int(port),
                limit=_HEAD_BYTES,
                ssl=tls,
                ssl_handshake_timeout=_HEAD_S if tls is not None else None,
            )
        except (OSError, ValueError, OverflowError) as error:
            raise CannotListen(bind, error) from error
        self.address = f"{host}:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Listens no more, and hangs up on whoever is there."""
        if self._server is not None:
            self._server.close()
        for served in self._served:
            served.cancel()
        await asyncio.gather(*self._served, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._server is None or not self._server.is_serving():  # it shook hands while we stopped
            writer.transport.abort()
            return
        served = asyncio.ensure_future(self._serve(reader, writer, len(self._served) >= _CONNECTIONS))
        self._served.add(served)
        served.add_done_callback(lambda _: self._hang_up(served, writer))

    def _hang_up(self, served: asyncio.Task[None], writer: asyncio.StreamWriter) -> None:
        """Also where it was cancelled before it began. What was not read by then is dropped."""
        writer.transport.abort()
        self._served.discard(served)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_too_many: bool) -> None:
        """One connection: one question, one answer."""
        with suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.TimeoutError, OSError):
            is_head, reply = (False, _BUSY) if is_too_many else await self._reply(reader)
            await within(_WRITE_S, _write(writer, reply, is_head, self._headers))
            await _close(writer, _SENT_AWAY_S if is_too_many else _WRITE_S)
        # else it says nothing, reads nothing, is too rude, or has gone: nobody is told

    async def _reply(self, reader: asyncio.StreamReader) -> tuple[bool, Reply]:
        """Whether the head alone is asked for, and the reply."""
        head = await within(_HEAD_S, reader.readuntil(b"\r\n\r\n"))
        first, *headers = head.decode("latin-1").split("\r\n")
        method, _, rest = first.partition(" ")
        if method not in ("GET", "HEAD"):
            return False, _READ_ONLY
        return method == "HEAD", await self._answered(Question(rest.rpartition(" ")[0], headers))

    async def _answered(self, question: Question) -> Reply:
        try:
            return await self._answer(question)
        except Exception:
            log.exception("a question could not be answered", target=question.target[:200])
            return _FAILED


async def _write(writer: asyncio.StreamWriter, reply: Reply, is_head: bool, headers: Sequence[str]) -> None:
    head = (
        f"HTTP/1.1 {reply.status}",
        f"Content-Type: {reply.kind}",
        f"Content-Length: {len(reply.body)}",
        *headers,
        "Connection: close",
        *reply.headers,
    )
    writer.write("\r\n".join([*head, "", ""]).encode() + (b"" if is_head else reply.body))
    await writer.drain()


async def _close(writer: asyncio.StreamWriter, seconds: float) -> None:
    """Closing alone would wait for the reader as long as it likes."""
    writer.close()
    await within(seconds, writer.wait_closed())
