"""What has happened: the facts that the log keeps.

Responsible for the exact content of every event. Refuses to know how one comes about (``decide``) and what follows
from it (``evolve``). Invariant: an event is only ever added to; what an old log says is read for ever.

Times are milliseconds since the epoch; bytes are bytes; tuples are ascending unless they say otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from coordinator.core.ids import (
    ApplicationId,
    AppShuffle,
    ClientId,
    DirectiveId,
    ExecutionId,
    JobId,
    LookId,
    RecoveryId,
    Sequence,
    ShuffleId,
    Span,
    StageAttempt,
    StageId,
)
from coordinator.core.values import (
    Capabilities,
    Deletion,
    Driver,
    Ending,
    Expiry,
    Hold,
    Lineage,
    Locator,
    Loss,
    Policy,
    Pressed,
    Refusal,
    Refused,
    Rescue,
    RootKind,
    Settings,
    Suspension,
)

# --- the application and those who speak for it ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ApplicationRegistered:
    """The first event of every log."""

    application: ApplicationId
    driver: Driver
    capabilities: Capabilities
    policy: Policy
    settings: Settings
    token_hash: str = ""


@dataclass(frozen=True, slots=True)
class ApplicationEnded:
    """The driver has stopped: ``ended``; has left, as by `detach()`, and lives on: ``detached``; was taken for gone.

    What it had is closed in each case, and its data are Spark's. Builds before `detached` said ``ended`` of both.
    """

    ending: Ending


@dataclass(frozen=True, slots=True)
class ClientRegistered:
    client: ClientId


@dataclass(frozen=True, slots=True)
class ClientDropped:
    """An idle client was forgotten; it must register anew."""

    client: ClientId


@dataclass(frozen=True, slots=True)
class RequestsAnswered:
    """One commit's answers to one client: which numbers, how many were mere repeats, and which were refused."""

    client: ClientId
    answered: tuple[Span, ...]
    confirmed: int
    repeats: int = 0
    refused: tuple[Refused, ...] = ()
    refused_numbers: tuple[Span, ...] = ()  #: Of the answered, those of which nothing followed: never carried out.


@dataclass(frozen=True, slots=True)
class PolicyChanged:
    """For the application, or for one job group where ``group`` is not empty."""

    policy: Policy
    group: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class PinSet:
    app_shuffle: AppShuffle
    why: str = ""


@dataclass(frozen=True, slots=True)
class PinRemoved:
    app_shuffle: AppShuffle


@dataclass(frozen=True, slots=True)
class DeletionSuspended:
    why: Suspension


@dataclass(frozen=True, slots=True)
class DeletionResumed:
    by: str = ""
    recoveries_anew: bool = False  #: Recoveries are counted anew too, and what was denied one may have it.


@dataclass(frozen=True, slots=True)
class GapRecorded:
    """The bridge missed facts; until the jobs then running have ended nothing expires."""

    dropped: int
    where: str
    until: tuple[JobId, ...]
    resynced: bool = False  #: The whole truth has been told since; only ``until`` is still waited for.


@dataclass(frozen=True, slots=True)
class SweepChanged:
    """More is to be moved than one segment may hold; ``pending`` until a later step has done it."""

    pending: bool


# --- what the scheduler did -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LineageLearned:
    """An app shuffle was announced, or its lineage is no longer what it was (a checkpoint cuts it)."""

    lineage: Lineage
    cut_off: tuple[AppShuffle, ...] = ()  #: What its map stage has read and it is made from no more: they forget it.


@dataclass(frozen=True, slots=True)
class JobStarted:
    job: JobId
    final_stage: StageId
    reads: tuple[AppShuffle, ...]  #: What the final stage reads.
    writes: AppShuffle | None = None  #: Where the final stage is itself a map stage.
    stages: tuple[Span, ...] = ()  #: Ids of all stages that the job lists, skipped ones too.
    execution: ExecutionId | None = None
    group: str = ""
    policy: Policy | None = None  #: The job's own, from its local properties.
    call_site: str = ""


@dataclass(frozen=True, slots=True)
class JobEnded:
    job: JobId
    succeeded: bool
    failure: str = ""


@dataclass(frozen=True, slots=True)
class StageSubmitted:
    """``behind``: what of ``reads`` lies behind persisted RDDs of it (`caches`); ``cached``: some of it does."""

    stage: StageAttempt
    reads: tuple[AppShuffle, ...] = ()
    writes: AppShuffle | None = None
    tasks: int = 0
    name: str = ""
    cached: bool = False
    behind: tuple[AppShuffle, ...] = ()
    gives_up: ShuffleId | None = None  #: What it had asked to write before this was told, and does not write.


@dataclass(frozen=True, slots=True)
class StageCompleted:
    """An attempt ended; ``failure`` is empty where it succeeded."""

    stage: StageAttempt
    failure: str = ""
    shuffle_bytes_written: int = 0
    shuffle_bytes_read: int = 0
    output_bytes: int = 0
    output_records: int = 0
    task_ms: int = 0  #: Run time of its tasks, added up; 0 where nobody measured it.
    #: What it has read to an end of what had been lost and recovered: recoveries of that are counted anew.
    recovered: tuple[AppShuffle, ...] = ()
    unread: tuple[ShuffleId, ...] = ()  #: What it had asked for and, by its submission, does not read: it has not.


