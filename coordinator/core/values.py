"""Small values that events, commands and state share.

Responsible for the words in which facts are told: levels, causes, policies, limits. Refuses to know how they change.
Invariant: every value is immutable, and every enum's text is what people read in tables and on the wire.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from coordinator.core.ids import AppShuffle

#: Answers that a client may leave unconfirmed.
UNCONFIRMED = 4096
#: A client that has asked nothing for so long in event time is forgotten when another one registers.
CLIENT_IDLE_MS = 3_600_000
#: The longest pause before a driver that cannot do something is asked for it again.
CANNOT_LIMIT_MS = 3_600_000


class Level(Enum):
    """How far Spark promises that a stage, computed again, gives the same (``DeterministicLevel``)."""

    DETERMINATE = "determinate"
    UNORDERED = "unordered"
    INDETERMINATE = "indeterminate"


class Rule(Enum):
    """When a generation outside the cuts expires."""

    REACHABLE = "reachable"  #: In no cut of any root, as far as looks have told.
    FRONTIER = "frontier"  #: What read it last is a map stage whose output is on disk.
    EAGER = "eager"  #: Something read it and wrote bytes.
    HISTORY = "history"  #: It was read as often as in earlier runs of the job; as `frontier` where none tells.
    PRESSURE = "pressure"  #: As `reachable`, fenced only while a disk is full; then also what is not needed for sure.


@dataclass(frozen=True, slots=True)
class Policy:
    """A rule, whether it acts or only observes, and the grace between expiry and fence (restarted by use)."""

    rule: Rule = Rule.FRONTIER
    observe: bool = True
    grace_ms: int = 0

    @property
    def name(self) -> str:
        """The word that people use for it."""
        if self.observe:
            return "observe"
        return f"delayed({self.rule.value}, {self.grace_ms / 1_000:g} s)" if self.grace_ms else self.rule.value


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the application's shuffle service can do (adapter contract, ``probe``)."""

    deletes: bool = True
    completes_after_loss: bool = True  #: A partly lost generation can be written to the full again.
    why_not: str = ""  #: Why it must only be observed; empty where ``deletes``.


