"""What is wished or reported: the inputs of ``decide``.

Responsible for the content of every command. Refuses to know what becomes of it. Invariant: a command carries all that
its decision needs beside the state and the time, which whoever decides it brings along.

Facts of the scheduler are commands too: ``decide`` turns them into events, with what follows from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from coordinator.core.ids import (
    ApplicationId,
    AppShuffle,
    ClientId,
    DirectiveId,
    ExecutionId,
    JobId,
    LookId,
    ShuffleId,
    Span,
    StageAttempt,
    StageId,
)
from coordinator.core.values import (
    Capabilities,
    Driver,
    Ending,
    Lineage,
    Locator,
    Outputs,
    Policy,
    RootKind,
    Settings,
)

# --- wishes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RegisterApplication:
    """The first command of every log. ``token_hash``: of the secret by which its owner is known again."""

    application: ApplicationId
    driver: Driver
    capabilities: Capabilities = Capabilities()
    policy: Policy = Policy()
    settings: Settings = Settings()
    token_hash: str = ""


@dataclass(frozen=True, slots=True)
class EndApplication:
    """The driver is over, or leaves; what it had is closed."""

    ending: Ending = Ending.ENDED


@dataclass(frozen=True, slots=True)
class RegisterClient:
    """Somebody begins who numbers requests of their own; those of one that has not registered are refused."""

    client: ClientId


@dataclass(frozen=True, slots=True)
class DropClient:
    """A client that asks no more is forgotten, with what it was answered."""

    client: ClientId


@dataclass(frozen=True, slots=True)
class GetShuffleId:
    """Which generation shall this stage attempt read, or write?"""

    app_shuffle: AppShuffle
    stage: StageAttempt
    write: bool = False


@dataclass(frozen=True, slots=True)
class ReportMissing:
    """A reader did not find this generation."""

    app_shuffle: AppShuffle
    shuffle_id: ShuffleId
    stage: StageAttempt | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SetPolicy:
    """For the application, or for one job group where ``group`` is not empty. ``by``: whoever chose it, for people."""

    policy: Policy
    group: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class SetPin:
    """Keep it, whatever the policy says; ``why`` is for people."""

    app_shuffle: AppShuffle
    why: str = ""


@dataclass(frozen=True, slots=True)
class RemovePin:
    """The policy decides again."""

    app_shuffle: AppShuffle


@dataclass(frozen=True, slots=True)
class ResumeDeletion:
    """Deletion that has suspended itself goes on; what was counted against it is counted anew."""

    by: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: whatever is due by now is due."""


# --- facts ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReportJobStarted:
    """A job was submitted. Fields that the event has too mean the same there (`events.JobStarted`).

    ``lineage`` tells every listed app shuffle whose lineage was not told before, or has changed.
    """

    job: JobId
    final_stage: StageId
    reads: tuple[AppShuffle, ...] = ()
    writes: AppShuffle | None = None
    stages: tuple[Span, ...] = ()
    lineage: tuple[Lineage, ...] = ()
    execution: ExecutionId | None = None
    group: str = ""
    policy: Policy | None = None
    call_site: str = ""


@dataclass(frozen=True, slots=True)
class ReportLineage:
    """Lineage ahead of the job that lists it, where one command cannot hold it all: what nobody has told before."""

    lineage: tuple[Lineage, ...]


@dataclass(frozen=True, slots=True)
class ReportJobEnded:
    """A job is over; ``failure`` is empty where it succeeded."""

    job: JobId
    succeeded: bool = True
    failure: str = ""