@dataclass(frozen=True, slots=True)
class ExecutionStarted:
    execution: ExecutionId
    name: str = ""
    writes_output: bool = False


@dataclass(frozen=True, slots=True)
class ExecutionEnded:
    execution: ExecutionId
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ExecutorLost:
    executor: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CachedBlocksLost:
    """Blocks of persisted RDDs may have gone with an executor. ``app_shuffles``: what is read where one is missing."""

    executor: str
    app_shuffles: tuple[AppShuffle, ...]  #: Ascending.


@dataclass(frozen=True, slots=True)
class DiskReported:
    """A disk that holds shuffle data, told when it has filled or emptied by some percent. For policy `pressure`."""

    disk: str
    used_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class ShuffleCleaned:
    """Spark's own cleaner: nothing can read the app shuffle again."""

    app_shuffle: AppShuffle
    by_inputs: bool = False  #: What it was made from forgets it too.


# --- what the program can still reach ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LookBegan:
    """Posted before a look; the look speaks only about what was complete here."""

    look: LookId


@dataclass(frozen=True, slots=True)
class CutReported:
    """What a look found of one root, as a change; effective here."""

    look: LookId
    root: str
    kind: RootKind
    added: tuple[AppShuffle, ...] = ()
    removed: tuple[AppShuffle, ...] = ()
    why: str = ""  #: What people read: "held by `ranks` in `pagerank.py:41`".


@dataclass(frozen=True, slots=True)
class RootGone:
    root: str


@dataclass(frozen=True, slots=True)
class LookEnded:
    """The look has told all; what was complete when it began and is in no cut is unreachable."""

    look: LookId


# --- the life of a generation -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GenerationStarted:
    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    writer: StageAttempt
    job: JobId | None = None
    recovery: RecoveryId | None = None


@dataclass(frozen=True, slots=True)
class GenerationAdopted:
    """A resync found data whose writing was never told (written before ``attach``, or in a gap)."""

    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    available: int
    total: int


@dataclass(frozen=True, slots=True)
class WriterJoined:
    """A further attempt continues the generation."""

    shuffle_id: ShuffleId
    writer: StageAttempt
    forgets: tuple[StageAttempt, ...] = ()  #: Who wrote it long ago, and whose jobs are over.


@dataclass(frozen=True, slots=True)
class GenerationCompleted:
    shuffle_id: ShuffleId
    bytes: int


@dataclass(frozen=True, slots=True)
class ReaderRegistered:
    shuffle_id: ShuffleId
    reader: StageAttempt


@dataclass(frozen=True, slots=True)
class OutputsLost:
    """Some outputs are gone and the generation can be completed."""

    shuffle_id: ShuffleId
    available: int
    total: int


@dataclass(frozen=True, slots=True)
class GenerationLost:
    shuffle_id: ShuffleId
    cause: Loss


@dataclass(frozen=True, slots=True)
class GenerationExpired:
    """``hold`` is what delays the fence; anything but NONE and GRACE means "would have been deleted"."""

    shuffle_id: ShuffleId
    why: Expiry
    hold: Hold = Hold.NONE
    due_ms: int = 0  #: When the fence is due, in event time; 0: at once.


@dataclass(frozen=True, slots=True)
class HoldChanged:
    """What delays the fence of an expired generation is no longer what it was."""

    shuffle_id: ShuffleId
    hold: Hold
    due_ms: int = 0


@dataclass(frozen=True, slots=True)
class ExpiryTakenBack:
    shuffle_id: ShuffleId
    why: Rescue
    by: str = ""


@dataclass(frozen=True, slots=True)
class FenceRequested:
    directive: DirectiveId
    shuffle_id: ShuffleId
    pressed: Pressed | None = None  #: Under policy `pressure`: the disk, and what it costs to write this one again.
    guessed: bool = False  #: What let it go is no proof that nobody reaches it. Logs from before it was told say False.


@dataclass(frozen=True, slots=True)
class FenceRefused:
    """``keep``: somebody wants the data, so it is readable again; else it stays expired until ``due_ms``."""

    directive: DirectiveId
    shuffle_id: ShuffleId
    refusal: Refusal
    detail: str = ""
    keep: bool = False
    due_ms: int = 0


@dataclass(frozen=True, slots=True)
class GenerationFenced:
    directive: DirectiveId
    shuffle_id: ShuffleId
    bytes: int = 0
    locator: Locator = Locator()


@dataclass(frozen=True, slots=True)
class DeleteRequested:
    directive: DirectiveId
    shuffle_id: ShuffleId
    locator: Locator = Locator()


