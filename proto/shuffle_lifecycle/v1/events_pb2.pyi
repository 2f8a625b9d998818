from shuffle_lifecycle.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Record(_message.Message):
    __slots__ = ("sequence", "time_ms", "because", "ignorable", "application_registered", "application_ended", "client_registered", "client_dropped", "requests_answered", "policy_changed", "pin_set", "pin_removed", "deletion_suspended", "deletion_resumed", "gap_recorded", "sweep_changed", "lineage_learned", "job_started", "job_ended", "stage_submitted", "stage_completed", "execution_started", "execution_ended", "executor_lost", "shuffle_cleaned", "disk_reported", "cached_blocks_lost", "look_began", "cut_reported", "root_gone", "look_ended", "generation_started", "writer_joined", "generation_completed", "reader_registered", "outputs_lost", "generation_lost", "generation_expired", "hold_changed", "expiry_taken_back", "fence_requested", "fence_refused", "generation_fenced", "delete_requested", "directive_failed", "invalidate_requested", "data_invalidated", "generation_deleted", "generation_adopted", "premature_deletion", "recovery_opened", "recovery_widened", "recovery_joined", "recovery_closed", "recovery_denied", "generations_mixed", "results_may_differ")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TIME_MS_FIELD_NUMBER: _ClassVar[int]
    BECAUSE_FIELD_NUMBER: _ClassVar[int]
    IGNORABLE_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_REGISTERED_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_ENDED_FIELD_NUMBER: _ClassVar[int]
    CLIENT_REGISTERED_FIELD_NUMBER: _ClassVar[int]
    CLIENT_DROPPED_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_ANSWERED_FIELD_NUMBER: _ClassVar[int]
    POLICY_CHANGED_FIELD_NUMBER: _ClassVar[int]
    PIN_SET_FIELD_NUMBER: _ClassVar[int]
    PIN_REMOVED_FIELD_NUMBER: _ClassVar[int]
    DELETION_SUSPENDED_FIELD_NUMBER: _ClassVar[int]
    DELETION_RESUMED_FIELD_NUMBER: _ClassVar[int]
    GAP_RECORDED_FIELD_NUMBER: _ClassVar[int]
    SWEEP_CHANGED_FIELD_NUMBER: _ClassVar[int]
    LINEAGE_LEARNED_FIELD_NUMBER: _ClassVar[int]
    JOB_STARTED_FIELD_NUMBER: _ClassVar[int]
    JOB_ENDED_FIELD_NUMBER: _ClassVar[int]
    STAGE_SUBMITTED_FIELD_NUMBER: _ClassVar[int]
    STAGE_COMPLETED_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_STARTED_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_ENDED_FIELD_NUMBER: _ClassVar[int]
    EXECUTOR_LOST_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_CLEANED_FIELD_NUMBER: _ClassVar[int]
    DISK_REPORTED_FIELD_NUMBER: _ClassVar[int]
    CACHED_BLOCKS_LOST_FIELD_NUMBER: _ClassVar[int]
    LOOK_BEGAN_FIELD_NUMBER: _ClassVar[int]
    CUT_REPORTED_FIELD_NUMBER: _ClassVar[int]
    ROOT_GONE_FIELD_NUMBER: _ClassVar[int]
    LOOK_ENDED_FIELD_NUMBER: _ClassVar[int]
    GENERATION_STARTED_FIELD_NUMBER: _ClassVar[int]
    WRITER_JOINED_FIELD_NUMBER: _ClassVar[int]
    GENERATION_COMPLETED_FIELD_NUMBER: _ClassVar[int]
    READER_REGISTERED_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_LOST_FIELD_NUMBER: _ClassVar[int]
    GENERATION_LOST_FIELD_NUMBER: _ClassVar[int]
    GENERATION_EXPIRED_FIELD_NUMBER: _ClassVar[int]
    HOLD_CHANGED_FIELD_NUMBER: _ClassVar[int]
    EXPIRY_TAKEN_BACK_FIELD_NUMBER: _ClassVar[int]
    FENCE_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    FENCE_REFUSED_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FENCED_FIELD_NUMBER: _ClassVar[int]
    DELETE_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    DIRECTIVE_FAILED_FIELD_NUMBER: _ClassVar[int]
    INVALIDATE_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    DATA_INVALIDATED_FIELD_NUMBER: _ClassVar[int]
    GENERATION_DELETED_FIELD_NUMBER: _ClassVar[int]
    GENERATION_ADOPTED_FIELD_NUMBER: _ClassVar[int]
    PREMATURE_DELETION_FIELD_NUMBER: _ClassVar[int]
    RECOVERY_OPENED_FIELD_NUMBER: _ClassVar[int]
    RECOVERY_WIDENED_FIELD_NUMBER: _ClassVar[int]
    RECOVERY_JOINED_FIELD_NUMBER: _ClassVar[int]
    RECOVERY_CLOSED_FIELD_NUMBER: _ClassVar[int]
    RECOVERY_DENIED_FIELD_NUMBER: _ClassVar[int]
    GENERATIONS_MIXED_FIELD_NUMBER: _ClassVar[int]
    RESULTS_MAY_DIFFER_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    time_ms: int
    because: int
    ignorable: bool
    application_registered: ApplicationRegistered
    application_ended: ApplicationEnded
    client_registered: ClientRegistered
    client_dropped: ClientDropped
    requests_answered: RequestsAnswered
    policy_changed: PolicyChanged
    pin_set: PinSet
    pin_removed: PinRemoved
    deletion_suspended: DeletionSuspended
    deletion_resumed: DeletionResumed
    gap_recorded: GapRecorded
    sweep_changed: SweepChanged
    lineage_learned: LineageLearned
    job_started: JobStarted
    job_ended: JobEnded
    stage_submitted: StageSubmitted
    stage_completed: StageCompleted
    execution_started: ExecutionStarted
    execution_ended: ExecutionEnded
    executor_lost: ExecutorLost
    shuffle_cleaned: ShuffleCleaned
    disk_reported: DiskReported
    cached_blocks_lost: CachedBlocksLost
    look_began: LookBegan
    cut_reported: CutReported
    root_gone: RootGone
    look_ended: LookEnded
    generation_started: GenerationStarted
    writer_joined: WriterJoined
    generation_completed: GenerationCompleted
    reader_registered: ReaderRegistered
    outputs_lost: OutputsLost
    generation_lost: GenerationLost
    generation_expired: GenerationExpired
    hold_changed: HoldChanged
    expiry_taken_back: ExpiryTakenBack
    fence_requested: FenceRequested
    fence_refused: FenceRefused
    generation_fenced: GenerationFenced
    delete_requested: DeleteRequested
    directive_failed: DirectiveFailed
    invalidate_requested: InvalidateRequested
    data_invalidated: DataInvalidated
    generation_deleted: GenerationDeleted
    generation_adopted: GenerationAdopted
    premature_deletion: PrematureDeletion
    recovery_opened: RecoveryOpened
    recovery_widened: RecoveryWidened
    recovery_joined: RecoveryJoined
    recovery_closed: RecoveryClosed
    recovery_denied: RecoveryDenied
    generations_mixed: GenerationsMixed
    results_may_differ: ResultsMayDiffer
    def __init__(self, sequence: _Optional[int] = ..., time_ms: _Optional[int] = ..., because: _Optional[int] = ..., ignorable: bool = ..., application_registered: _Optional[_Union[ApplicationRegistered, _Mapping]] = ..., application_ended: _Optional[_Union[ApplicationEnded, _Mapping]] = ..., client_registered: _Optional[_Union[ClientRegistered, _Mapping]] = ..., client_dropped: _Optional[_Union[ClientDropped, _Mapping]] = ..., requests_answered: _Optional[_Union[RequestsAnswered, _Mapping]] = ..., policy_changed: _Optional[_Union[PolicyChanged, _Mapping]] = ..., pin_set: _Optional[_Union[PinSet, _Mapping]] = ..., pin_removed: _Optional[_Union[PinRemoved, _Mapping]] = ..., deletion_suspended: _Optional[_Union[DeletionSuspended, _Mapping]] = ..., deletion_resumed: _Optional[_Union[DeletionResumed, _Mapping]] = ..., gap_recorded: _Optional[_Union[GapRecorded, _Mapping]] = ..., sweep_changed: _Optional[_Union[SweepChanged, _Mapping]] = ..., lineage_learned: _Optional[_Union[LineageLearned, _Mapping]] = ..., job_started: _Optional[_Union[JobStarted, _Mapping]] = ..., job_ended: _Optional[_Union[JobEnded, _Mapping]] = ..., stage_submitted: _Optional[_Union[StageSubmitted, _Mapping]] = ..., stage_completed: _Optional[_Union[StageCompleted, _Mapping]] = ..., execution_started: _Optional[_Union[ExecutionStarted, _Mapping]] = ..., execution_ended: _Optional[_Union[ExecutionEnded, _Mapping]] = ..., executor_lost: _Optional[_Union[ExecutorLost, _Mapping]] = ..., shuffle_cleaned: _Optional[_Union[ShuffleCleaned, _Mapping]] = ..., disk_reported: _Optional[_Union[DiskReported, _Mapping]] = ..., cached_blocks_lost: _Optional[_Union[CachedBlocksLost, _Mapping]] = ..., look_began: _Optional[_Union[LookBegan, _Mapping]] = ..., cut_reported: _Optional[_Union[CutReported, _Mapping]] = ..., root_gone: _Optional[_Union[RootGone, _Mapping]] = ..., look_ended: _Optional[_Union[LookEnded, _Mapping]] = ..., generation_started: _Optional[_Union[GenerationStarted, _Mapping]] = ..., writer_joined: _Optional[_Union[WriterJoined, _Mapping]] = ..., generation_completed: _Optional[_Union[GenerationCompleted, _Mapping]] = ..., reader_registered: _Optional[_Union[ReaderRegistered, _Mapping]] = ..., outputs_lost: _Optional[_Union[OutputsLost, _Mapping]] = ..., generation_lost: _Optional[_Union[GenerationLost, _Mapping]] = ..., generation_expired: _Optional[_Union[GenerationExpired, _Mapping]] = ..., hold_changed: _Optional[_Union[HoldChanged, _Mapping]] = ..., expiry_taken_back: _Optional[_Union[ExpiryTakenBack, _Mapping]] = ..., fence_requested: _Optional[_Union[FenceRequested, _Mapping]] = ..., fence_refused: _Optional[_Union[FenceRefused, _Mapping]] = ..., generation_fenced: _Optional[_Union[GenerationFenced, _Mapping]] = ..., delete_requested: _Optional[_Union[DeleteRequested, _Mapping]] = ..., directive_failed: _Optional[_Union[DirectiveFailed, _Mapping]] = ..., invalidate_requested: _Optional[_Union[InvalidateRequested, _Mapping]] = ..., data_invalidated: _Optional[_Union[DataInvalidated, _Mapping]] = ..., generation_deleted: _Optional[_Union[GenerationDeleted, _Mapping]] = ..., generation_adopted: _Optional[_Union[GenerationAdopted, _Mapping]] = ..., premature_deletion: _Optional[_Union[PrematureDeletion, _Mapping]] = ..., recovery_opened: _Optional[_Union[RecoveryOpened, _Mapping]] = ..., recovery_widened: _Optional[_Union[RecoveryWidened, _Mapping]] = ..., recovery_joined: _Optional[_Union[RecoveryJoined, _Mapping]] = ..., recovery_closed: _Optional[_Union[RecoveryClosed, _Mapping]] = ..., recovery_denied: _Optional[_Union[RecoveryDenied, _Mapping]] = ..., generations_mixed: _Optional[_Union[GenerationsMixed, _Mapping]] = ..., results_may_differ: _Optional[_Union[ResultsMayDiffer, _Mapping]] = ...) -> None: ...

