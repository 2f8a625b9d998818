"""The page that Prometheus reads: `GET /metrics` on a port of its own.

Responsible for answering one question, over HTTP or HTTPS, and for refusing every other. Refuses to know what the
figures mean. Invariant: it listens where it was told to and nowhere else, under the same rules as the service: what
other machines may reach asks them for a certificate. Who asks can make nothing grow.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from coordinator.server.certificates import Certificates
from coordinator.server.interfaces import check_bind
from coordinator.server.server import CannotListen

PATH = "/metrics"
_REQUEST_BYTES_MAX = 16_384
_REQUEST_WITHIN_S = 10.0
_CLOSED_WITHIN_S = 10.0
_CONNECTIONS_MAX = 32


@dataclass(frozen=True, slots=True)
class PageOptions:
    """Where the page is. ``applications``: how many of the heaviest applications get metrics of their own."""

    bind: str
    bind_beyond_loopback: bool = False
    certificates: Certificates | None = field(default=None, repr=False)
    applications: int = 0


class MetricsPage:
    """One listener."""

    def __init__(self, registry: CollectorRegistry, options: PageOptions) -> None:
        self._registry = registry
        self._options = options
        self._server: asyncio.Server | None = None
        self._connections = 0
        self.address = ""  #: Known once it has started.

    async def start(self) -> None:
        """Listens. Raises `BindRefused`, `CannotListen`, `WrongCertificates`."""
        options = self._options
        check_bind(options.bind, options.certificates, options.bind_beyond_loopback)
        host, _, port = options.bind.rpartition(":")
        try:
            context = options.certificates.context() if options.certificates is not None else None
            self._server = await asyncio.start_server(
                self._answer, host.strip("[]") or None, int(port), ssl=context, limit=_REQUEST_BYTES_MAX
            )
        except (OSError, ValueError) as error:
            raise CannotListen(options.bind, error) from error
        self.address = f"{host}:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Listens no more."""
        if self._server is not None:
            self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            if self._connections <= _CONNECTIONS_MAX:
                async with _within(_REQUEST_WITHIN_S):
                    writer.write(self._reply(await reader.readuntil(b"\r\n\r\n")))
                    await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.TimeoutError, OSError):
            writer.transport.abort()  # who asks so is not answered
        finally:
            self._connections -= 1
            await _close(writer)

    def _reply(self, request: bytes) -> bytes:
        words = request.split(b"\r\n", 1)[0].split()
        if len(words) != 3 or words[0] not in (b"GET", b"HEAD"):
            return _response("405 Method Not Allowed", b"GET /metrics is all there is.\n")
        if words[1].partition(b"?")[0] != PATH.encode():
            return _response("404 Not Found", b"GET /metrics is all there is.\n")
        body = generate_latest(self._registry)
        return _response("200 OK", body, CONTENT_TYPE_LATEST, without_body=words[0] == b"HEAD")


async def _close(writer: asyncio.StreamWriter) -> None:
    """What was not read by then is dropped: closing alone would wait for the reader as long as it likes."""
    try:
        writer.close()
        async with _within(_CLOSED_WITHIN_S):
            await writer.wait_closed()
    except (asyncio.TimeoutError, OSError):
        writer.transport.abort()


def _response(status: str, body: bytes, kind: str = "text/plain; charset=utf-8", without_body: bool = False) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + (b"" if without_body else body)


class _within:  # noqa: N801 - read as a word
    """A deadline for a block; Python 3.10 has no `asyncio.timeout`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._late = False

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._handle = asyncio.get_running_loop().call_later(self._seconds, self._cancel)

    def _cancel(self) -> None:
        self._late = True
        self._task.cancel()

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._handle.cancel()
        if self._late and kind is asyncio.CancelledError:
            raise asyncio.TimeoutError