@dataclass(frozen=True, slots=True)
class Lesson:
    """What earlier runs of a job tell of one kind of its shuffles."""

    lineage: str  #: Which kind: `core.lineages`.
    reads: int  #: Stages that read one of them to its end, the most that were ever seen.
    loops: bool = False  #: The same line read one of them again and again: how often, no earlier run can say.
    late: bool = False  #: One of them was read when `frontier` would have let it go.


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits, promises and lessons of one application, fixed at registration."""

    declared_deterministic: bool = False  #: The user vouches that recomputation gives the same.
    delete_indeterminate: bool = False  #: Let guessing rules, and any under ``strict``, delete what is indeterminate.
    premature_budget: int = 8  #: Premature deletions after which deletion suspends itself.
    recoveries_per_shuffle: int = 4  #: Until it is read to its end; Spark aborts at a stage's fourth loss in a row.
    recoveries: int = 256  #: Of an application, until one is read to its end.
    busy_retry_ms: int = 50  #: First pause after a refused fence whose holder we do not know; doubles.
    delete_retry_ms: int = 200  #: First pause after a failed deletion; doubles.
    retry_limit_ms: int = 30_000
    ask_again_ms: int = 200  #: Hint of a NOT_READY answer.
    lessons: tuple[Lesson, ...] = ()  #: Of earlier runs, for `history`.
    pressure_high_percent: int = 85  #: A disk that is used so far is full, for `pressure`.
    pressure_low_percent: int = 75  #: It is full no more when it is used no further than this.
    pressure_capacity_bytes: int = 0  #: What all shuffle data may take together; 0: the driver reports its disks.
    strict: bool = False  #: A result that would mix two generations fails its job.


class Hold(Enum):
    """What delays the fence of an expired generation."""

    NONE = "none"
    GRACE = "grace"
    OBSERVE = "observe"
    PIN = "pin"
    SUSPENDED = "suspended"  #: The budget is spent, or recovery keeps failing.
    MISSED = "missed before"  #: What was missed once is not deleted early again.
    UNABLE = "service cannot delete"
    BACKOFF = "retry pause"
    PRESSURE = "there is room on the disks, or others go first"


class Expiry(Enum):
    """Why a generation expired."""

    UNREACHABLE = "in no live cut"
    FRONTIER = "every reader's output is on disk"
    EXECUTION_ENDED = "its SQL execution ended"
    READ = "read by a stage that wrote"
    LEARNED = "read as often as in earlier runs"
    ABANDONED = "given up half-written"
    PRESSED = "a disk is full, and nobody is known to need it"


class Rescue(Enum):
    """Why an expiry was taken back."""

    READER = "a reader asked"
    WRITER = "a writer asked"
    JOB = "a live job reaches it"
    ROOT = "a root reaches it"
    RECOVERY = "a recovery needs it"
    GAP = "facts were missed"
    ROOM = "no disk is full any more"
    POLICY = "its policy does not let it go"


class Refusal(Enum):
    """Why a fence was not carried out."""

    BUSY = "busy"
    CANNOT = "cannot"
    REVOKED = "revoked"


class Loss(Enum):
    """Why a generation is lost."""

    OUTPUTS = "outputs gone"
    REPORTED = "reported"
    INVALIDATED = "invalidated"


class Deletion(Enum):
    """Why a generation is deleted."""

    POLICY = "policy"
    SPARK = "spark"
    APPLICATION_ENDED = "application ended"
    APPLICATION_LOST = "application lost"
    APPLICATION_DETACHED = "application detached"  #: Nothing is deleted: its data are Spark's from then on.


class Ending(Enum):
    """How an application ended."""

    ENDED = "ended"
    LOST = "lost"
    DETACHED = "detached"  #: Its driver has left, as by `detach()`, and lives on without us.

    @property
    def told(self) -> str:
        """As it is said of an application: `has ended`, `was lost`."""
        return f"{'was' if self is Ending.LOST else 'has'} {self.value}"


class DirectiveKind(Enum):
    """What the coordinator asks the driver to do."""

    FENCE = "fence"
    DELETE = "delete"
    INVALIDATE = "invalidate"


class Suspension(Enum):
    """Why deletion was suspended."""

    BUDGET = "premature deletions passed the budget"
    RECOVERIES = "recovery keeps failing"


class RootKind(Enum):
    """What a root of a live cut is."""

    PLAN = "plan"
    HANDLE = "handle"
    OBJECT = "jvm object"
    PERSISTED = "persisted"
    ALGORITHM = "algorithm"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Locator:
    """What the shuffle service calls a generation; opaque to everyone but its adapter."""

    service: str = ""
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class Pressed:
    """Why a generation went under `pressure`, and why this one: the figures at its fence."""

    disk: str
    used_percent: int  #: Of the disk, what was already on its way out not counted.
    high_percent: int  #: The watermark that it had passed.
    bytes: int  #: What the generation holds.
    task_ms: int  #: What it would take to write it again, with what is gone behind it.


@dataclass(frozen=True, slots=True)
class Lineage:
    """One app shuffle as the scheduler describes its map stage."""

    app_shuffle: AppShuffle
    reads: tuple[AppShuffle, ...] = ()  #: What its map stage reads, ascending.
    level: Level = Level.DETERMINATE
    barrier: bool = False
    maps: int = 0  #: Tasks of the map stage.
    call_site: str = ""  #: The program's line where that is known, else what Spark names the stage.
    stage_name: str = ""  #: What Spark names the stage, where that is not the call site.


@dataclass(frozen=True, slots=True)
class Outputs:
    """How many map outputs of an app shuffle Spark knows."""

    app_shuffle: AppShuffle
    available: int
    total: int


@dataclass(frozen=True, slots=True)
class Driver:
    """Who the application is, in Spark's words; these collide, the application id does not."""

    spark_application_id: str = ""
    spark_attempt: str = ""
    name: str = ""
    user: str = ""
    spark_version: str = ""
    python_version: str = ""
    service: str = "native"
    master: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """One kind of answer that was not what the asker hoped for, counted."""

    answer: str
    app_shuffle: AppShuffle
    count: int = field(default=1)