class Segment(_message.Message):
    __slots__ = ("first_sequence", "commit_id", "writer", "version", "records", "checksum")
    FIRST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    COMMIT_ID_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    first_sequence: int
    commit_id: bytes
    writer: str
    version: int
    records: _containers.RepeatedCompositeFieldContainer[Record]
    checksum: int
    def __init__(self, first_sequence: _Optional[int] = ..., commit_id: _Optional[bytes] = ..., writer: _Optional[str] = ..., version: _Optional[int] = ..., records: _Optional[_Iterable[_Union[Record, _Mapping]]] = ..., checksum: _Optional[int] = ...) -> None: ...

class Head(_message.Message):
    __slots__ = ("next_sequence", "time_ms", "commit_id", "last_snapshot", "snapshot_parts", "previous_snapshot", "archived_below", "version", "checksum")
    NEXT_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TIME_MS_FIELD_NUMBER: _ClassVar[int]
    COMMIT_ID_FIELD_NUMBER: _ClassVar[int]
    LAST_SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_PARTS_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_BELOW_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    next_sequence: int
    time_ms: int
    commit_id: bytes
    last_snapshot: int
    snapshot_parts: int
    previous_snapshot: int
    archived_below: int
    version: int
    checksum: int
    def __init__(self, next_sequence: _Optional[int] = ..., time_ms: _Optional[int] = ..., commit_id: _Optional[bytes] = ..., last_snapshot: _Optional[int] = ..., snapshot_parts: _Optional[int] = ..., previous_snapshot: _Optional[int] = ..., archived_below: _Optional[int] = ..., version: _Optional[int] = ..., checksum: _Optional[int] = ...) -> None: ...