@dataclass(frozen=True, slots=True)
class DirectiveFailed:
    """The service refused or half did it; asked again at ``due_ms``. Never counted as freed."""

    directive: DirectiveId
    shuffle_id: ShuffleId
    error: str
    due_ms: int


@dataclass(frozen=True, slots=True)
class InvalidateRequested:
    """The data of a lost or suspect generation are to be freed."""

    directive: DirectiveId
    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    locator: Locator = Locator()  #: Empty where nobody has named the generation to us.


@dataclass(frozen=True, slots=True)
class DataInvalidated:
    directive: DirectiveId
    shuffle_id: ShuffleId
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class GenerationDeleted:
    """``bytes`` were freed by our directive (0 for the other causes); ``superseded``: they go with the next one's."""

    shuffle_id: ShuffleId
    cause: Deletion
    bytes: int = 0
    directive: DirectiveId | None = None
    superseded: bool = False


# --- being missed -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PrematureDeletion:
    """A stage that reads what we fenced or deleted, or the map stage that writes it, was really submitted."""

    shuffle_id: ShuffleId
    stage: StageAttempt | None
    detail: str = ""
    after_loss: bool = False  #: Wanted only since something before it was lost: it uses up nothing of the budget.


@dataclass(frozen=True, slots=True)
class RecoveryOpened:
    """The one answer to a loss. All tuples hold shuffle ids of the generations that the asking stage needs."""

    recovery: RecoveryId
    missing: ShuffleId
    stage: StageAttempt | None
    gone: tuple[ShuffleId, ...]  #: To be written anew, ``missing`` among them.
    rescued: tuple[ShuffleId, ...] = ()  #: Merely expired, taken back.
    awaited: tuple[ShuffleId, ...] = ()  #: Fencing; their outcome decides.
    mixing: tuple[ShuffleId, ...] = ()  #: Partly written from what is gone; would mix unless written anew as a whole.
    lineage_known: bool = True


@dataclass(frozen=True, slots=True)
class RecoveryWidened:
    """A generation that the recovery awaited turned out to be gone, or who joined it had half written this one."""

    recovery: RecoveryId
    gone: ShuffleId


@dataclass(frozen=True, slots=True)
class RecoveryJoined:
    """Somebody misses what the recovery answers for; further tasks of the same attempt in a commit are only counted."""

    recovery: RecoveryId
    missing: ShuffleId
    stage: StageAttempt | None = None


@dataclass(frozen=True, slots=True)
class RecoveryClosed:
    """Every generation that it named has a complete successor, or nobody can ask for one any more."""

    recovery: RecoveryId


@dataclass(frozen=True, slots=True)
class RecoveryDenied:
    """The bound is reached; the job sees Spark's own failure."""

    missing: ShuffleId
    count: int
    limit: int
    stage: StageAttempt | None = None  #: Who asked.


@dataclass(frozen=True, slots=True)
class GenerationsMixed:
    """A job's last stage had delivered a part when an app shuffle above it, deleted before, was written again.

    Or it reads two branches of that app shuffle, of which one was made of what was written again and the other was not:
    it was in use, or an earlier job's. Then ``delivered`` is 0.
    """

    app_shuffle: AppShuffle
    job: JobId
    stage: StageId
    delivered: int
    partitions: int
    late: bool = False  #: A part was repaired before the driver could prevent it.
    failed: bool = False  #: Strict: the job was failed instead.


@dataclass(frozen=True, slots=True)
class ResultsMayDiffer:
    """What the result of a finished job was computed from is written again: later results may not fit that one."""

    app_shuffle: AppShuffle


Event: TypeAlias = (
    ApplicationRegistered
    | ApplicationEnded
    | ClientRegistered
    | ClientDropped
    | RequestsAnswered
    | PolicyChanged
    | PinSet
    | PinRemoved
    | DeletionSuspended
    | DeletionResumed
    | GapRecorded
    | SweepChanged
    | LineageLearned
    | JobStarted
    | JobEnded
    | StageSubmitted
    | StageCompleted
    | ExecutionStarted
    | ExecutionEnded
    | ExecutorLost
    | CachedBlocksLost
    | ShuffleCleaned
    | LookBegan
    | CutReported
    | RootGone
    | LookEnded
    | GenerationStarted
    | GenerationAdopted
    | WriterJoined
    | GenerationCompleted
    | ReaderRegistered
    | OutputsLost
    | GenerationLost
    | GenerationExpired
    | HoldChanged
    | ExpiryTakenBack
    | FenceRequested
    | FenceRefused
    | GenerationFenced
    | DeleteRequested
    | DirectiveFailed
    | InvalidateRequested
    | DataInvalidated
    | GenerationDeleted
    | PrematureDeletion
    | RecoveryOpened
    | RecoveryWidened
    | RecoveryJoined
    | RecoveryClosed
    | RecoveryDenied
    | GenerationsMixed
    | ResultsMayDiffer
    | DiskReported
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event in its place in the log. ``because`` is the event that it follows from, itself where it is a fact."""

    sequence: Sequence
    time_ms: int
    because: Sequence
    event: Event
