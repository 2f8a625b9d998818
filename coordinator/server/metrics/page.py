"""The page that Prometheus reads: `GET /metrics` on a port of its own.

Responsible for answering one question, and for refusing every other. Refuses to know what the figures mean, and HTTP
(`coordinator.server.web`). Invariant: it listens where it was told to and nowhere else, under the same rules as the
service: what other machines may reach asks them for a certificate.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from coordinator.server.certificates import Certificates
from coordinator.server.interfaces import check_bind
from coordinator.server.web import Listener, Question, Reply

PATH = "/metrics"
_ELSEWHERE = Reply("404 Not Found", b"GET /metrics is all there is.\n")


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
        self._listener = Listener(self._answer)

    @property
    def address(self) -> str:
        """Known once it has started."""
        return self._listener.address

    async def start(self) -> None:
        """Listens. Raises `BindRefused`, `CannotListen`, `WrongCertificates`."""
        options = self._options
        check_bind(options.bind, options.certificates, options.bind_beyond_loopback)
        await self._listener.start(options.bind, options.certificates.context() if options.certificates else None)

    async def stop(self) -> None:
        """Listens no more."""
        await self._listener.stop()

    async def _answer(self, question: Question) -> Reply:
        if question.target.partition("?")[0] != PATH:
            return _ELSEWHERE
        return Reply("200 OK", generate_latest(self._registry), CONTENT_TYPE_LATEST)
