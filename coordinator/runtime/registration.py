"""The replica's own entry in the store, alive as long as it is, and what the others' entries say.

Responsible for the record in `replicas` under a lease, and for knowing those of the others. Refuses to know what
replicas do for one another. Invariant: a record that is read belongs to a replica that was alive one lease ago; as long
as the others are not known, they are taken to read no more than the first release.

Nothing that is written waits for it: it tells drivers where else to go, and writers what every reader understands. An
older replica that comes between two looks meets what it cannot read, and says so; nothing is misread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from coordinator import logs
from coordinator.runtime import peers
from coordinator.runtime.clock import Clock, back_off_s
from coordinator.runtime.errors import ALL
from coordinator.runtime.observing import Observer
from coordinator.runtime.options import Options
from coordinator.wire.records import ReplicaRecord, encode
from coordinator.wire.upcast import VERSION
from coordinator.wire.versions import FIRST
from state_backend.api import Lease, StateBackend
from state_backend.errors import Closed, StateBackendError
from state_backend.keys import join_key
from state_backend.values import Keyspace, Revision
from state_backend.waiting import within

log = logs.logger(__name__)


class Registration:
    """This replica among the others."""

    def __init__(self, backend: StateBackend, options: Options, clock: Clock, observer: Observer | None = None) -> None:
        self.others: tuple[ReplicaRecord, ...] = ()  #: As last read.
        self._known = False  #: They have been read.
        self._backend = backend
        self._options = options
        self._clock = clock
        self._observer = observer or Observer()
        self._started_ms = 0
        self.address = options.address  #: Where drivers reach this replica.
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Registers in the background, anew whenever the lease was lost, until `stop`."""
        self._started_ms = self._clock.wall_ms()
        work = [(self._be_registered, "not registered"), (self._watch, "other replicas not watched")]
        self._tasks = [asyncio.create_task(self._again(*one), name=one[1]) for one in work]

    async def stop(self) -> None:
        """Takes the record away."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def refresh(self, within_s: float) -> None:
        """Reads the others once more, if the store answers in time."""
        try:
            await within(within_s, self.replicas())
        except (StateBackendError, asyncio.TimeoutError) as error:
            why = str(error) or f"no answer within {within_s:g} s"
            log.warning("other replicas not read", replica=self._options.replica, error=why)

    async def replicas(self) -> list[ReplicaRecord]:
        """Those that are alive; raises what the store says."""
        records = await peers.registered(self._backend)
        self.others, self._known = peers.others(records, self._options.replica), True
        return records

    def readable(self) -> int:
        """The newest version of records that every replica can read, as far as is known."""
        return min([VERSION, *(record.reads_version for record in self.others)]) if self._known else FIRST

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """Where else a driver may go."""
        return tuple(record.address for record in self.others if record.address)

    async def _again(self, work: Callable[[], Awaitable[None]], failed: str) -> None:
        """For ever, with a pause after each failure."""
        failures = 0
        while True:
            try:
                await work()
                failures = 0
            except Closed:
                return
            except StateBackendError as error:
                failures += 1
                self._observer.refused(ALL)
                log.warning("trying again", what=failed, replica=self._options.replica, error=str(error))
            except Exception:
                failures += 1
                log.exception("a defect, trying again", what=failed, replica=self._options.replica)
            await self._clock.sleep(back_off_s(failures))

    async def _watch(self) -> None:
        """Reads the others again whenever one comes or goes."""
        present = (await self._backend.scan_keys(Keyspace.REPLICAS, limit=1)).revision
        async with self._backend.watch(Keyspace.REPLICAS, "", Revision(present + 1)) as watch:
            await self.replicas()
            async for _ in watch:
                await self.replicas()

    async def _be_registered(self) -> None:
        """Until the lease is lost."""
        name = self._options.replica
        async with await self._backend.grant(self._options.lease_s) as lease:
            await self._backend.put(Keyspace.REPLICAS, join_key(name), encode(self._record(lease)), lease.id)
            await self.replicas()
            log.warning("registration lost", replica=name, cause=str(await lease.wait_lost()))

    def _record(self, lease: Lease) -> ReplicaRecord:
        return ReplicaRecord(
            self._options.replica,
            self.address,
            VERSION,
            self._options.release,
            self._started_ms,
            lease.id,
            int(lease.ttl_seconds * 1000),
        )
