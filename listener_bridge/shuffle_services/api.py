"""The contract between the bridge and whatever stores shuffle data: native Spark, Celeborn, Uniffle.

Responsible for: the verbs that an adapter has, the values that they answer, and what each promises.
Refuses to know: how a service names, fences or deletes anything, and why a generation should go.
Invariant: a verb acts on the generation that its locator names or on nothing. A late or repeated call is harmless.

Everything runs in the driver. Outcomes are values: an adapter raises only for a mistake of its caller, never for a
state of the world. Timeouts are seconds, and a call that has answered "gave up" never acts afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, TypeVar, runtime_checkable


@dataclass(frozen=True, slots=True)
class ObserveOnly:
    """This session's data must not be deleted early. `reason` is one line for people: what was found, what to do."""

    reason: str


@dataclass(frozen=True, slots=True)
class Capability:
    """What a service can do in this session. What differs between services is declared here, never asked by name."""

    service: str
    deletes: Literal[True] | ObserveOnly
    can_complete_generation_after_loss: bool
    forget_is_separate: bool
    may_have_to_keep: bool = False  #: Not each generation can be fenced: ask `keeps` of it while it is written.


@dataclass(frozen=True, slots=True)
class Locator:
    """What a service calls one generation. Opaque to everybody but the adapter of `service`; recorded in the log."""

    service: str
    payload: str


@dataclass(frozen=True, slots=True)
class Held:
    """The service has this app shuffle; `locator` names its present generation."""

    locator: Locator


@dataclass(frozen=True, slots=True)
class NotHeld:
    """The service has nothing of it: unknown, nothing written, or another manager took it."""

    why: str


@dataclass(frozen=True, slots=True)
class Fenced:
    """Nobody reads the generation any more and nobody will.

    `marker` is the name of the `MarkerPassed` fact that stands in the stream of facts where the fence happened: what
    comes before it belongs to this generation, what comes after does not.
    """

    locator: Locator
    bytes: int
    marker: str


@dataclass(frozen=True, slots=True)
class Busy:
    """Refused, nothing was changed: these stages and tasks still write or read it. Ask again when they have ended."""

    who: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cannot:
    """Refused, nothing was changed: it will not work by waiting."""

    why: str


@dataclass(frozen=True, slots=True)
class Freed:
    """The data are gone from every place that answered for them; `bytes` is 0 where this was already so."""

    bytes: int


@dataclass(frozen=True, slots=True)
class Superseded:
    """Not done, nothing is left to do: a later generation of the same app shuffle has data or writers, which `by`
    names; or there is none at all, no output and nobody who would write one."""

    by: str


@dataclass(frozen=True, slots=True)
class Failed:
    """Not done, or not wholly, or nobody knows: some place did not answer or refused. Harmless to repeat."""

    why: str


_T = TypeVar("_T")
_TEXT_MAX = 300  #: Characters of an error's text: an exception of py4j has the JVM's stack trace in it.


def outcome_of(verb: Callable[[], _T]) -> _T | Failed:
    """What a verb answers. `Failed` where it raises all the same: nobody knows what it has done then."""
    try:
        return verb()
    except Exception as error:  # noqa: BLE001 - as said above
        return Failed(f"the shuffle service raised {type(error).__name__}: {str(error)[:_TEXT_MAX]}")


FenceOutcome: TypeAlias = Fenced | Busy | Superseded | Cannot | Failed
FreeOutcome: TypeAlias = Freed | Superseded | Failed
ForgetOutcome: TypeAlias = Freed | Busy | Superseded | Failed


@runtime_checkable
class ShuffleService(Protocol):
    """One shuffle service, as the bridge uses it. Every verb may be called again at any time, from any one thread."""

    def probe(self) -> Capability:
        """Say what this session's service can do. Changes nothing."""

    def holds(self, app_shuffle: int) -> Held | NotHeld:
        """Say whether this service keeps the app shuffle's data now. Changes nothing."""

    def fence(self, app_shuffle: int, timeout_s: float, generation: Locator | None = None) -> FenceOutcome:
        """Have Spark forget the generation's outputs, atomically against every stage that could be submitted.

        `generation`, where given, is what `holds` said of it: if that one is not the present one any more, the answer
        is its first `Fenced`, or `Superseded`. It is suspect then. Where none is named, nobody is thought to need the
        data, and `Busy` is also a stage that will read them, and waits for another input or to be tried again. A
        second call answers the first call's `Fenced` until a later generation has begun.
        """

    def keeps(self, app_shuffle: int) -> str:
        """Why a fence of the present generation would be refused for good; empty: it would not. Changes nothing."""

    def free(self, locator: Locator, timeout_s: float) -> FreeOutcome:
        """Delete the data of a fenced generation; `Freed` means that they are gone."""

    def forget(self, locator: Locator, timeout_s: float) -> ForgetOutcome:
        """Erase what is left: the service's own record, files of late writers. `Busy` while an older task runs."""

    def invalidate(self, locator: Locator, timeout_s: float) -> FenceOutcome:
        """Fence a partly written or suspect generation, whose writers have stopped; its data are to be freed then."""

    def close(self) -> None:
        """Let go of threads and connections. Protection that lives in the JVM stays."""