class SnapshotPart(_message.Message):
    __slots__ = ("application", "sequence", "part", "parts", "version", "digest", "tables", "checksum")
    APPLICATION_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    TABLES_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    application: str
    sequence: int
    part: int
    parts: int
    version: int
    digest: str
    tables: _containers.RepeatedCompositeFieldContainer[Table]
    checksum: int
    def __init__(self, application: _Optional[str] = ..., sequence: _Optional[int] = ..., part: _Optional[int] = ..., parts: _Optional[int] = ..., version: _Optional[int] = ..., digest: _Optional[str] = ..., tables: _Optional[_Iterable[_Union[Table, _Mapping]]] = ..., checksum: _Optional[int] = ...) -> None: ...

class Table(_message.Message):
    __slots__ = ("name", "rows")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    name: str
    rows: bytes
    def __init__(self, name: _Optional[str] = ..., rows: _Optional[bytes] = ...) -> None: ...

class GenerationRecord(_message.Message):
    __slots__ = ("application", "shuffle_id", "app_shuffle", "life", "sequence", "since_ms", "started_ms", "bytes", "locator", "expiry", "hold", "due_ms", "loss", "deletion", "checksum", "directive")
    APPLICATION_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    LIFE_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    LOCATOR_FIELD_NUMBER: _ClassVar[int]
    EXPIRY_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    DUE_MS_FIELD_NUMBER: _ClassVar[int]
    LOSS_FIELD_NUMBER: _ClassVar[int]
    DELETION_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    DIRECTIVE_FIELD_NUMBER: _ClassVar[int]
    application: str
    shuffle_id: int
    app_shuffle: int
    life: _common_pb2.Life
    sequence: int
    since_ms: int
    started_ms: int
    bytes: int
    locator: _common_pb2.Locator
    expiry: _common_pb2.Expiry
    hold: _common_pb2.Hold
    due_ms: int
    loss: _common_pb2.Loss
    deletion: _common_pb2.Deletion
    checksum: int
    directive: int
    def __init__(self, application: _Optional[str] = ..., shuffle_id: _Optional[int] = ..., app_shuffle: _Optional[int] = ..., life: _Optional[_Union[_common_pb2.Life, str]] = ..., sequence: _Optional[int] = ..., since_ms: _Optional[int] = ..., started_ms: _Optional[int] = ..., bytes: _Optional[int] = ..., locator: _Optional[_Union[_common_pb2.Locator, _Mapping]] = ..., expiry: _Optional[_Union[_common_pb2.Expiry, str]] = ..., hold: _Optional[_Union[_common_pb2.Hold, str]] = ..., due_ms: _Optional[int] = ..., loss: _Optional[_Union[_common_pb2.Loss, str]] = ..., deletion: _Optional[_Union[_common_pb2.Deletion, str]] = ..., checksum: _Optional[int] = ..., directive: _Optional[int] = ...) -> None: ...

