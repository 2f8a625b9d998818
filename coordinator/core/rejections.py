"""What is answered: the outputs of ``decide`` that the asker sees.

Responsible for answers and refusals, each saying fact, value, expectation and next step. Refuses to know status codes.
Invariant: always an answer, never an empty success.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from coordinator.core.ids import AppShuffle, RecoveryId, ShuffleId
from coordinator.core.values import Locator


@dataclass(frozen=True, slots=True)
class Accepted:
    """It is in the log, or was already."""


@dataclass(frozen=True, slots=True)
class Ready:
    """Read, or write, this generation."""

    shuffle_id: ShuffleId
    locator: Locator = Locator()


@dataclass(frozen=True, slots=True)
class NotReady:
    """Ask again: the generation is being written, completed or fenced."""

    shuffle_id: ShuffleId
    why: str
    ask_again_ms: int


@dataclass(frozen=True, slots=True)
class Recover:
    """The generation is gone; this recovery answers for it."""

    recovery: RecoveryId
    missing: ShuffleId
    recompute: tuple[AppShuffle, ...]
    lineage_known: bool


@dataclass(frozen=True, slots=True)
class AlreadyConfirmed:
    """The client has confirmed this number's answer; it is never carried out again."""

    number: int
    confirmed: int


class Reason(Enum):
    """Kinds of refusal; each has one gRPC status (``wire.status``)."""

    NOT_FOUND = "not found"
    INVALID = "invalid"
    ALREADY_EXISTS = "already exists"
    FAILED_PRECONDITION = "failed precondition"
    EXHAUSTED = "exhausted"
    PERMISSION_DENIED = "permission denied"


@dataclass(frozen=True, slots=True)
class Rejection:
    """Nothing happened. ``fact`` names the value, ``expected`` what would be right, ``next_step`` what to do."""

    reason: Reason
    fact: str
    expected: str
    next_step: str
    app_shuffle: AppShuffle | None = None

    def __str__(self) -> str:
        return f"{self.fact}; expected {self.expected}. {self.next_step}"


Answer: TypeAlias = Accepted | Ready | NotReady | Recover | AlreadyConfirmed | Rejection
