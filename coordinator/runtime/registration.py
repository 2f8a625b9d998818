"""The replica's own entry in the store, alive as long as it is.

Responsible for the record in `replicas` under a lease, and for reading those of the others. Refuses to know what
replicas do for one another. Invariant: a record that is read belongs to a replica that was alive one lease ago.

Nothing on the write path depends on it: it tells drivers where else to go, and writers what every reader understands.
"""

from __future__ import annotations

import asyncio

import structlog

from coordinator.runtime import peers
from coordinator.runtime.clock import Clock, back_off_s
from coordinator.runtime.options import Options
from coordinator.wire.records import ReplicaRecord, encode
from coordinator.wire.upcast import VERSION
from state_backend.api import Lease, StateBackend
from state_backend.errors import Closed, StateBackendError
from state_backend.keys import join_key
from state_backend.values import Keyspace

log = structlog.get_logger(__name__)


class Registration:
    """This replica among the others."""

    def __init__(self, backend: StateBackend, options: Options, clock: Clock) -> None:
        self.others: tuple[ReplicaRecord, ...] = ()  #: As last read.
        self._backend = backend
        self._options = options
        self._clock = clock
        self._started_ms = 0
        self.address = options.address  #: Where drivers reach this replica.
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Registers in the background, anew whenever the lease was lost, until `stop`."""
        self._started_ms = self._clock.wall_ms()
        self._task = asyncio.create_task(self._run(), name="registration")

    async def stop(self) -> None:
        """Takes the record away."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def refresh(self, within_s: float) -> None:
        """Reads the others once more, if the store answers in time."""
        try:
            await asyncio.wait_for(self.replicas(), within_s)
        except (StateBackendError, asyncio.TimeoutError) as error:
            log.warning("other replicas not read", replica=self._options.replica, error=str(error))

    async def replicas(self) -> list[ReplicaRecord]:
        """Those that are alive; raises what the store says."""
        records = await peers.registered(self._backend)
        self.others = peers.others(records, self._options.replica)
        return records

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """Where else a driver may go."""
        return tuple(record.address for record in self.others if record.address)

    async def _run(self) -> None:
        failures = 0
        while True:
            try:
                await self._be_registered()
                failures = 0
            except Closed:
                return
            except StateBackendError as error:
                failures += 1
                log.warning("not registered, trying again", replica=self._options.replica, error=str(error))
            await self._clock.sleep(back_off_s(failures))

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