class ApplicationRecord(_message.Message):
    __slots__ = ("application", "driver", "capabilities", "policy", "settings", "token_hash", "registered_ms", "ended_ms", "ending", "suspended", "checksum")
    APPLICATION_FIELD_NUMBER: _ClassVar[int]
    DRIVER_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_HASH_FIELD_NUMBER: _ClassVar[int]
    REGISTERED_MS_FIELD_NUMBER: _ClassVar[int]
    ENDED_MS_FIELD_NUMBER: _ClassVar[int]
    ENDING_FIELD_NUMBER: _ClassVar[int]
    SUSPENDED_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    application: str
    driver: _common_pb2.Driver
    capabilities: _common_pb2.Capabilities
    policy: _common_pb2.Policy
    settings: _common_pb2.Settings
    token_hash: str
    registered_ms: int
    ended_ms: int
    ending: _common_pb2.Ending
    suspended: _common_pb2.Suspension
    checksum: int
    def __init__(self, application: _Optional[str] = ..., driver: _Optional[_Union[_common_pb2.Driver, _Mapping]] = ..., capabilities: _Optional[_Union[_common_pb2.Capabilities, _Mapping]] = ..., policy: _Optional[_Union[_common_pb2.Policy, _Mapping]] = ..., settings: _Optional[_Union[_common_pb2.Settings, _Mapping]] = ..., token_hash: _Optional[str] = ..., registered_ms: _Optional[int] = ..., ended_ms: _Optional[int] = ..., ending: _Optional[_Union[_common_pb2.Ending, str]] = ..., suspended: _Optional[_Union[_common_pb2.Suspension, str]] = ..., checksum: _Optional[int] = ...) -> None: ...

class SessionRecord(_message.Message):
    __slots__ = ("application", "client", "replica", "heartbeat_ms", "beats", "checksum")
    APPLICATION_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_MS_FIELD_NUMBER: _ClassVar[int]
    BEATS_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    application: str
    client: str
    replica: str
    heartbeat_ms: int
    beats: int
    checksum: int
    def __init__(self, application: _Optional[str] = ..., client: _Optional[str] = ..., replica: _Optional[str] = ..., heartbeat_ms: _Optional[int] = ..., beats: _Optional[int] = ..., checksum: _Optional[int] = ...) -> None: ...

class ReplicaRecord(_message.Message):
    __slots__ = ("replica", "address", "reads_version", "release", "started_ms", "lease", "lease_ms", "checksum")
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    READS_VERSION_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    replica: str
    address: str
    reads_version: int
    release: str
    started_ms: int
    lease: int
    lease_ms: int
    checksum: int
    def __init__(self, replica: _Optional[str] = ..., address: _Optional[str] = ..., reads_version: _Optional[int] = ..., release: _Optional[str] = ..., started_ms: _Optional[int] = ..., lease: _Optional[int] = ..., lease_ms: _Optional[int] = ..., checksum: _Optional[int] = ...) -> None: ...

class AuditRecord(_message.Message):
    __slots__ = ("peer", "kind", "minute", "count", "detail", "checksum")
    PEER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MINUTE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    peer: str
    kind: str
    minute: int
    count: int
    detail: str
    checksum: int
    def __init__(self, peer: _Optional[str] = ..., kind: _Optional[str] = ..., minute: _Optional[int] = ..., count: _Optional[int] = ..., detail: _Optional[str] = ..., checksum: _Optional[int] = ...) -> None: ...

class ApplicationRegistered(_message.Message):
    __slots__ = ("application", "driver", "capabilities", "policy", "settings", "token_hash")
    APPLICATION_FIELD_NUMBER: _ClassVar[int]
    DRIVER_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_HASH_FIELD_NUMBER: _ClassVar[int]
    application: str
    driver: _common_pb2.Driver
    capabilities: _common_pb2.Capabilities
    policy: _common_pb2.Policy
    settings: _common_pb2.Settings
    token_hash: str
    def __init__(self, application: _Optional[str] = ..., driver: _Optional[_Union[_common_pb2.Driver, _Mapping]] = ..., capabilities: _Optional[_Union[_common_pb2.Capabilities, _Mapping]] = ..., policy: _Optional[_Union[_common_pb2.Policy, _Mapping]] = ..., settings: _Optional[_Union[_common_pb2.Settings, _Mapping]] = ..., token_hash: _Optional[str] = ...) -> None: ...

class ApplicationEnded(_message.Message):
    __slots__ = ("ending",)
    ENDING_FIELD_NUMBER: _ClassVar[int]
    ending: _common_pb2.Ending
    def __init__(self, ending: _Optional[_Union[_common_pb2.Ending, str]] = ...) -> None: ...

class ClientRegistered(_message.Message):
    __slots__ = ("client",)
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    client: str
    def __init__(self, client: _Optional[str] = ...) -> None: ...

class ClientDropped(_message.Message):
    __slots__ = ("client",)
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    client: str
    def __init__(self, client: _Optional[str] = ...) -> None: ...

class RequestsAnswered(_message.Message):
    __slots__ = ("client", "answered", "confirmed", "repeats", "refused", "refused_numbers")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    REPEATS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    REFUSED_NUMBERS_FIELD_NUMBER: _ClassVar[int]
    client: str
    answered: _containers.RepeatedCompositeFieldContainer[_common_pb2.Span]
    confirmed: int
    repeats: int
    refused: _containers.RepeatedCompositeFieldContainer[_common_pb2.Refused]
    refused_numbers: _containers.RepeatedCompositeFieldContainer[_common_pb2.Span]
    def __init__(self, client: _Optional[str] = ..., answered: _Optional[_Iterable[_Union[_common_pb2.Span, _Mapping]]] = ..., confirmed: _Optional[int] = ..., repeats: _Optional[int] = ..., refused: _Optional[_Iterable[_Union[_common_pb2.Refused, _Mapping]]] = ..., refused_numbers: _Optional[_Iterable[_Union[_common_pb2.Span, _Mapping]]] = ...) -> None: ...

