"""The application: a store, a replica and a server, put together.

Responsible for the order in which they are started and stopped, in the caller's event loop (`running`) or in a thread
of its own (`start_replica`, for the driver's process and for tests). Refuses to know rules, and who chose the options.
Invariant: what was opened is closed in reverse, whatever fails on the way.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from coordinator.archive.open import open_archive
from coordinator.release import release
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from coordinator.server.metrics.counting import Figures
from coordinator.server.metrics.page import MetricsPage, PageOptions
from coordinator.server.options import ServerOptions
from coordinator.server.server import Server
from state_backend.api import Keyspace, StateBackend
from state_backend.errors import Corrupt, StateBackendError
from state_backend.open import open_backend
from state_backend.threads import Threads, or_here
from state_backend.waiting import within

#: How long starting or stopping from another thread may take, in seconds.
_PATIENCE_S = 30.0
#: How long a store may take to show that it is not damaged, in seconds.
_CHECK_S = 2.0
#: Calls of the archive at a time. It may hang, and must not take the threads that load applications along.
_ARCHIVE_CALLS = 8
#: Snapshots that are encoded or read at a time: Python computes one at a time anyway.
_SNAPSHOTS = 4
_EVERYWHERE = ("", "0.0.0.0", "[::]")


def replica_name() -> str:
    """A name for one run of one process; never used twice."""
    return f"replica-{uuid.uuid4().hex[:12]}"


def reached_at(address: str) -> str:
    """Where drivers reach what listens there; empty for all of a machine's addresses: which one, nobody knows here."""
    host, _, _ = address.rpartition(":")
    return "" if host in _EVERYWHERE else address


@asynccontextmanager
async def running(
    store: str, server: ServerOptions, options: Options, archive: str = "", metrics: PageOptions | None = None
) -> AsyncIterator[Server]:
    """A server that serves over this store until the block is left, which drains it. ``archive``: where logs move to.

    ``metrics``: where Prometheus reads its figures. Raises what opening the store or listening raises; nothing is left
    open then.
    """
    async with AsyncExitStack() as opened:
        backend = await open_backend(store)
        opened.push_async_callback(backend.close)
        await _check(backend)
        told = replace(options, release=options.release or release())
        kept = open_archive(archive) if archive else None
        figures = Figures() if metrics is not None else None
        asked, snapshots = Threads(_ARCHIVE_CALLS, "archive"), or_here(Threads(_SNAPSHOTS, "snapshot"))
        coordinator = Replica(backend, told, aside=snapshots, archive=kept, archive_aside=asked, observer=figures)
        listening = Server(coordinator, replace(server, replica=server.replica or options.replica))
        opened.push_async_callback(listening.stop)  # stops the replica too; both may be stopped before they started
        listening.bind()
        if metrics is not None and figures is not None:
            figures.show(coordinator.standing, metrics.applications)
            page = MetricsPage(figures.registry, metrics)
            opened.push_async_callback(page.stop)
            await page.start()
            listening.metrics_address = page.address
        coordinator.reached_at(reached_at(listening.address))
        await coordinator.start()
        await listening.start()
        yield listening


async def _check(backend: StateBackend) -> None:
    """A store that is damaged serves nobody: raises what it says. One that is away may come back."""
    try:
        await within(_CHECK_S, backend.scan_keys(Keyspace.REPLICAS, limit=1))
    except (StateBackendError, asyncio.TimeoutError) as error:
        if isinstance(error, Corrupt):
            raise


@dataclass(slots=True)
class ReplicaThread:
    """A replica in a thread of its own. ``address``: where it is reached."""

    address: str
    _loop: asyncio.AbstractEventLoop
    _stop: asyncio.Event
    _thread: threading.Thread

    def stop(self, within_s: float = _PATIENCE_S) -> None:
        """Drains it and waits for its thread's end, so long at the most. May be repeated."""
        with suppress(RuntimeError):  # its loop is closed: it has ended
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(within_s)


def start_replica(
    store: str,
    bind: str = "127.0.0.1:0",
    options: Options | None = None,
    server: ServerOptions | None = None,
    archive: str = "",
) -> ReplicaThread:
    """Starts a replica in a daemon thread and waits until it serves. Raises what kept it from serving.

    ``archive``: where logs move to; empty: they stay in the store.

    One that does not serve in time is given up: should it come to serve later, it stops at once.
    """
    chosen = options or Options(replica=replica_name())
    listening = replace(server or ServerOptions(), bind=bind)
    served: Future[ReplicaThread] = Future()
    thread = threading.Thread(
        target=lambda: _run(_serve(store, listening, chosen, archive, served, thread), served),
        name="shuffle-lifecycle-replica",
        daemon=True,
    )
    thread.start()
    try:
        return served.result(_PATIENCE_S)
    except FutureTimeout:
        if not served.cancel():
            return served.result()  # it has just come to serve, or failed
        raise TimeoutError(
            f"the coordinator did not serve within {_PATIENCE_S:g} s; expected a store that opens at once: "
            "see whether its disk answers, and who else holds it"
        ) from None


def _run(serving: Coroutine[Any, Any, None], served: Future[ReplicaThread]) -> None:
    """In an event loop of its own. Where a process has no file left for one, that too has kept it from serving."""
    try:
        asyncio.run(serving)
    except BaseException as error:
        serving.close()
        if served.done():
            raise
        served.set_exception(error)


async def _serve(
    store: str,
    server: ServerOptions,
    options: Options,
    archive: str,
    served: Future[ReplicaThread],
    thread: threading.Thread,
) -> None:
    stop = asyncio.Event()
    try:
        async with running(store, server, options, archive) as listening:
            if served.set_running_or_notify_cancel():
                served.set_result(ReplicaThread(listening.address, asyncio.get_running_loop(), stop, thread))
                await stop.wait()
    except BaseException as error:
        if served.cancelled():
            return  # who would have heard of it was told something else
        if served.done():
            raise
        served.set_exception(error)
