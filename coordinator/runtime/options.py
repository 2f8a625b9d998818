"""How a replica works.

Responsible for the numbers that somebody may want to choose. Refuses to know where they come from (files, environment,
flags: `coordinator.config`). Invariant: no number here changes what is decided, only when and how much at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.runtime.limits import Limits

_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Options:
    """How one replica works. ``replica`` names one run of one process: it is never used twice."""

    replica: str
    address: str = ""  #: Where drivers reach it; empty: where it listens, if it does.
    release: str = ""  #: Of the program, for people.
    answer_within_s: float = 10.0  #: What has no answer by then gets an error that says what is known.
    limits: Limits = _LIMITS  #: What may grow, and how far.
    commit_requests_max: int = 4_096  #: Decided together.
    snapshot_every_events: int = 500  #: At least; and no more often than the state has rows.
    heartbeat_s: float = 5.0  #: How often a driver's sign of life is written down, at most.
    silence_s: float = 60.0  #: After which a driver counts as gone.
    reap: bool = True  #: Take part in housekeeping.
    lease_s: float = 10.0  #: Of the replica's registration and of the housekeeping lock.
    idle_s: float = 300.0  #: An application that nobody asks about is forgotten here, and loaded again when asked for.
    audit_records_max: int = 10_000
    archive_every_s: float = 60.0  #: Between two looks for what may leave the store.
    retention_s: float = 0.0  #: An application that ended so long ago leaves the store; 0: it stays.