class PolicyChanged(_message.Message):
    __slots__ = ("policy", "group", "by")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    policy: _common_pb2.Policy
    group: str
    by: str
    def __init__(self, policy: _Optional[_Union[_common_pb2.Policy, _Mapping]] = ..., group: _Optional[str] = ..., by: _Optional[str] = ...) -> None: ...

class PinSet(_message.Message):
    __slots__ = ("app_shuffle", "why")
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    app_shuffle: int
    why: str
    def __init__(self, app_shuffle: _Optional[int] = ..., why: _Optional[str] = ...) -> None: ...

class PinRemoved(_message.Message):
    __slots__ = ("app_shuffle",)
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    app_shuffle: int
    def __init__(self, app_shuffle: _Optional[int] = ...) -> None: ...

class DeletionSuspended(_message.Message):
    __slots__ = ("why",)
    WHY_FIELD_NUMBER: _ClassVar[int]
    why: _common_pb2.Suspension
    def __init__(self, why: _Optional[_Union[_common_pb2.Suspension, str]] = ...) -> None: ...

class DeletionResumed(_message.Message):
    __slots__ = ("by", "recoveries_anew")
    BY_FIELD_NUMBER: _ClassVar[int]
    RECOVERIES_ANEW_FIELD_NUMBER: _ClassVar[int]
    by: str
    recoveries_anew: bool
    def __init__(self, by: _Optional[str] = ..., recoveries_anew: bool = ...) -> None: ...

class GapRecorded(_message.Message):
    __slots__ = ("dropped", "where", "until", "resynced")
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    RESYNCED_FIELD_NUMBER: _ClassVar[int]
    dropped: int
    where: str
    until: _containers.RepeatedScalarFieldContainer[int]
    resynced: bool
    def __init__(self, dropped: _Optional[int] = ..., where: _Optional[str] = ..., until: _Optional[_Iterable[int]] = ..., resynced: bool = ...) -> None: ...

class SweepChanged(_message.Message):
    __slots__ = ("pending",)
    PENDING_FIELD_NUMBER: _ClassVar[int]
    pending: bool
    def __init__(self, pending: bool = ...) -> None: ...

class LineageLearned(_message.Message):
    __slots__ = ("lineage", "cut_off")
    LINEAGE_FIELD_NUMBER: _ClassVar[int]
    CUT_OFF_FIELD_NUMBER: _ClassVar[int]
    lineage: _common_pb2.Lineage
    cut_off: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, lineage: _Optional[_Union[_common_pb2.Lineage, _Mapping]] = ..., cut_off: _Optional[_Iterable[int]] = ...) -> None: ...

class JobStarted(_message.Message):
    __slots__ = ("job", "final_stage", "reads", "writes", "stages", "execution", "group", "policy", "call_site")
    JOB_FIELD_NUMBER: _ClassVar[int]
    FINAL_STAGE_FIELD_NUMBER: _ClassVar[int]
    READS_FIELD_NUMBER: _ClassVar[int]
    WRITES_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    CALL_SITE_FIELD_NUMBER: _ClassVar[int]
    job: int
    final_stage: int
    reads: _containers.RepeatedScalarFieldContainer[int]
    writes: int
    stages: _containers.RepeatedCompositeFieldContainer[_common_pb2.Span]
    execution: int
    group: str
    policy: _common_pb2.Policy
    call_site: str
    def __init__(self, job: _Optional[int] = ..., final_stage: _Optional[int] = ..., reads: _Optional[_Iterable[int]] = ..., writes: _Optional[int] = ..., stages: _Optional[_Iterable[_Union[_common_pb2.Span, _Mapping]]] = ..., execution: _Optional[int] = ..., group: _Optional[str] = ..., policy: _Optional[_Union[_common_pb2.Policy, _Mapping]] = ..., call_site: _Optional[str] = ...) -> None: ...

class JobEnded(_message.Message):
    __slots__ = ("job", "succeeded", "failure")
    JOB_FIELD_NUMBER: _ClassVar[int]
    SUCCEEDED_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    job: int
    succeeded: bool
    failure: str
    def __init__(self, job: _Optional[int] = ..., succeeded: bool = ..., failure: _Optional[str] = ...) -> None: ...

class StageSubmitted(_message.Message):
    __slots__ = ("stage", "reads", "writes", "tasks", "name", "cached", "behind", "gives_up")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    READS_FIELD_NUMBER: _ClassVar[int]
    WRITES_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CACHED_FIELD_NUMBER: _ClassVar[int]
    BEHIND_FIELD_NUMBER: _ClassVar[int]
    GIVES_UP_FIELD_NUMBER: _ClassVar[int]
    stage: _common_pb2.StageAttempt
    reads: _containers.RepeatedScalarFieldContainer[int]
    writes: int
    tasks: int
    name: str
    cached: bool
    behind: _containers.RepeatedScalarFieldContainer[int]
    gives_up: int
    def __init__(self, stage: _Optional[_Union[_common_pb2.StageAttempt, _Mapping]] = ..., reads: _Optional[_Iterable[int]] = ..., writes: _Optional[int] = ..., tasks: _Optional[int] = ..., name: _Optional[str] = ..., cached: bool = ..., behind: _Optional[_Iterable[int]] = ..., gives_up: _Optional[int] = ...) -> None: ...

