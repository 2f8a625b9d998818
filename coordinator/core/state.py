"""What is so: the records that a log folds into.

Responsible for the shape of one application's state and for the draft on which a decision is tried out. Refuses to
know rules: ``evolve`` writes here, ``decide`` reads here. Invariant: records are immutable, so a table can be shared,
copied and laid over another one without anybody noticing.

A draft is a state laid over another one (``lay_over``): what is written goes into its overlays, what is read comes from
below where they have nothing. So decisions of one commit see one another, a lost compare costs nothing but the draft,
and what a commit changed is exactly what the overlays hold.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

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
    within,
)
from coordinator.core.lifecycle import THERE, Life
from coordinator.core.making import altering, replace
from coordinator.core.overlay import GONE, Overlay
from coordinator.core.tracked import Replaced, Tracked
from coordinator.core.values import (
    Capabilities,
    Deletion,
    DirectiveKind,
    Driver,
    Ending,
    Expiry,
    Hold,
    Lineage,
    Locator,
    Loss,
    Policy,
    RootKind,
    Settings,
    Suspension,
)

K = TypeVar("K")
V = TypeVar("V")

#: In ``recovered``: the bound is reached, nobody will recover this generation.
DENIED = RecoveryId(0)

#: Who asks before its stage is told is waited for where that stage is among the next so many: a job over a long lineage
#: lists hundreds. Every job lists new ones, so a stage that never comes is passed by some later job. What is further
#: off counts once its submission is told.
AHEAD = 1_000

_NONE_ATTEMPTS: frozenset[StageAttempt] = frozenset()
_FIRST_STAGE = StageId(0)


@dataclass(frozen=True, slots=True)
class Gap:
    """Facts were missed. Nothing expires until a resync has come and the jobs that ran then have ended."""

    until: frozenset[JobId]
    resynced: bool


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk that holds shuffle data, as it was reported last, less what was freed since."""

    disk: str
    used_bytes: int
    free_bytes: int
    full: bool = False  #: It has passed the high watermark, and has not come down to the low one since.

    @property
    def capacity_bytes(self) -> int:
        return self.used_bytes + self.free_bytes


@dataclass(frozen=True, slots=True)
class Meta:
    """What the application is, and its counters."""

    application: ApplicationId | None = None  #: None before the first event.
    driver: Driver = Driver()
    capabilities: Capabilities = Capabilities()
    policy: Policy = Policy()
    settings: Settings = Settings()
    token_hash: str = ""
    registered_ms: int = 0
    time_ms: int = 0  #: Event time of the last event; never runs backwards.
    next_sequence: Sequence = Sequence(1)
    next_shuffle_id: ShuffleId = ShuffleId(1)
    next_directive: DirectiveId = DirectiveId(1)
    next_recovery: RecoveryId = RecoveryId(1)
    ending: Ending | None = None
    suspended: Suspension | None = None
    premature: int = 0
    recoveries: int = 0
    gap: Gap | None = None
    sweeping: bool = False
    look: LookId | None = None  #: The last look that began.
    look_sequence: Sequence = Sequence(0)  #: Where it began.
    seen_sequence: Sequence = Sequence(0)  #: Where the last look that has ended began: what completed before was seen.
    lost: tuple[Span, ...] = ()  #: Shuffle ids whose end was a loss; all other tombstones were deleted.
    bytes_freed: int = 0
    next_stage: StageId = _FIRST_STAGE  #: Every stage id below it has been listed by a job, or never will be.
    executions_ended: tuple[Span, ...] = ()
    jobs_ended: tuple[Span, ...] = ()
    stages_ended: tuple[Span, ...] = ()  #: What ended jobs have listed; a live one may list it, too.
    disks: tuple[Disk, ...] = ()  #: By name.

    @property
    def full(self) -> bool:
        """Whether a disk is full."""
        return any(disk.full for disk in self.disks)

    def is_to_come(self, stage: StageId) -> bool:
        """Whether a job that is told soon may list the stage."""
        return self.next_stage <= stage < self.next_stage + AHEAD


@dataclass(frozen=True, slots=True)
class Shuffle:
    """One app shuffle: its lineage, and which generation of it is the current one."""

    lineage: Lineage
    current: ShuffleId | None = None
    fate: Life | None = None  #: DELETED or LOST where the current generation's record is gone.
    cause: Deletion | None = None  #: Why it was deleted.
    loss: Loss | None = field(default=None, compare=False)  #: Why it was lost; snapshots of before do not know it.
    bytes: int = 0  #: What it held, where its record is gone.
    was_whole: bool = False  #: It was complete once, where its record is gone.
    told: bool = False  #: Its lineage is known.
    missed: ShuffleId | None = None  #: The last generation that was deleted early and asked for again.
    guess: ShuffleId | None = None  #: The last generation that was fenced without a proof that nobody reaches it.
    recoveries: int = 0
    pin: str | None = None
    task_ms: int = 0  #: What it takes to write it, as far as it was measured: the most that one attempt has taken.
    uncached: ShuffleId | None = None  #: The last one that was gone, or to go, when cached blocks were lost.


