"""What a simulation comes to.

Responsible for the shape of the result. Refuses to compute more than ratios. Invariant: units stand last in names;
``None`` is "not known", never "none".
"""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.core.events import Recorded
from coordinator.core.ids import AppShuffle, ShuffleId, StageAttempt
from coordinator.core.values import Deletion, Expiry, Policy


@dataclass(frozen=True, slots=True)
class Life:
    """One generation: when it was written, last read, let go and gone. Milliseconds since the epoch."""

    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    call_site: str
    bytes: int
    written_ms: int | None  #: When its map stage was complete first; None: never.
    last_read_ms: int | None
    expired_ms: int | None
    why: Expiry | None  #: Why it expired.
    fenced_ms: int | None
    gone_ms: int | None
    end: str  #: "policy", "spark", "application ended" (lost, detached), "lost: …"; empty while it is there.

    @property
    def is_deleted_early(self) -> bool:
        """Whether the policy has fenced it, and nothing overtook its deletion: the application's end, or Spark's."""
        return self.fenced_ms is not None and self.end in ("", Deletion.POLICY.value)


@dataclass(frozen=True, slots=True)
class Miss:
    """One premature deletion, and what it cost to write that generation again."""

    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    call_site: str
    at_ms: int
    stage: StageAttempt | None  #: Who wanted it: the stage that writes it again, or reads it.
    why: Expiry | None  #: The rule's reason for letting it go.
    fenced_ms: int | None
    recomputed_bytes: int
    recomputed_task_seconds: float | None  #: None where nobody knows what its map stage takes.


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run under one policy."""

    application: str
    name: str
    policy: Policy | None  #: None: as recorded.
    began_ms: int
    ended_ms: int
    log: tuple[Recorded, ...]  #: Everything that was decided, facts too; empty where it was not asked for.
    lives: tuple[Life, ...]
    misses: tuple[Miss, ...]
    written_bytes: int  #: By all generations, those that were written again too.
    held_byte_seconds: float
    needed_byte_seconds: float  #: The oracle's: each shuffle up to its last reader's completion.
    never_byte_seconds: float  #: Spark alone: up to its own cleaner, or the end.
    peak_bytes: int
    needed_peak_bytes: int
    never_peak_bytes: int
    deletions: int
    deleted_bytes: int
    looks: int  #: Without any, `reachable` lets nothing go.
    facts: int

    @property
    def premature(self) -> int:
        """How many premature deletions there were."""
        return len(self.misses)

    @property
    def premature_rate(self) -> float:
        """Premature deletions, of all generations that were fenced; 0 where none was."""
        fenced = sum(life.fenced_ms is not None for life in self.lives)
        return self.premature / fenced if fenced else 0.0

    @property
    def recomputed_bytes(self) -> int:
        """Bytes that were written again because of premature deletions."""
        return sum(miss.recomputed_bytes for miss in self.misses)

    @property
    def recomputed_task_seconds(self) -> float:
        """Run time of the tasks that wrote them again, in seconds: of those premature deletions whose cost is known."""
        return sum(miss.recomputed_task_seconds or 0.0 for miss in self.misses)

    @property
    def saved_byte_seconds(self) -> float:
        """Byte-seconds that Spark alone would have held, less those that were held."""
        return self.never_byte_seconds - self.held_byte_seconds