class StageCompleted(_message.Message):
    __slots__ = ("stage", "failure", "shuffle_bytes_written", "shuffle_bytes_read", "output_bytes", "output_records", "task_ms", "recovered", "unread")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_BYTES_WRITTEN_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_BYTES_READ_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_RECORDS_FIELD_NUMBER: _ClassVar[int]
    TASK_MS_FIELD_NUMBER: _ClassVar[int]
    RECOVERED_FIELD_NUMBER: _ClassVar[int]
    UNREAD_FIELD_NUMBER: _ClassVar[int]
    stage: _common_pb2.StageAttempt
    failure: str
    shuffle_bytes_written: int
    shuffle_bytes_read: int
    output_bytes: int
    output_records: int
    task_ms: int
    recovered: _containers.RepeatedScalarFieldContainer[int]
    unread: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, stage: _Optional[_Union[_common_pb2.StageAttempt, _Mapping]] = ..., failure: _Optional[str] = ..., shuffle_bytes_written: _Optional[int] = ..., shuffle_bytes_read: _Optional[int] = ..., output_bytes: _Optional[int] = ..., output_records: _Optional[int] = ..., task_ms: _Optional[int] = ..., recovered: _Optional[_Iterable[int]] = ..., unread: _Optional[_Iterable[int]] = ...) -> None: ...

class ExecutionStarted(_message.Message):
    __slots__ = ("execution", "name", "writes_output")
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    WRITES_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    execution: int
    name: str
    writes_output: bool
    def __init__(self, execution: _Optional[int] = ..., name: _Optional[str] = ..., writes_output: bool = ...) -> None: ...

class ExecutionEnded(_message.Message):
    __slots__ = ("execution", "failed")
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    execution: int
    failed: bool
    def __init__(self, execution: _Optional[int] = ..., failed: bool = ...) -> None: ...

class DiskReported(_message.Message):
    __slots__ = ("disk", "used_bytes", "free_bytes")
    DISK_FIELD_NUMBER: _ClassVar[int]
    USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    FREE_BYTES_FIELD_NUMBER: _ClassVar[int]
    disk: str
    used_bytes: int
    free_bytes: int
    def __init__(self, disk: _Optional[str] = ..., used_bytes: _Optional[int] = ..., free_bytes: _Optional[int] = ...) -> None: ...

class ExecutorLost(_message.Message):
    __slots__ = ("executor", "reason")
    EXECUTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    executor: str
    reason: str
    def __init__(self, executor: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class CachedBlocksLost(_message.Message):
    __slots__ = ("executor", "app_shuffles")
    EXECUTOR_FIELD_NUMBER: _ClassVar[int]
    APP_SHUFFLES_FIELD_NUMBER: _ClassVar[int]
    executor: str
    app_shuffles: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, executor: _Optional[str] = ..., app_shuffles: _Optional[_Iterable[int]] = ...) -> None: ...

class ShuffleCleaned(_message.Message):
    __slots__ = ("app_shuffle", "by_inputs")
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    BY_INPUTS_FIELD_NUMBER: _ClassVar[int]
    app_shuffle: int
    by_inputs: bool
    def __init__(self, app_shuffle: _Optional[int] = ..., by_inputs: bool = ...) -> None: ...

class LookBegan(_message.Message):
    __slots__ = ("look",)
    LOOK_FIELD_NUMBER: _ClassVar[int]
    look: int
    def __init__(self, look: _Optional[int] = ...) -> None: ...

class CutReported(_message.Message):
    __slots__ = ("look", "root", "kind", "added", "removed", "why")
    LOOK_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ADDED_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    look: int
    root: str
    kind: _common_pb2.RootKind
    added: _containers.RepeatedScalarFieldContainer[int]
    removed: _containers.RepeatedScalarFieldContainer[int]
    why: str
    def __init__(self, look: _Optional[int] = ..., root: _Optional[str] = ..., kind: _Optional[_Union[_common_pb2.RootKind, str]] = ..., added: _Optional[_Iterable[int]] = ..., removed: _Optional[_Iterable[int]] = ..., why: _Optional[str] = ...) -> None: ...

class RootGone(_message.Message):
    __slots__ = ("root",)
    ROOT_FIELD_NUMBER: _ClassVar[int]
    root: str
    def __init__(self, root: _Optional[str] = ...) -> None: ...

class LookEnded(_message.Message):
    __slots__ = ("look",)
    LOOK_FIELD_NUMBER: _ClassVar[int]
    look: int
    def __init__(self, look: _Optional[int] = ...) -> None: ...

class GenerationStarted(_message.Message):
    __slots__ = ("shuffle_id", "app_shuffle", "writer", "job", "recovery")
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    RECOVERY_FIELD_NUMBER: _ClassVar[int]
    shuffle_id: int
    app_shuffle: int
    writer: _common_pb2.StageAttempt
    job: int
    recovery: int
    def __init__(self, shuffle_id: _Optional[int] = ..., app_shuffle: _Optional[int] = ..., writer: _Optional[_Union[_common_pb2.StageAttempt, _Mapping]] = ..., job: _Optional[int] = ..., recovery: _Optional[int] = ...) -> None: ...

class GenerationAdopted(_message.Message):
    __slots__ = ("shuffle_id", "app_shuffle", "available", "total")
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    shuffle_id: int
    app_shuffle: int
    available: int
    total: int
    def __init__(self, shuffle_id: _Optional[int] = ..., app_shuffle: _Optional[int] = ..., available: _Optional[int] = ..., total: _Optional[int] = ...) -> None: ...

class WriterJoined(_message.Message):
    __slots__ = ("shuffle_id", "writer", "forgets")
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    FORGETS_FIELD_NUMBER: _ClassVar[int]
    shuffle_id: int
    writer: _common_pb2.StageAttempt
    forgets: _containers.RepeatedCompositeFieldContainer[_common_pb2.StageAttempt]
    def __init__(self, shuffle_id: _Optional[int] = ..., writer: _Optional[_Union[_common_pb2.StageAttempt, _Mapping]] = ..., forgets: _Optional[_Iterable[_Union[_common_pb2.StageAttempt, _Mapping]]] = ...) -> None: ...

