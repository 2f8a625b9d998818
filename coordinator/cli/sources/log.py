"""An exported log file as a source.

Responsible for reading all that is good in a file: a damaged segment is named and passed by, a torn end is named.
Refuses to change anything. Invariant: state is folded only up to the first damage, events are shown on both sides; all
damage is named once the source is closed, whatever was asked for.

To decode a file and to fold it take seconds each for a million events: what is asked decides which is done.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

from shuffle_lifecycle.v1 import service_pb2 as pb

from coordinator.cli.exits import Exit, Failure, failure
from coordinator.cli.sources.api import FoldedSource, above
from coordinator.core.commands import Command
from coordinator.core.events import Recorded
from coordinator.core.evolve import fold
from coordinator.core.ids import ApplicationId
from coordinator.core.rejections import Answer
from coordinator.core.state import State, empty
from coordinator.runtime.errors import UnknownApplication
from coordinator.server import shown
from coordinator.wire.codec import Segment
from coordinator.wire.errors import TooNew, UnknownEvent, WireError
from coordinator.wire.logfile import stream_salvage, unbroken


class LogSource(FoldedSource):
    """One file, which holds one application."""

    holds_one = True

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.where = f"log {path}"
        self._path = path
        self._looked_at = 0  # items of the file: of these, `problems` names the damaged ones
        self._is_read = False  # to its end
        self._folded: State | None = None
        self._begun = self._begin()

    async def applications(self) -> list[pb.Application]:
        return [shown.application_shown(self._fold())]

    async def named(self) -> list[pb.Application]:
        return [shown.application_shown(self._begun)]

    async def state(self, application: ApplicationId) -> State:
        self._check(application)
        return self._fold()

    async def batches(self, application: ApplicationId, after: int = 0) -> AsyncIterator[Sequence[Recorded]]:
        self._check(application)
        for item in self._items():
            if isinstance(item, Segment) and (records := above(after, item.records)):
                yield records

    def follow(self, application: ApplicationId, after: int = 0) -> AsyncIterator[Recorded]:  # noqa: ARG002
        raise _only_read("it cannot be followed")

    async def command(self, application: ApplicationId, command: Command) -> Answer:  # noqa: ARG002
        raise _only_read("nothing can be changed in it")

    async def replicas(self) -> list[pb.Replica]:
        raise _only_read("no replica serves it")

    async def close(self) -> None:
        """Looks at what nobody has asked for, so that its damage is named. The file is open only while it is read."""
        if not self._is_read:
            for _ in self._items():
                pass

    def _check(self, application: ApplicationId) -> None:
        if application != self._begun.meta.application:
            raise UnknownApplication(application)

    def _begin(self) -> State:
        """The state at the end of the first segment, which says whose log it is."""
        self._check_stays()
        state = empty()
        for item in self._items():
            if isinstance(item, Segment) and not self.problems:
                fold(state, item.records)
                if state.meta.application is not None:
                    return state
        raise self._refusal()

    def _check_stays(self) -> None:
        """A pipe gives what it has once, and then nothing, as a log that ends would."""
        if self._path.is_fifo() or self._path.is_char_device() or self._path.is_socket():
            told = f"the log file {self._path} is a pipe, a socket or a device"
            raise failure(Exit.USAGE, told, "a file: it is read more than once", "Write it to a file first.")

    def _fold(self) -> State:
        """The state at the end, or before the first damage."""
        if self._folded is None:
            state = empty()
            for item in self._items():
                if not isinstance(item, Segment):
                    break
                fold(state, item.records)
            self._folded = state
        return self._folded

    def _items(self) -> Iterator[Segment | WireError]:
        """What is in the file, read again each time it is asked for: it may be longer than memory."""
        for index, item in enumerate(self._decoded()):
            if index >= self._looked_at:
                self._looked_at = index + 1
                if not isinstance(item, Segment):
                    self.problems.append(item)
            yield item
        self._is_read = True

    def _decoded(self) -> Iterator[Segment | WireError]:
        try:
            with self._path.open("rb") as file:
                yield from unbroken(stream_salvage(file, self._path.name), self._path.name)
        except OSError as error:
            told = f"the log file {self._path} cannot be read ({error.strerror})"
            raise failure(Exit.NOT_FOUND, told, "a file that `shufflectl export` wrote", "Check the path.") from error

    def _refusal(self) -> Failure:
        """Not even the registration can be read."""
        newer = [problem for problem in self.problems if isinstance(problem, (TooNew, UnknownEvent))]
        if self.problems:
            told = str((newer or self.problems)[0])
            self.problems.clear()
            return Failure(Exit.NEWER if newer else Exit.DAMAGED, told)
        return failure(
            Exit.DAMAGED, f"{self.where} is empty", "a log that begins with a registration", "Copy it again."
        )


def _only_read(what: str) -> Failure:
    return failure(
        Exit.USAGE, f"an exported log is a copy: {what}", "a server or a store", "Name one with --server or --store."
    )