@dataclass(frozen=True, slots=True)
class Generation:
    """One write of an app shuffle's data, until it is gone."""

    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    life: Life = Life.WRITING
    complete: bool = False
    bytes: int = 0
    started_ms: int = 0
    completed: Sequence = Sequence(0)  #: Where it became complete last; 0: never.
    rested: Sequence = Sequence(0)  #: Where a writer left it or outputs were lost last.
    used_ms: int = 0  #: When it was completed, asked for or read to an end last.
    writers: frozenset[StageAttempt] = _NONE_ATTEMPTS  #: Attempts that write it now.
    written_by: frozenset[StageAttempt] = _NONE_ATTEMPTS  #: All that ever wrote it.
    readers: frozenset[StageAttempt] = _NONE_ATTEMPTS  #: Attempts that read it now.
    retrying: frozenset[StageAttempt] = _NONE_ATTEMPTS  #: Failed readers whose jobs live: the retry will read again.
    job: JobId | None = None
    execution: ExecutionId | None = None
    group: str = ""
    policy: Policy | None = None  #: The writing job's own.
    map_readers: frozenset[AppShuffle] = frozenset()  #: What map stages that read it to an end have written.
    last_read_by_map: bool | None = None  #: Whether the last reader to complete was a map stage; None: nobody yet.
    last_read_execution: ExecutionId | None = None
    reader_wrote: bool = False  #: A stage that read it to an end wrote bytes.
    reads: int = 0  #: Stages that read it to an end; one that repairs what it wrote counts once.
    why: Expiry | None = None
    expired_ms: int = 0
    hold: Hold = Hold.NONE
    due_ms: int = 0
    retries: int = 0  #: Fences refused in a row while nobody that we know held it.
    directive: DirectiveId | None = None
    locator: Locator = Locator()
    #: Who read it when outputs were lost last: their reports are of that loss.
    missed_by: frozenset[StageAttempt] = _NONE_ATTEMPTS
    whole_bytes: int = 0  #: What it held before outputs were lost, until it is complete again.

    @property
    def in_use(self) -> bool:
        """Somebody that we know of reads or writes it, or will again."""
        return bool(self.readers or self.writers or self.retrying)

    @property
    def intact(self) -> bool:
        """Complete, and readable by whoever asks, perhaps after a rescue: a walk down the lineage stops here."""
        return self.complete and self.life in THERE


@dataclass(frozen=True, slots=True)
class Job:
    """A live job."""

    job: JobId
    final_stage: StageId
    reads: tuple[AppShuffle, ...]
    writes: AppShuffle | None
    stages: tuple[Span, ...]
    execution: ExecutionId | None = None
    group: str = ""
    policy: Policy | None = None
    call_site: str = ""
    finished: bool = False  #: Its final stage has completed; nothing more is read for it.
    done: frozenset[StageAttempt] = _NONE_ATTEMPTS  #: Attempts of its stages that ended well; who asks for one is late.

    def lists(self, stage: StageId) -> bool:
        """Whether the job announced the stage, skipped or not."""
        return stage == self.final_stage or within(self.stages, stage)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A stage attempt that was submitted, or asked before its submission was told."""

    stage: StageAttempt
    running: bool = True
    submitted: bool = False
    reads: tuple[AppShuffle, ...] = ()
    writes: AppShuffle | None = None
    reading: tuple[ShuffleId, ...] = ()
    writing: ShuffleId | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Execution:
    """A running SQL execution."""

    execution: ExecutionId
    name: str = ""
    writes_output: bool = False


@dataclass(frozen=True, slots=True)
class Directive:
    """What the driver was asked to do and has not answered."""

    directive: DirectiveId
    kind: DirectiveKind
    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    locator: Locator = Locator()
    due_ms: int = 0  #: Not to be sent before.
    failures: int = 0
    requested_ms: int = 0


@dataclass(frozen=True, slots=True)
class Recovery:
    """The one answer to a loss."""

    recovery: RecoveryId
    missing: ShuffleId
    gone: tuple[tuple[ShuffleId, AppShuffle], ...]
    awaited: tuple[ShuffleId, ...] = ()
    lineage_known: bool = True
    open: bool = True
    joined: int = 0
    mixing: tuple[ShuffleId, ...] = ()  #: To be written anew whole; what replaces one belongs to this recovery.
    stage: StageAttempt | None = None  #: Who asked first.


@dataclass(frozen=True, slots=True)
class Root:
    """A root that a look reported, with its cut."""

    root: str
    kind: RootKind
    needs: frozenset[AppShuffle]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Client:
    """Whose requests were answered, so that none is carried out twice."""

    client: ClientId
    confirmed: int = 0
    answered: tuple[Span, ...] = ()  #: Above ``confirmed``.
    seen_ms: int = 0
    refused: tuple[Span, ...] = ()  #: Of the answered, those of which nothing followed.

    @property
    def unconfirmed(self) -> int:
        """Answers that the client has not confirmed."""
        return sum(span.last - span.first + 1 for span in self.answered)


Table = MutableMapping[K, V]


@dataclass(slots=True)
class State:
    """One application. Tables hold what is alive; what is gone leaves only spans of ids."""

    meta: Meta
    shuffles: Table[AppShuffle, Shuffle]
    generations: Table[ShuffleId, Generation]
    jobs: Table[JobId, Job]
    attempts: Table[StageAttempt, Attempt]
    executions: Table[ExecutionId, Execution]
    directives: Table[DirectiveId, Directive]
    recoveries: Table[RecoveryId, Recovery]
    recovered: Table[ShuffleId, RecoveryId]  #: Gone generation -> the recovery that answers for it.
    roots: Table[str, Root]
    clients: Table[ClientId, Client]
    groups: Table[str, Policy]

    def current(self, app_shuffle: AppShuffle) -> Generation | None:
        """The record of the app shuffle's current generation; None where there is none, or only a tombstone."""
        shuffle = self.shuffles.get(app_shuffle)
        if shuffle is None or shuffle.current is None:
            return None
        return self.generations.get(shuffle.current)