class GenerationCompleted(_message.Message):
    __slots__ = ("shuffle_id", "bytes")
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    shuffle_id: int
    bytes: int
    def __init__(self, shuffle_id: _Optional[int] = ..., bytes: _Optional[int] = ...) -> None: ...

class ReaderRegistered(_message.Message):
    __slots__ = ("shuffle_id", "reader")
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    READER_FIELD_NUMBER: _ClassVar[int]
    shuffle_id: int
    reader: _common_pb2.StageAttempt
    def __init__(self, shuffle_id: _Optional[int] = ..., reader: _Optional[_Union[_common_pb2.StageAttempt, _Mapping]] = ...) -> None: ...

class OutputsLost(_message.Message):
    __slots__ = ("shuffle_id", "available", "total")
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    shuffle_id: int
    available: int
    total: int
    def __init__(self, shuffle_id: _Optional[int] = ..., available: _Optional[int] = ..., total: _Optional[int] = ...) -> None: ...

class GenerationLost(_message.Message):
    __slots__ = ("shuffle_id", "cause")
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    shuffle_id: int
    cause: _common_pb2.Loss
    def __init__(self, shuffle_id: _Optional[int] = ..., cause: _Optional[_Union[_common_pb2.Loss, str]] = ...) -> None: ...

class GenerationExpired(_message.Message):
    __slots__ = ("shuffle_id", "why", "hold", "due_ms")
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    DUE_MS_FIELD_NUMBER: _ClassVar[int]
    shuffle_id: int
    why: _common_pb2.Expiry
    hold: _common_pb2.Hold
    due_ms: int
    def __init__(self, shuffle_id: _Optional[int] = ..., why: _Optional[_Union[_common_pb2.Expiry, str]] = ..., hold: _Optional[_Union[_common_pb2.Hold, str]] = ..., due_ms: _Optional[int] = ...) -> None: ...

class HoldChanged(_message.Message):
    __slots__ = ("shuffle_id", "hold", "due_ms")
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    DUE_MS_FIELD_NUMBER: _ClassVar[int]
    shuffle_id: int
    hold: _common_pb2.Hold
    due_ms: int
    def __init__(self, shuffle_id: _Optional[int] = ..., hold: _Optional[_Union[_common_pb2.Hold, str]] = ..., due_ms: _Optional[int] = ...) -> None: ...

class ExpiryTakenBack(_message.Message):
    __slots__ = ("shuffle_id", "why", "by")
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    shuffle_id: int
    why: _common_pb2.Rescue
    by: str
    def __init__(self, shuffle_id: _Optional[int] = ..., why: _Optional[_Union[_common_pb2.Rescue, str]] = ..., by: _Optional[str] = ...) -> None: ...

class FenceRequested(_message.Message):
    __slots__ = ("directive", "shuffle_id", "pressed", "guessed")
    DIRECTIVE_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    PRESSED_FIELD_NUMBER: _ClassVar[int]
    GUESSED_FIELD_NUMBER: _ClassVar[int]
    directive: int
    shuffle_id: int
    pressed: _common_pb2.Pressed
    guessed: bool
    def __init__(self, directive: _Optional[int] = ..., shuffle_id: _Optional[int] = ..., pressed: _Optional[_Union[_common_pb2.Pressed, _Mapping]] = ..., guessed: bool = ...) -> None: ...

class FenceRefused(_message.Message):
    __slots__ = ("directive", "shuffle_id", "refusal", "detail", "keep", "due_ms")
    DIRECTIVE_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    KEEP_FIELD_NUMBER: _ClassVar[int]
    DUE_MS_FIELD_NUMBER: _ClassVar[int]
    directive: int
    shuffle_id: int
    refusal: _common_pb2.Refusal
    detail: str
    keep: bool
    due_ms: int
    def __init__(self, directive: _Optional[int] = ..., shuffle_id: _Optional[int] = ..., refusal: _Optional[_Union[_common_pb2.Refusal, str]] = ..., detail: _Optional[str] = ..., keep: bool = ..., due_ms: _Optional[int] = ...) -> None: ...

class GenerationFenced(_message.Message):
    __slots__ = ("directive", "shuffle_id", "bytes", "locator")
    DIRECTIVE_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    LOCATOR_FIELD_NUMBER: _ClassVar[int]
    directive: int
    shuffle_id: int
    bytes: int
    locator: _common_pb2.Locator
    def __init__(self, directive: _Optional[int] = ..., shuffle_id: _Optional[int] = ..., bytes: _Optional[int] = ..., locator: _Optional[_Union[_common_pb2.Locator, _Mapping]] = ...) -> None: ...

class DeleteRequested(_message.Message):
    __slots__ = ("directive", "shuffle_id", "locator")
    DIRECTIVE_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    LOCATOR_FIELD_NUMBER: _ClassVar[int]
    directive: int
    shuffle_id: int
    locator: _common_pb2.Locator
    def __init__(self, directive: _Optional[int] = ..., shuffle_id: _Optional[int] = ..., locator: _Optional[_Union[_common_pb2.Locator, _Mapping]] = ...) -> None: ...

class DirectiveFailed(_message.Message):
    __slots__ = ("directive", "shuffle_id", "error", "due_ms")
    DIRECTIVE_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    DUE_MS_FIELD_NUMBER: _ClassVar[int]
    directive: int
    shuffle_id: int
    error: str
    due_ms: int
    def __init__(self, directive: _Optional[int] = ..., shuffle_id: _Optional[int] = ..., error: _Optional[str] = ..., due_ms: _Optional[int] = ...) -> None: ...

