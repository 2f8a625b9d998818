"""A source: something that can be asked about applications.

Responsible for the questions that every source answers alike, in the protocol's own messages. Refuses to know where the
answers come from. Invariant: the same log gives the same answers, whichever source holds it; what is damaged is passed
by and named in ``problems``, never silently.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

from shuffle_lifecycle.v1 import service_pb2 as pb

from coordinator.core.commands import Command
from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId
from coordinator.core.proving import Proof
from coordinator.core.rejections import Answer
from coordinator.core.state import State
from coordinator.runtime.verifying import Verdict
from coordinator.server import shown

#: Of a source that has no archive.
IN_ARCHIVE = "One that has ended may be in an archive: ask with --store and --archive."


class Source(ABC):
    """One source, opened. ``where`` is what people call it."""

    where: str
    holds_one: bool = False  #: Whether it is one application's log, which need not be named.
    elsewhere: str = ""  #: Where applications may be that it does not hold.

    def __init__(self) -> None:
        self.problems: list[Exception] = []
        self.remarks: list[str] = []  #: What its reader should know before the answer.

    @abstractmethod
    async def applications(self) -> list[pb.Application]:
        """All applications, the oldest first."""

    async def named(self) -> list[pb.Application]:
        """The same, for who only wants to know what they are called: what became of them may be missing."""
        return await self.applications()

    @abstractmethod
    async def application(self, application: ApplicationId) -> pb.Application:
        """One application in full. Raises `UnknownApplication`."""

    @abstractmethod
    async def shuffles(self, application: ApplicationId) -> list[pb.Shuffle]:
        """Its generations: those that are alive, and the newest of each app shuffle that are gone."""

    @abstractmethod
    async def graph(self, application: ApplicationId) -> pb.Graph:
        """Shuffles, lineage and the stages that run."""

    @abstractmethod
    def batches(self, application: ApplicationId, after: int = 0) -> AsyncIterator[Sequence[Recorded]]:
        """What is in its log now, above ``after``, as many events at a time as lie together; none is empty."""

    def events(self, application: ApplicationId, after: int = 0) -> AsyncIterator[Recorded]:
        """The same, one by one."""
        return each(self.batches(application, after))

    def events_aside(self, application: ApplicationId, after: int = 0) -> AsyncIterator[Recorded]:
        """The same, for who shows none of them: damage is no problem, unless all of the source's damage is told."""
        return self.events(application, after)

    @abstractmethod
    def follow(self, application: ApplicationId, after: int = 0) -> AsyncIterator[Recorded]:
        """The same, and then whatever comes."""

    @abstractmethod
    async def command(self, application: ApplicationId, command: Command) -> Answer:
        """Has something done."""

    @abstractmethod
    async def replicas(self) -> list[pb.Replica]:
        """Who serves over the same store."""

    async def verify(self, application: ApplicationId) -> Verdict:
        """Folds its log to the end, and proves after every step what must hold. What is damaged is a problem too."""
        proof, missing = Proof(), ""
        async for recorded in self.events(application):
            expected = proof.expected
            if missing:
                continue  # what is damaged there is named all the same
            if recorded.sequence == expected:
                proof.take(recorded)
            else:
                missing = f"event {expected} is missing: {recorded.sequence} follows; nothing behind it was checked"
        if not missing and not self.problems:
            proof.rest()  # else the rest of its last step may be what is missing, and nothing can be said of it
        found = (*map(str, proof.broken), *map(str, self.problems), *filter(None, [missing]))
        self.problems.clear()
        return Verdict(application, proof.expected - 1, 0, 0, found, proof.broken)

    @abstractmethod
    async def close(self) -> None:
        """Lets go of it."""


class FoldedSource(Source):
    """A source that has the log, and answers from its fold."""

    @abstractmethod
    async def state(self, application: ApplicationId) -> State:
        """The state at the log's end, or before what is damaged."""

    async def application(self, application: ApplicationId) -> pb.Application:
        return shown.application_shown(await self.state(application))

    async def shuffles(self, application: ApplicationId) -> list[pb.Shuffle]:
        return shown.shuffles_shown(await self.state(application))

    async def graph(self, application: ApplicationId) -> pb.Graph:
        return shown.graph_shown(await self.state(application))


def foldable(source: Source, application: ApplicationId) -> AsyncIterator[Recorded]:
    """What can be folded: up to the first event that is missing. The source names what is damaged."""
    return each(foldable_batches(source, application))


async def foldable_batches(source: Source, application: ApplicationId) -> AsyncIterator[Sequence[Recorded]]:
    """The same, in batches."""
    expected = 1
    batches: Any = source.batches(application)
    async with aclosing(batches):
        async for batch in batches:
            if batch[0].sequence != expected and source.problems:
                return
            yield batch
            expected = batch[-1].sequence + 1


def up_to(source: Source, sequence: int) -> str:
    """How far a log could be folded that is damaged; nothing is said of a whole one."""
    return f" up to event {sequence:,}" if source.problems else ""


async def each(batches: Any) -> AsyncIterator[Recorded]:
    """What is in them, one by one."""
    async with aclosing(batches):
        async for batch in batches:
            for recorded in batch:
                yield recorded


def above(after: int, records: Sequence[Recorded]) -> Sequence[Recorded]:
    """Of consecutive events those whose number is larger."""
    if not records or records[0].sequence > after:
        return records
    return [recorded for recorded in records if recorded.sequence > after]