TABLES = (
    "shuffles",
    "generations",
    "jobs",
    "attempts",
    "executions",
    "directives",
    "recoveries",
    "recovered",
    "roots",
    "clients",
    "groups",
)


def empty() -> State:
    """The state of an empty log."""
    return State(Meta(), {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {})


def copy(state: State) -> State:
    """A state that can go its own way. Costs the tables' sizes."""
    return State(state.meta, *(dict(getattr(state, name)) for name in TABLES))


def is_answered(state: State, shuffle_id: ShuffleId) -> bool:
    """Whether a recovery answers for a gone generation. None does for one that was denied a recovery."""
    return state.recovered.get(shuffle_id, DENIED) != DENIED


def rows(state: State) -> int:
    """How many records its tables hold."""
    return sum(len(getattr(state, name)) for name in TABLES)


@dataclass(frozen=True, slots=True)
class Change(Generic[K, V]):
    """One record before and after; None where there was or is none."""

    key: K
    before: V | None
    after: V | None


def lay_over(state: State) -> State:
    """A state over ``state``, which nothing written to the new one can touch."""
    return State(state.meta, *(Overlay(getattr(state, name)) for name in TABLES))


def changes(draft: State, table: str) -> tuple[Change[object, object], ...]:
    """What the draft changes in one table, in the order of first change."""
    overlay = getattr(draft, table)
    if not overlay.own:
        return ()  # most tables, most of the time
    found = (
        Change(key, overlay.below.get(key), None if value is GONE else value) for key, value in overlay.own.items()
    )
    return tuple(change for change in found if change.before != change.after)


def replaced_by(draft: State) -> Replaced:
    """What lies below each record that was written in the draft."""
    tables = ((name, getattr(draft, name)) for name in TABLES)
    return {(name, key): overlay.below.get(key) for name, overlay in tables for key in overlay.own}


def track(state: State, replaced: Replaced) -> State:
    """The same in tables that note what they replace. Costs the tables' sizes."""
    return State(state.meta, *(Tracked(name, getattr(state, name), replaced) for name in TABLES))


def as_it_was(state: State, meta: Meta, replaced: Replaced) -> State:
    """A state with all that was replaced put back, ``meta`` too; the order of its tables may be another."""
    was = copy(state)
    was.meta = meta
    for (name, key), before in replaced.items():
        table = getattr(was, name)
        table.pop(key, None)
        if before is not None:
            table[key] = before
    return was


def settle(draft: State, state: State) -> None:
    """Writes what the draft holds into the state that it lies over, in place."""
    state.meta = draft.meta
    for name in TABLES:
        own = getattr(draft, name).own
        if not own:
            continue
        table = getattr(state, name)
        for key, value in own.items():
            if value is GONE:
                table.pop(key, None)
            else:
                table[key] = value


def first_due_ms(state: State) -> int | None:
    """When the first of the expired is due, in event time; None where none waits for a time."""
    return min([g.due_ms for g in state.generations.values() if g.due_ms and g.life is Life.EXPIRED], default=None)


def due_by(state: State, now_ms: int) -> list[AppShuffle]:
    """What has expired and is due by then, in event time."""
    return [
        one.app_shuffle for one in state.generations.values() if 0 < one.due_ms <= now_ms and one.life is Life.EXPIRED
    ]


_given = altering(Generation, "job", "execution", "group", "policy")


def given_to(generation: Generation, job: Job) -> Generation:
    """The generation as one that the job writes: its execution, group and policy count for it."""
    return _given(generation, job=job.job, execution=job.execution, group=job.group, policy=job.policy)


def given_to_nobody(generation: Generation) -> Generation:
    """The generation as one whose job is not told yet."""
    return _given(generation, job=None, execution=None, group="", policy=None)


def edit(table: Table[K, V], key: K, **fields: object) -> None:
    """Replaces fields of one record; a record that is not there is left so (``evolve`` never refuses)."""
    record = table.get(key)
    if record is not None:
        table[key] = replace(record, **fields)
