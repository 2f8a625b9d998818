"""What a replica offers to the server, to the embedded bridge and to shufflectl.

Responsible for the promises. Refuses to know transport and store. Invariant: what is answered is durable, and what is
asked is answered as of a moment after it was asked (linearizable); nothing assumes that this replica is the only one.

Every method may raise `Draining` and `Unavailable`; those about one application also `UnknownApplication`, `DamagedLog`
and `NewerLog`. What else, each one says. All of them run in one event loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

from coordinator.core.commands import Request
from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId, AppShuffle, ClientId, ShuffleId
from coordinator.core.rejections import Answer
from coordinator.core.state import Directive, Meta, State
from coordinator.runtime.errors import (
    ApplicationOver,
    Archived,
    CoordinatorError,
    DamagedLog,
    Draining,
    Happened,
    InDoubt,
    NewerLog,
    Overloaded,
    Unavailable,
    UnknownApplication,
)
from coordinator.runtime.options import Options
from coordinator.wire.records import ApplicationRecord, SessionRecord

__all__ = [
    "ApplicationOver",
    "ApplicationRecord",
    "Archived",
    "Coordinator",
    "CoordinatorError",
    "DamagedLog",
    "Draining",
    "GoAway",
    "Happened",
    "InDoubt",
    "Message",
    "NewerLog",
    "Notice",
    "Options",
    "Overloaded",
    "Peer",
    "Session",
    "Unavailable",
    "UnknownApplication",
]


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for the driver's log."""

    text: str


@dataclass(frozen=True, slots=True)
class GoAway:
    """The session ends; go on elsewhere, or here again. The last message of a session."""

    why: str
    elsewhere: tuple[str, ...] = ()


Message = Directive | Notice | GoAway


@dataclass(frozen=True, slots=True)
class Peer:
    """A replica that is alive, or that is gone while sessions of it are on record."""

    replica: str
    address: str
    reads_version: int
    release: str = ""
    started_ms: int = 0
    lease: int = 0
    lease_ms: int = 0
    sessions: int = 0
    gone: bool = False


class Session(ABC):
    """One driver's open line: `async for message in session`. Ends after `GoAway`; close it, or use `async with`.

    Outstanding directives come first, all of them again, whoever asked for them and whatever was sent before.
    """

    application: ApplicationId
    client: ClientId

    @property
    @abstractmethod
    def answered(self) -> int:
        """The highest number of this client whose request is in the log; 0: none."""

    @property
    @abstractmethod
    def outstanding(self) -> int:
        """How many directives wait for their outcome."""

    @abstractmethod
    def newest(self, app_shuffle: AppShuffle) -> ShuffleId:
        """The app shuffle's newest generation by now; 0: there was none."""

    @abstractmethod
    async def heartbeat(self) -> None:
        """The driver lives. Cheap to repeat; never raises for a store that is away."""

    @abstractmethod
    async def close(self) -> None:
        """Ends the iteration. May be repeated."""

    @abstractmethod
    async def __anext__(self) -> Message:
        """Waits for the next message."""

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __aenter__(self: _Session) -> _Session:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


_Session = TypeVar("_Session", bound=Session)
_Coordinator = TypeVar("_Coordinator", bound="Coordinator")


class Coordinator(ABC):
    """One replica."""

    # ---- living -----------------------------------------------------------------------------------------------------

    @abstractmethod
    async def start(self) -> None:
        """Registers the replica under a lease and begins to watch and to keep house."""

    @abstractmethod
    async def stop(self, drain: bool = True) -> None:
        """Ends sessions with `GoAway` and takes nothing new; with ``drain``, what waits is still committed."""

    async def __aenter__(self: _Coordinator) -> _Coordinator:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop(drain=error is None)

    # ---- asking for something to happen -----------------------------------------------------------------------------

    @abstractmethod
    async def register(self, request: Request) -> Answer:
        """Carries out a `RegisterApplication`, which may be the first that is heard of an application.

        Raises `InDoubt`. Harmless when repeated: the same registration is accepted again.
        """

    @abstractmethod
    async def submit(
        self, application: ApplicationId, requests: Sequence[Request], within_s: float | None = None
    ) -> list[Answer]:
        """The answers, in the order of the requests, when all that they append is durable.

        A request that alone makes more than a commit may hold is answered with a rejection, and those behind it go on.
        Raises `InDoubt`, `Overloaded`. After an error some of the first requests may be in the log, each
        wholly: sending the same numbers again gives their answers. ``within_s``: instead of the options' limit.
        """

    @abstractmethod
    async def open_session(self, application: ApplicationId, client: ClientId) -> Session:
        """This replica holds the application from now on; an earlier session of it gets `GoAway`.

        Raises `ApplicationOver`.
        """

    @abstractmethod
    async def audit(self, peer: str, kind: str, detail: str) -> None:
        """Notes a refusal outside any application's log; never raises, and never grows without bound."""

    # ---- asking what is ---------------------------------------------------------------------------------------------

    @abstractmethod
    async def view(self, application: ApplicationId) -> State:
        """The state at the log's present end. The caller's own copy: it does not change."""

    @abstractmethod
    async def registration(self, application: ApplicationId) -> Meta:
        """What was fixed at registration (token, driver, settings), without asking for the log's present end."""

    @abstractmethod
    async def events(
        self, application: ApplicationId, after: int = 0, limit: int = 1_000, bytes_max: int | None = None
    ) -> list[Recorded]:
        """Up to ``limit`` events whose sequence number is above ``after``. Raises `Archived`.

        ``bytes_max``: nothing further is read once two events or more take more bytes as messages.
        """

    @abstractmethod
    def follow(self, application: ApplicationId, after: int = 0) -> AsyncIterator[Recorded]:
        """All events above ``after``, then each new one as it comes, without a gap, until the caller stops.

        It ends where the application is over and everything was told.
        """

    @abstractmethod
    async def applications(
        self, after: str = "", limit: int = 100, running_only: bool = False
    ) -> list[ApplicationRecord]:
        """Registered applications whose id is above ``after``, in the order of their ids."""

    @abstractmethod
    async def signs(self, applications: Sequence[ApplicationId]) -> Mapping[ApplicationId, SessionRecord]:
        """The last sign of life of those drivers; of an application that has ended there is none."""

    @abstractmethod
    async def replicas(self) -> list[Peer]:
        """Replicas that are alive, this one among them; their sessions are not counted."""

    @abstractmethod
    async def roll_call(self) -> list[Peer]:
        """Replicas that are alive with how many sessions each holds, then those that are gone and still hold some."""
