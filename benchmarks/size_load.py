"""One application that grows very large, told to a replica as a driver tells it.

Responsible for jobs that write a shuffle each, read it and are done with it, for a driver that carries out what it is
asked, and for Spark's cleaner that lets go of most of them. Refuses to measure. Invariant: when it has ended, the last
``alive`` shuffles are there and all others are gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from coordinator.core import commands as c
from coordinator.core.ids import ApplicationId, AppShuffle, ClientId, JobId, Span, StageAttempt, StageId
from coordinator.core.state import Directive
from coordinator.core.values import DirectiveKind, Driver, Lineage, Policy, Rule
from coordinator.runtime.api import Session
from coordinator.runtime.replica import Replica

APPLICATION = ApplicationId("0190b2c4-5d6e-7f80-9a1b-2c3d4e5f6072")
DRIVER = ClientId("driver")
_BATCH = 32  #: Jobs told at once.
_MB = 1_000_000


@dataclass
class Load:
    """Tells ``shuffles`` jobs. ``cleaned``: Spark's own cleaner lets go of what was deleted."""

    replica: Replica
    shuffles: int
    alive: int = 100
    cleaned: bool = True
    application: ApplicationId = APPLICATION
    number: int = 0
    _asked: asyncio.Queue[Directive] = field(default_factory=asyncio.Queue)

    async def tell(self) -> None:
        """Until all is told, and all that was asked is done."""
        await self.replica.register(c.Request(DRIVER, 0, self._registration()))
        await self.replica.submit(self.application, [c.Request(DRIVER, 0, c.RegisterClient(DRIVER))])
        async with await self.replica.open_session(self.application, DRIVER) as session:
            hearing = asyncio.create_task(self._hear(session))
            gone = self.shuffles - self.alive
            for first in range(0, gone, _BATCH):
                jobs = range(first, min(first + _BATCH, gone))
                await self._submit([command for job in jobs for command in whole(job)])
                await self._carry_out()
            await self._until_all_is_done()
            for job in range(gone, self.shuffles):
                await self._submit(list(writes(job)))
            hearing.cancel()

    def _registration(self) -> c.RegisterApplication:
        policy = Policy(Rule.EAGER, observe=False)
        return c.RegisterApplication(self.application, Driver(name="large"), policy=policy)

    async def _hear(self, session: Session) -> None:
        async for message in session:
            if isinstance(message, Directive):
                self._asked.put_nowait(message)

    async def _carry_out(self) -> None:
        """Fences and frees what has been asked for, and lets Spark's cleaner have what is freed."""
        done: list[c.Command] = []
        while not self._asked.empty():
            asked = self._asked.get_nowait()
            fence = asked.kind is DirectiveKind.FENCE
            done.append(c.ReportOutcome(asked.directive, c.Fenced(_MB) if fence else c.Freed(_MB)))
            if not fence and self.cleaned:
                done.append(c.ReportShuffleCleaned(asked.app_shuffle))
        await self._submit(done)

    async def _until_all_is_done(self) -> None:
        while (await self.replica.view(self.application)).generations:
            await self._carry_out()
            await asyncio.sleep(0.01)

    async def _submit(self, commands: list[c.Command]) -> None:
        """As one client, which has read every answer before it sends more."""
        confirmed = self.number
        requests = [c.Request(DRIVER, confirmed + n, command, confirmed) for n, command in enumerate(commands, 1)]
        self.number += len(requests)
        await self.replica.submit(self.application, requests, within_s=60)


def writes(job: int) -> Iterator[c.Command]:
    """Job k writes app shuffle k."""
    shuffle, first = AppShuffle(job), 2 * job
    yield c.ReportJobStarted(
        JobId(job),
        StageId(first + 1),
        reads=(shuffle,),
        stages=(Span(first, first + 1),),
        lineage=(Lineage(shuffle, maps=200, call_site="groupBy at nightly.py:214"),),
        call_site="collect at nightly.py:220",
    )
    yield c.ReportStageSubmitted(_attempt(first), writes=shuffle, tasks=200, name="groupBy at nightly.py:214")
    yield c.ReportStageCompleted(_attempt(first), shuffle_bytes_written=_MB)


def whole(job: int) -> Iterator[c.Command]:
    """… and reads it, and is done."""
    yield from writes(job)
    reader = _attempt(2 * job + 1)
    yield c.ReportStageSubmitted(reader, reads=(AppShuffle(job),), tasks=200, name="collect at nightly.py:220")
    yield c.GetShuffleId(AppShuffle(job), reader)
    yield c.ReportStageCompleted(reader, output_bytes=_MB)
    yield c.ReportJobEnded(JobId(job))


def _attempt(stage: int) -> StageAttempt:
    return StageAttempt(StageId(stage), 0)