@dataclass(frozen=True, slots=True)
class ReportStageSubmitted:
    """``behind``: what of ``reads`` lies behind persisted RDDs of it (`caches`); ``cached``: some of it does."""

    stage: StageAttempt
    reads: tuple[AppShuffle, ...] = ()
    writes: AppShuffle | None = None
    tasks: int = 0
    name: str = ""
    cached: bool = False
    behind: tuple[AppShuffle, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportStageCompleted:
    """An attempt is over; ``failure`` is empty where it succeeded. ``task_ms``: run time of its tasks, added up."""

    stage: StageAttempt
    failure: str = ""
    shuffle_bytes_written: int = 0
    shuffle_bytes_read: int = 0
    output_bytes: int = 0
    output_records: int = 0
    task_ms: int = 0


@dataclass(frozen=True, slots=True)
class ReportOutputs:
    """What Spark knows of map outputs after a loss; app shuffles that are complete need not be named."""

    outputs: tuple[Outputs, ...]


@dataclass(frozen=True, slots=True)
class ReportExecutorLost:
    """An executor is gone. What went with it is told by `ReportOutputs` and `ReportCachedBlocksLost`."""

    executor: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ReportCachedBlocksLost:
    """Blocks of persisted RDDs may have gone with an executor; ``app_shuffles``: what is read where one is missing."""

    executor: str
    app_shuffles: tuple[AppShuffle, ...]


@dataclass(frozen=True, slots=True)
class ReportDisk:
    """How full a disk is that holds shuffle data."""

    disk: str
    used_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class ReportGenerationsMixed:
    """What the driver's own hook could not keep apart. The fields are those of `events.GenerationsMixed`."""

    app_shuffle: AppShuffle
    job: JobId
    stage: StageId
    delivered: int
    partitions: int
    late: bool = False
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ReportResultsMayDiffer:
    """What the result of a finished job was computed from is written again."""

    app_shuffle: AppShuffle


@dataclass(frozen=True, slots=True)
class ReportKept:
    """The shuffle service could not take leave of it, whoever asked: it is pinned before anybody does."""

    app_shuffle: AppShuffle
    why: str = ""


@dataclass(frozen=True, slots=True)
class ReportExecutionStarted:
    """An SQL execution runs. ``writes_output``: it is a command that writes files."""

    execution: ExecutionId
    name: str = ""
    writes_output: bool = False


@dataclass(frozen=True, slots=True)
class ReportExecutionEnded:
    """An SQL execution is over: what its result stages alone have read may go under `frontier`."""

    execution: ExecutionId
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ReportShuffleCleaned:
    """Spark's own cleaner has let the app shuffle go: nothing can read it again."""

    app_shuffle: AppShuffle


@dataclass(frozen=True, slots=True)
class ReportGap:
    """Facts were dropped. ``dropped`` may be 0 where the number is not known.

    ``where``: a word for people; `attach` says that the driver was there before it was attached to.
    """

    dropped: int
    where: str


@dataclass(frozen=True, slots=True)
class Resync:
    """The whole truth after a gap: what runs, and what of each app shuffle is there.

    Jobs, stages and executions that are not named are over. ``outputs`` names every app shuffle that Spark still has
    registered, complete ones too; those that are not named have been cleaned.
    """

    jobs: tuple[ReportJobStarted, ...] = ()
    stages: tuple[ReportStageSubmitted, ...] = ()
    executions: tuple[ReportExecutionStarted, ...] = ()
    outputs: tuple[Outputs, ...] = ()


@dataclass(frozen=True, slots=True)
class BeginLook:
    """A look begins: it speaks of what is complete here, and of nothing that completes later."""

    look: LookId


@dataclass(frozen=True, slots=True)
class ReportedRoot:
    """One root as a look found it: all app shuffles in its cut."""

    root: str
    kind: RootKind
    needs: tuple[AppShuffle, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class ReportCut:
    """What a look found. ``roots`` are all that have changed; ``gone`` are those that are no more."""

    look: LookId
    roots: tuple[ReportedRoot, ...] = ()
    gone: tuple[str, ...] = ()


# --- outcomes of directives -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fenced:
    """Nobody reads the generation any more; ``bytes``: what it holds."""

    bytes: int = 0
    locator: Locator = field(default=Locator())


@dataclass(frozen=True, slots=True)
class Busy:
    """Nothing was changed: these stages and tasks still write or read it."""

    who: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cannot:
    """Nothing was changed, and waiting will not help."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Revoked:
    """The directive was withdrawn before it was carried out; nothing happened."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Freed:
    """The data are gone; ``bytes``: how much, 0 where they were gone before."""

    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Superseded:
    """A later generation has the same place; the old data go with it."""

    by: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """It was tried and failed; how much of it was done is not known."""

    error: str = ""


Outcome: TypeAlias = Fenced | Busy | Cannot | Revoked | Freed | Superseded | Failed


@dataclass(frozen=True, slots=True)
class ReportOutcome:
    """What became of a directive. One that is not outstanding any more changes nothing."""

    directive: DirectiveId
    outcome: Outcome


Command: TypeAlias = (
    RegisterApplication
    | EndApplication
    | RegisterClient
    | DropClient
    | GetShuffleId
    | ReportMissing
    | SetPolicy
    | SetPin
    | RemovePin
    | ResumeDeletion
    | Tick
    | ReportJobStarted
    | ReportLineage
    | ReportJobEnded
    | ReportStageSubmitted
    | ReportStageCompleted
    | ReportOutputs
    | ReportExecutorLost
    | ReportCachedBlocksLost
    | ReportDisk
    | ReportGenerationsMixed
    | ReportResultsMayDiffer
    | ReportKept
    | ReportExecutionStarted
    | ReportExecutionEnded
    | ReportShuffleCleaned
    | ReportGap
    | Resync
    | BeginLook
    | ReportCut
    | ReportOutcome
)


@dataclass(frozen=True, slots=True)
class Request:
    """A command with its number. Numbers are consecutive in their client, from 1.

    ``confirmed``: every answer up to this number has arrived; the coordinator may forget them.
    """

    client: ClientId
    number: int
    command: Command
    confirmed: int = 0
