"""Replicas over one store, on virtual time.

Responsible for starting, killing and restarting replicas, each with its own connection, clock and faults. Refuses to
know stories. Invariant: a replica that was killed says nothing more to the store, and its leases run out by themselves.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from coordinator.core.ids import ApplicationId
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from state_backend.errors import NoSpace, OutcomeUnknown, Unavailable
from state_backend.limits import PAGE_LIMIT
from state_backend.memory import MemoryBackend, MemoryStore
from state_backend.testing.faults import AnswerLost, Fault, Faults, FaultyBackend, Refused
from state_backend.values import Compare, Keyspace, Operation, Page, Reading, Revision
from tests.simulation import facts, virtual

OPTIONS = Options("r0", answer_within_s=2.0, heartbeat_s=1.0, silence_s=30.0, lease_s=5.0)


class Distant(FaultyBackend):
    """A store with faults, at a distance that chance measures out for every call."""

    def __init__(self, store: MemoryStore, faults: Faults, chance: random.Random | None) -> None:
        super().__init__(MemoryBackend(store), faults)
        self._chance = chance
        self.full = False  #: It can be read and not written.
        self.weather: Fault | None = None  #: What every call meets, until it is fair again.

    async def _travel(self) -> None:
        if self._chance is not None:
            await asyncio.sleep(self._chance.choice((0.0, 0.001, 0.002, 0.02)))

    async def heal(self) -> None:
        """From now on everything works."""
        await self.apply_late()
        self.weather, self._faults = None, Faults()

    def _read_in_weather(self) -> None:
        if isinstance(self.weather, Refused):
            raise Unavailable("a distant store", "an outage")

    async def get(self, keyspace: Keyspace, key: str) -> Reading:
        await self._travel()
        self._read_in_weather()
        reading = await super().get(keyspace, key)
        await self._travel()
        return reading

    async def scan(
        self,
        keyspace: Keyspace,
        prefix: str = "",
        after: str | None = None,
        limit: int = PAGE_LIMIT,
        at: Revision | None = None,
    ) -> Page:
        await self._travel()
        self._read_in_weather()
        page = await super().scan(keyspace, prefix, after, limit, at)
        await self._travel()
        return page

    async def put_txn(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        await self._travel()
        self._read_in_weather()
        if self.full:
            raise NoSpace("a distant store", "its disk is full")
        if isinstance(self.weather, AnswerLost):
            await super().put_txn(compares, operations)
        if self.weather is not None:
            raise OutcomeUnknown("a transaction", "its answer was lost")
        revision = await super().put_txn(compares, operations)
        await self._travel()
        return revision


@dataclass(slots=True)
class Running:
    """A replica, and its own line to the store."""

    replica: Replica
    backend: Distant

    async def kill(self) -> None:
        """As SIGKILL does: the store hears nothing more, and nothing is cleaned up."""
        await self.backend.close()
        await self.replica.stop(drain=False)


class World:
    """One store and its replicas."""

    def __init__(self, seed: int | None = None, options: Options = OPTIONS) -> None:
        self.store = MemoryStore()
        self.chance = random.Random(seed) if seed is not None else None
        self._options = options
        self._started = 0
        self._alive: list[Running] = []

    async def start(self, faults: Faults | None = None, skew_s: float = 0.0, **options: object) -> Running:
        """One more replica; each run has a name of its own."""
        self._started += 1
        chosen = replace(self._options, replica=f"r{self._started}", **options)  # type: ignore[arg-type]
        backend = Distant(self.store, faults or Faults(), self.chance)
        running = Running(Replica(backend, chosen, virtual.clock(skew_s)), backend)
        await running.replica.start()
        self._alive.append(running)
        return running

    async def stop(self) -> None:
        """Stops whatever runs."""
        for running in self._alive:
            await running.replica.stop(drain=False)
            await running.backend.close()

    def reader(self) -> MemoryBackend:
        """A line without faults and distance, for looking at the store."""
        return MemoryBackend(self.store)

    async def __aenter__(self) -> World:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


async def registered(replica: Replica, application: ApplicationId = facts.APP, **more: object) -> facts.Numbers:
    """Registers an application that deletes eagerly, and gives its driver's numbers."""
    first, *rest = facts.opening(application, **more)  # type: ignore[arg-type]
    await replica.register(first)
    await replica.submit(application, rest)
    return facts.Numbers()
