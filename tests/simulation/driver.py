"""A driver that never gives up.

Responsible for telling its jobs to whichever replica answers, in order, each request until it is answered; and for
carrying out directives. Refuses to know the coordinator's inside. Invariant: it sends a number again until it has an
answer, never another command under the same number, and it remembers what it was told.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from coordinator.core.commands import (
    Busy,
    Command,
    Failed,
    Fenced,
    Freed,
    GetShuffleId,
    Outcome,
    ReportOutcome,
    ReportStageSubmitted,
    Request,
)
from coordinator.core.ids import ApplicationId, AppShuffle, DirectiveId
from coordinator.core.rejections import Answer
from coordinator.core.state import Directive
from coordinator.core.values import DirectiveKind
from coordinator.runtime.api import Coordinator, GoAway, Session
from coordinator.runtime.errors import ApplicationOver, CoordinatorError, UnknownApplication
from tests.simulation import checks, facts

#: Far longer than every pause and every clock's error.
REST_S = 300

Pick = Callable[[], Coordinator | None]


@dataclass(slots=True)
class FakeDriver:
    """One application's driver. ``pick`` gives a replica that is alive, or None."""

    application: ApplicationId
    pick: Pick
    chance: random.Random
    acknowledged: dict[int, Answer] = field(default_factory=dict)
    outcomes: dict[DirectiveId, Outcome] = field(default_factory=dict)
    steps: int = 0
    _outbox: deque[Request] = field(default_factory=deque)
    _numbers: facts.Numbers = field(default_factory=facts.Numbers)
    _listening: asyncio.Task[None] | None = None

    async def run(self, jobs: int) -> None:
        """Registers, tells so many jobs, and waits until everything is answered and deleted."""
        await self._register()
        self._listening = asyncio.create_task(self._listen())
        for job in range(jobs):
            self._tell(self._story(job))
            await self._send_all()
            await asyncio.sleep(self.chance.choice((0.0, 0.01, 0.3)))
        await self._rest()
        self._listening.cancel()

    def _story(self, job: int) -> list[Command]:
        """A job; sometimes a later stage reads again what is gone by then."""
        told = facts.whole(job)
        if job and self.chance.random() < 0.3:
            again = 10_000 + job
            told.append(ReportStageSubmitted(facts.attempt(again), reads=(AppShuffle(job - 1),), tasks=1))
            told.append(GetShuffleId(AppShuffle(job - 1), facts.attempt(again)))
        return told

    def _tell(self, commands: Sequence[Command]) -> None:
        self._outbox.extend(self._numbers(commands))

    async def _register(self) -> None:
        first, *rest = facts.opening(self.application)
        while True:
            try:
                replica = self.pick()
                if replica is not None:
                    await replica.register(first)
                    await replica.submit(self.application, rest)
                    return
            except CoordinatorError:
                pass
            await asyncio.sleep(0.1)

    async def _send_all(self) -> None:
        while self._outbox:
            batch = list(self._outbox)[: self.chance.choice((1, 3, 20))]
            confirmed = batch[0].number - 1 if self.chance.random() < 0.7 else 0
            answers = await self._send([replace(request, confirmed=confirmed) for request in batch])
            for request, answer in zip(batch, answers, strict=True):
                self.acknowledged[request.number] = answer
                self._outbox.popleft()
            if self.chance.random() < 0.1:
                await self._send(batch)  # a duplicate, on its way for long
            self.steps += 1

    async def _send(self, batch: list[Request]) -> list[Answer]:
        while True:
            replica = self.pick()
            try:
                if replica is not None:
                    return await replica.submit(self.application, batch)
            except UnknownApplication:
                raise
            except CoordinatorError:
                pass
            await asyncio.sleep(self.chance.choice((0.01, 0.1)))

    async def _rest(self) -> None:
        """Until nothing is outstanding that this driver could still do, or far too long."""
        for _ in range(REST_S):
            await self._send_all()
            await asyncio.sleep(1.0)
            if not self._outbox and await self._nothing_is_left():
                return

    async def _nothing_is_left(self) -> bool:
        replica = self.pick()
        try:
            return replica is not None and not checks.unfinished(await replica.view(self.application))
        except CoordinatorError:
            return False

    async def _listen(self) -> None:
        while True:
            replica = self.pick()
            try:
                if replica is not None:
                    await self._hear(replica)
            except ApplicationOver:
                return
            except CoordinatorError:
                pass
            await asyncio.sleep(0.05)

    async def _hear(self, replica: Coordinator) -> None:
        async with await replica.open_session(self.application, facts.DRIVER) as session:
            beating = asyncio.create_task(self._beat(session))
            async for message in session:
                if isinstance(message, Directive):
                    self._carry_out(message)
                if isinstance(message, GoAway):
                    break
            beating.cancel()

    async def _beat(self, session: Session) -> None:
        while True:
            await session.heartbeat()
            await asyncio.sleep(2.0)

    def _carry_out(self, directive: Directive) -> None:
        """What was done is told again when the directive comes again; what failed is tried again."""
        known = self.outcomes.get(directive.directive)
        outcome = known if known is not None and not isinstance(known, Failed) else self._outcome(directive.kind)
        self.outcomes[directive.directive] = outcome
        self._tell([ReportOutcome(directive.directive, outcome)])

    def _outcome(self, kind: DirectiveKind) -> Outcome:
        lucky = self.chance.random() < 0.8
        if kind is DirectiveKind.FENCE:
            return Fenced(1_000) if lucky else Busy(("stage 1.0",))
        return Freed(1_000) if lucky else Failed("disk")