class InvalidateRequested(_message.Message):
    __slots__ = ("directive", "shuffle_id", "app_shuffle", "locator")
    DIRECTIVE_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    LOCATOR_FIELD_NUMBER: _ClassVar[int]
    directive: int
    shuffle_id: int
    app_shuffle: int
    locator: _common_pb2.Locator
    def __init__(self, directive: _Optional[int] = ..., shuffle_id: _Optional[int] = ..., app_shuffle: _Optional[int] = ..., locator: _Optional[_Union[_common_pb2.Locator, _Mapping]] = ...) -> None: ...

class DataInvalidated(_message.Message):
    __slots__ = ("directive", "shuffle_id", "bytes")
    DIRECTIVE_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    directive: int
    shuffle_id: int
    bytes: int
    def __init__(self, directive: _Optional[int] = ..., shuffle_id: _Optional[int] = ..., bytes: _Optional[int] = ...) -> None: ...

class GenerationDeleted(_message.Message):
    __slots__ = ("shuffle_id", "cause", "bytes", "directive", "superseded")
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    DIRECTIVE_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    shuffle_id: int
    cause: _common_pb2.Deletion
    bytes: int
    directive: int
    superseded: bool
    def __init__(self, shuffle_id: _Optional[int] = ..., cause: _Optional[_Union[_common_pb2.Deletion, str]] = ..., bytes: _Optional[int] = ..., directive: _Optional[int] = ..., superseded: bool = ...) -> None: ...

class PrematureDeletion(_message.Message):
    __slots__ = ("shuffle_id", "stage", "detail", "after_loss")
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    AFTER_LOSS_FIELD_NUMBER: _ClassVar[int]
    shuffle_id: int
    stage: _common_pb2.StageAttempt
    detail: str
    after_loss: bool
    def __init__(self, shuffle_id: _Optional[int] = ..., stage: _Optional[_Union[_common_pb2.StageAttempt, _Mapping]] = ..., detail: _Optional[str] = ..., after_loss: bool = ...) -> None: ...

class RecoveryOpened(_message.Message):
    __slots__ = ("recovery", "missing", "stage", "gone", "rescued", "awaited", "mixing", "lineage_known")
    RECOVERY_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    GONE_FIELD_NUMBER: _ClassVar[int]
    RESCUED_FIELD_NUMBER: _ClassVar[int]
    AWAITED_FIELD_NUMBER: _ClassVar[int]
    MIXING_FIELD_NUMBER: _ClassVar[int]
    LINEAGE_KNOWN_FIELD_NUMBER: _ClassVar[int]
    recovery: int
    missing: int
    stage: _common_pb2.StageAttempt
    gone: _containers.RepeatedScalarFieldContainer[int]
    rescued: _containers.RepeatedScalarFieldContainer[int]
    awaited: _containers.RepeatedScalarFieldContainer[int]
    mixing: _containers.RepeatedScalarFieldContainer[int]
    lineage_known: bool
    def __init__(self, recovery: _Optional[int] = ..., missing: _Optional[int] = ..., stage: _Optional[_Union[_common_pb2.StageAttempt, _Mapping]] = ..., gone: _Optional[_Iterable[int]] = ..., rescued: _Optional[_Iterable[int]] = ..., awaited: _Optional[_Iterable[int]] = ..., mixing: _Optional[_Iterable[int]] = ..., lineage_known: bool = ...) -> None: ...

class RecoveryWidened(_message.Message):
    __slots__ = ("recovery", "gone")
    RECOVERY_FIELD_NUMBER: _ClassVar[int]
    GONE_FIELD_NUMBER: _ClassVar[int]
    recovery: int
    gone: int
    def __init__(self, recovery: _Optional[int] = ..., gone: _Optional[int] = ...) -> None: ...

class RecoveryJoined(_message.Message):
    __slots__ = ("recovery", "missing", "stage")
    RECOVERY_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    recovery: int
    missing: int
    stage: _common_pb2.StageAttempt
    def __init__(self, recovery: _Optional[int] = ..., missing: _Optional[int] = ..., stage: _Optional[_Union[_common_pb2.StageAttempt, _Mapping]] = ...) -> None: ...

class RecoveryClosed(_message.Message):
    __slots__ = ("recovery",)
    RECOVERY_FIELD_NUMBER: _ClassVar[int]
    recovery: int
    def __init__(self, recovery: _Optional[int] = ...) -> None: ...

class RecoveryDenied(_message.Message):
    __slots__ = ("missing", "count", "limit", "stage")
    MISSING_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    missing: int
    count: int
    limit: int
    stage: _common_pb2.StageAttempt
    def __init__(self, missing: _Optional[int] = ..., count: _Optional[int] = ..., limit: _Optional[int] = ..., stage: _Optional[_Union[_common_pb2.StageAttempt, _Mapping]] = ...) -> None: ...

class GenerationsMixed(_message.Message):
    __slots__ = ("app_shuffle", "job", "stage", "delivered", "partitions", "late", "failed")
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    DELIVERED_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    app_shuffle: int
    job: int
    stage: int
    delivered: int
    partitions: int
    late: bool
    failed: bool
    def __init__(self, app_shuffle: _Optional[int] = ..., job: _Optional[int] = ..., stage: _Optional[int] = ..., delivered: _Optional[int] = ..., partitions: _Optional[int] = ..., late: bool = ..., failed: bool = ...) -> None: ...

class ResultsMayDiffer(_message.Message):
    __slots__ = ("app_shuffle",)
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    app_shuffle: int
    def __init__(self, app_shuffle: _Optional[int] = ...) -> None: ...
