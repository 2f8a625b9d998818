from shuffle_lifecycle.v1 import common_pb2 as _common_pb2
from shuffle_lifecycle.v1 import errors_pb2 as _errors_pb2
from shuffle_lifecycle.v1 import events_pb2 as _events_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SessionRequest(_message.Message):
    __slots__ = ("hello", "batch", "heartbeat")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    batch: Batch
    heartbeat: Heartbeat
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., batch: _Optional[_Union[Batch, _Mapping]] = ..., heartbeat: _Optional[_Union[Heartbeat, _Mapping]] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("application", "token", "client", "confirmed", "register", "agent", "proof", "registration_token")
    APPLICATION_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    REGISTER_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    REGISTRATION_TOKEN_FIELD_NUMBER: _ClassVar[int]
    application: str
    token: str
    client: str
    confirmed: int
    register: RegisterApplication
    agent: str
    proof: str
    registration_token: str
    def __init__(self, application: _Optional[str] = ..., token: _Optional[str] = ..., client: _Optional[str] = ..., confirmed: _Optional[int] = ..., register: _Optional[_Union[RegisterApplication, _Mapping]] = ..., agent: _Optional[str] = ..., proof: _Optional[str] = ..., registration_token: _Optional[str] = ...) -> None: ...

class Batch(_message.Message):
    __slots__ = ("requests", "confirmed")
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    requests: _containers.RepeatedCompositeFieldContainer[NumberedRequest]
    confirmed: int
    def __init__(self, requests: _Optional[_Iterable[_Union[NumberedRequest, _Mapping]]] = ..., confirmed: _Optional[int] = ...) -> None: ...

class NumberedRequest(_message.Message):
    __slots__ = ("number", "get_shuffle_id", "report_stage_submitted", "report_stage_completed", "report_job_started", "report_job_ended", "report_missing", "report_outcome", "register_application", "end_application", "register_client", "drop_client", "set_policy", "set_pin", "remove_pin", "resume_deletion", "tick", "report_outputs", "report_executor_lost", "report_execution_started", "report_execution_ended", "report_shuffle_cleaned", "report_gap", "resync", "begin_look", "report_cut", "report_generations_mixed", "report_results_may_differ", "report_kept", "report_disk", "report_cached_blocks_lost", "report_lineage")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    GET_SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    REPORT_STAGE_SUBMITTED_FIELD_NUMBER: _ClassVar[int]
    REPORT_STAGE_COMPLETED_FIELD_NUMBER: _ClassVar[int]
    REPORT_JOB_STARTED_FIELD_NUMBER: _ClassVar[int]
    REPORT_JOB_ENDED_FIELD_NUMBER: _ClassVar[int]
    REPORT_MISSING_FIELD_NUMBER: _ClassVar[int]
    REPORT_OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REGISTER_APPLICATION_FIELD_NUMBER: _ClassVar[int]
    END_APPLICATION_FIELD_NUMBER: _ClassVar[int]
    REGISTER_CLIENT_FIELD_NUMBER: _ClassVar[int]
    DROP_CLIENT_FIELD_NUMBER: _ClassVar[int]
    SET_POLICY_FIELD_NUMBER: _ClassVar[int]
    SET_PIN_FIELD_NUMBER: _ClassVar[int]
    REMOVE_PIN_FIELD_NUMBER: _ClassVar[int]
    RESUME_DELETION_FIELD_NUMBER: _ClassVar[int]
    TICK_FIELD_NUMBER: _ClassVar[int]
    REPORT_OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    REPORT_EXECUTOR_LOST_FIELD_NUMBER: _ClassVar[int]
    REPORT_EXECUTION_STARTED_FIELD_NUMBER: _ClassVar[int]
    REPORT_EXECUTION_ENDED_FIELD_NUMBER: _ClassVar[int]
    REPORT_SHUFFLE_CLEANED_FIELD_NUMBER: _ClassVar[int]
    REPORT_GAP_FIELD_NUMBER: _ClassVar[int]
    RESYNC_FIELD_NUMBER: _ClassVar[int]
    BEGIN_LOOK_FIELD_NUMBER: _ClassVar[int]
    REPORT_CUT_FIELD_NUMBER: _ClassVar[int]
    REPORT_GENERATIONS_MIXED_FIELD_NUMBER: _ClassVar[int]
    REPORT_RESULTS_MAY_DIFFER_FIELD_NUMBER: _ClassVar[int]
    REPORT_KEPT_FIELD_NUMBER: _ClassVar[int]
    REPORT_DISK_FIELD_NUMBER: _ClassVar[int]
    REPORT_CACHED_BLOCKS_LOST_FIELD_NUMBER: _ClassVar[int]
    REPORT_LINEAGE_FIELD_NUMBER: _ClassVar[int]
    number: int
    get_shuffle_id: GetShuffleId
    report_stage_submitted: ReportStageSubmitted
    report_stage_completed: ReportStageCompleted
    report_job_started: ReportJobStarted
    report_job_ended: ReportJobEnded
    report_missing: ReportMissing
    report_outcome: ReportOutcome
    register_application: RegisterApplication
    end_application: EndApplication
    register_client: RegisterClient
    drop_client: DropClient
    set_policy: SetPolicy
    set_pin: SetPin
    remove_pin: RemovePin
    resume_deletion: ResumeDeletion
    tick: Tick
    report_outputs: ReportOutputs
    report_executor_lost: ReportExecutorLost
    report_execution_started: ReportExecutionStarted
    report_execution_ended: ReportExecutionEnded
    report_shuffle_cleaned: ReportShuffleCleaned
    report_gap: ReportGap
    resync: Resync
    begin_look: BeginLook
    report_cut: ReportCut
    report_generations_mixed: ReportGenerationsMixed
    report_results_may_differ: ReportResultsMayDiffer
    report_kept: ReportKept
    report_disk: ReportDisk
    report_cached_blocks_lost: ReportCachedBlocksLost
    report_lineage: ReportLineage
    def __init__(self, number: _Optional[int] = ..., get_shuffle_id: _Optional[_Union[GetShuffleId, _Mapping]] = ..., report_stage_submitted: _Optional[_Union[ReportStageSubmitted, _Mapping]] = ..., report_stage_completed: _Optional[_Union[ReportStageCompleted, _Mapping]] = ..., report_job_started: _Optional[_Union[ReportJobStarted, _Mapping]] = ..., report_job_ended: _Optional[_Union[ReportJobEnded, _Mapping]] = ..., report_missing: _Optional[_Union[ReportMissing, _Mapping]] = ..., report_outcome: _Optional[_Union[ReportOutcome, _Mapping]] = ..., register_application: _Optional[_Union[RegisterApplication, _Mapping]] = ..., end_application: _Optional[_Union[EndApplication, _Mapping]] = ..., register_client: _Optional[_Union[RegisterClient, _Mapping]] = ..., drop_client: _Optional[_Union[DropClient, _Mapping]] = ..., set_policy: _Optional[_Union[SetPolicy, _Mapping]] = ..., set_pin: _Optional[_Union[SetPin, _Mapping]] = ..., remove_pin: _Optional[_Union[RemovePin, _Mapping]] = ..., resume_deletion: _Optional[_Union[ResumeDeletion, _Mapping]] = ..., tick: _Optional[_Union[Tick, _Mapping]] = ..., report_outputs: _Optional[_Union[ReportOutputs, _Mapping]] = ..., report_executor_lost: _Optional[_Union[ReportExecutorLost, _Mapping]] = ..., report_execution_started: _Optional[_Union[ReportExecutionStarted, _Mapping]] = ..., report_execution_ended: _Optional[_Union[ReportExecutionEnded, _Mapping]] = ..., report_shuffle_cleaned: _Optional[_Union[ReportShuffleCleaned, _Mapping]] = ..., report_gap: _Optional[_Union[ReportGap, _Mapping]] = ..., resync: _Optional[_Union[Resync, _Mapping]] = ..., begin_look: _Optional[_Union[BeginLook, _Mapping]] = ..., report_cut: _Optional[_Union[ReportCut, _Mapping]] = ..., report_generations_mixed: _Optional[_Union[ReportGenerationsMixed, _Mapping]] = ..., report_results_may_differ: _Optional[_Union[ReportResultsMayDiffer, _Mapping]] = ..., report_kept: _Optional[_Union[ReportKept, _Mapping]] = ..., report_disk: _Optional[_Union[ReportDisk, _Mapping]] = ..., report_cached_blocks_lost: _Optional[_Union[ReportCachedBlocksLost, _Mapping]] = ..., report_lineage: _Optional[_Union[ReportLineage, _Mapping]] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SessionReply(_message.Message):
    __slots__ = ("welcome", "answers", "directives", "go_away", "notice")
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    DIRECTIVES_FIELD_NUMBER: _ClassVar[int]
    GO_AWAY_FIELD_NUMBER: _ClassVar[int]
    NOTICE_FIELD_NUMBER: _ClassVar[int]
    welcome: Welcome
    answers: Answers
    directives: Directives
    go_away: GoAway
    notice: Notice
    def __init__(self, welcome: _Optional[_Union[Welcome, _Mapping]] = ..., answers: _Optional[_Union[Answers, _Mapping]] = ..., directives: _Optional[_Union[Directives, _Mapping]] = ..., go_away: _Optional[_Union[GoAway, _Mapping]] = ..., notice: _Optional[_Union[Notice, _Mapping]] = ...) -> None: ...

class Welcome(_message.Message):
    __slots__ = ("replica", "answered", "outstanding", "limits", "elsewhere", "token")
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    OUTSTANDING_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    ELSEWHERE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    replica: str
    answered: int
    outstanding: int
    limits: Limits
    elsewhere: _containers.RepeatedScalarFieldContainer[str]
    token: str
    def __init__(self, replica: _Optional[str] = ..., answered: _Optional[int] = ..., outstanding: _Optional[int] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., elsewhere: _Optional[_Iterable[str]] = ..., token: _Optional[str] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ("max_batch", "max_unconfirmed", "max_message_bytes", "heartbeat_ms", "lineage_ahead")
    MAX_BATCH_FIELD_NUMBER: _ClassVar[int]
    MAX_UNCONFIRMED_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_MS_FIELD_NUMBER: _ClassVar[int]
    LINEAGE_AHEAD_FIELD_NUMBER: _ClassVar[int]
    max_batch: int
    max_unconfirmed: int
    max_message_bytes: int
    heartbeat_ms: int
    lineage_ahead: bool
    def __init__(self, max_batch: _Optional[int] = ..., max_unconfirmed: _Optional[int] = ..., max_message_bytes: _Optional[int] = ..., heartbeat_ms: _Optional[int] = ..., lineage_ahead: bool = ...) -> None: ...

class Answers(_message.Message):
    __slots__ = ("answers",)
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    answers: _containers.RepeatedCompositeFieldContainer[NumberedAnswer]
    def __init__(self, answers: _Optional[_Iterable[_Union[NumberedAnswer, _Mapping]]] = ...) -> None: ...

class NumberedAnswer(_message.Message):
    __slots__ = ("number", "last", "accepted", "ready", "not_ready", "recover", "already_confirmed", "rejection")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    NOT_READY_FIELD_NUMBER: _ClassVar[int]
    RECOVER_FIELD_NUMBER: _ClassVar[int]
    ALREADY_CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    REJECTION_FIELD_NUMBER: _ClassVar[int]
    number: int
    last: int
    accepted: Accepted
    ready: Ready
    not_ready: NotReady
    recover: Recover
    already_confirmed: AlreadyConfirmed
    rejection: _errors_pb2.Rejection
    def __init__(self, number: _Optional[int] = ..., last: _Optional[int] = ..., accepted: _Optional[_Union[Accepted, _Mapping]] = ..., ready: _Optional[_Union[Ready, _Mapping]] = ..., not_ready: _Optional[_Union[NotReady, _Mapping]] = ..., recover: _Optional[_Union[Recover, _Mapping]] = ..., already_confirmed: _Optional[_Union[AlreadyConfirmed, _Mapping]] = ..., rejection: _Optional[_Union[_errors_pb2.Rejection, _Mapping]] = ...) -> None: ...

class Directives(_message.Message):
    __slots__ = ("directives",)
    DIRECTIVES_FIELD_NUMBER: _ClassVar[int]
    directives: _containers.RepeatedCompositeFieldContainer[Directive]
    def __init__(self, directives: _Optional[_Iterable[_Union[Directive, _Mapping]]] = ...) -> None: ...

class Directive(_message.Message):
    __slots__ = ("directive", "kind", "shuffle_id", "app_shuffle", "locator", "delete_follows", "newest_shuffle_id")
    DIRECTIVE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    LOCATOR_FIELD_NUMBER: _ClassVar[int]
    DELETE_FOLLOWS_FIELD_NUMBER: _ClassVar[int]
    NEWEST_SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    directive: int
    kind: _common_pb2.DirectiveKind
    shuffle_id: int
    app_shuffle: int
    locator: _common_pb2.Locator
    delete_follows: bool
    newest_shuffle_id: int
    def __init__(self, directive: _Optional[int] = ..., kind: _Optional[_Union[_common_pb2.DirectiveKind, str]] = ..., shuffle_id: _Optional[int] = ..., app_shuffle: _Optional[int] = ..., locator: _Optional[_Union[_common_pb2.Locator, _Mapping]] = ..., delete_follows: bool = ..., newest_shuffle_id: _Optional[int] = ...) -> None: ...

class GoAway(_message.Message):
    __slots__ = ("why", "elsewhere")
    WHY_FIELD_NUMBER: _ClassVar[int]
    ELSEWHERE_FIELD_NUMBER: _ClassVar[int]
    why: str
    elsewhere: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, why: _Optional[str] = ..., elsewhere: _Optional[_Iterable[str]] = ...) -> None: ...

class Notice(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: str
    def __init__(self, text: _Optional[str] = ...) -> None: ...

class Accepted(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Ready(_message.Message):
    __slots__ = ("shuffle_id", "locator")
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    LOCATOR_FIELD_NUMBER: _ClassVar[int]
    shuffle_id: int
    locator: _common_pb2.Locator
    def __init__(self, shuffle_id: _Optional[int] = ..., locator: _Optional[_Union[_common_pb2.Locator, _Mapping]] = ...) -> None: ...

class NotReady(_message.Message):
    __slots__ = ("shuffle_id", "why", "ask_again_ms")
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    ASK_AGAIN_MS_FIELD_NUMBER: _ClassVar[int]
    shuffle_id: int
    why: str
    ask_again_ms: int
    def __init__(self, shuffle_id: _Optional[int] = ..., why: _Optional[str] = ..., ask_again_ms: _Optional[int] = ...) -> None: ...

class Recover(_message.Message):
    __slots__ = ("recovery", "missing", "recompute", "lineage_known")
    RECOVERY_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    RECOMPUTE_FIELD_NUMBER: _ClassVar[int]
    LINEAGE_KNOWN_FIELD_NUMBER: _ClassVar[int]
    recovery: int
    missing: int
    recompute: _containers.RepeatedScalarFieldContainer[int]
    lineage_known: bool
    def __init__(self, recovery: _Optional[int] = ..., missing: _Optional[int] = ..., recompute: _Optional[_Iterable[int]] = ..., lineage_known: bool = ...) -> None: ...

class AlreadyConfirmed(_message.Message):
    __slots__ = ("number", "confirmed")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    number: int
    confirmed: int
    def __init__(self, number: _Optional[int] = ..., confirmed: _Optional[int] = ...) -> None: ...

class RegisterApplication(_message.Message):
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

class EndApplication(_message.Message):
    __slots__ = ("ending",)
    ENDING_FIELD_NUMBER: _ClassVar[int]
    ending: _common_pb2.Ending
    def __init__(self, ending: _Optional[_Union[_common_pb2.Ending, str]] = ...) -> None: ...

class RegisterClient(_message.Message):
    __slots__ = ("client",)
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    client: str
    def __init__(self, client: _Optional[str] = ...) -> None: ...

class DropClient(_message.Message):
    __slots__ = ("client",)
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    client: str
    def __init__(self, client: _Optional[str] = ...) -> None: ...

class GetShuffleId(_message.Message):
    __slots__ = ("app_shuffle", "stage", "write")
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    WRITE_FIELD_NUMBER: _ClassVar[int]
    app_shuffle: int
    stage: _common_pb2.StageAttempt
    write: bool
    def __init__(self, app_shuffle: _Optional[int] = ..., stage: _Optional[_Union[_common_pb2.StageAttempt, _Mapping]] = ..., write: bool = ...) -> None: ...

class ReportMissing(_message.Message):
    __slots__ = ("app_shuffle", "shuffle_id", "stage", "detail")
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    app_shuffle: int
    shuffle_id: int
    stage: _common_pb2.StageAttempt
    detail: str
    def __init__(self, app_shuffle: _Optional[int] = ..., shuffle_id: _Optional[int] = ..., stage: _Optional[_Union[_common_pb2.StageAttempt, _Mapping]] = ..., detail: _Optional[str] = ...) -> None: ...

class SetPolicy(_message.Message):
    __slots__ = ("policy", "group", "by")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    policy: _common_pb2.Policy
    group: str
    by: str
    def __init__(self, policy: _Optional[_Union[_common_pb2.Policy, _Mapping]] = ..., group: _Optional[str] = ..., by: _Optional[str] = ...) -> None: ...

class SetPin(_message.Message):
    __slots__ = ("app_shuffle", "why")
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    app_shuffle: int
    why: str
    def __init__(self, app_shuffle: _Optional[int] = ..., why: _Optional[str] = ...) -> None: ...

class RemovePin(_message.Message):
    __slots__ = ("app_shuffle",)
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    app_shuffle: int
    def __init__(self, app_shuffle: _Optional[int] = ...) -> None: ...

class ResumeDeletion(_message.Message):
    __slots__ = ("by",)
    BY_FIELD_NUMBER: _ClassVar[int]
    by: str
    def __init__(self, by: _Optional[str] = ...) -> None: ...

class Tick(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReportJobStarted(_message.Message):
    __slots__ = ("job", "final_stage", "reads", "writes", "stages", "lineage", "execution", "group", "policy", "call_site")
    JOB_FIELD_NUMBER: _ClassVar[int]
    FINAL_STAGE_FIELD_NUMBER: _ClassVar[int]
    READS_FIELD_NUMBER: _ClassVar[int]
    WRITES_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    LINEAGE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    CALL_SITE_FIELD_NUMBER: _ClassVar[int]
    job: int
    final_stage: int
    reads: _containers.RepeatedScalarFieldContainer[int]
    writes: int
    stages: _containers.RepeatedCompositeFieldContainer[_common_pb2.Span]
    lineage: _containers.RepeatedCompositeFieldContainer[_common_pb2.Lineage]
    execution: int
    group: str
    policy: _common_pb2.Policy
    call_site: str
    def __init__(self, job: _Optional[int] = ..., final_stage: _Optional[int] = ..., reads: _Optional[_Iterable[int]] = ..., writes: _Optional[int] = ..., stages: _Optional[_Iterable[_Union[_common_pb2.Span, _Mapping]]] = ..., lineage: _Optional[_Iterable[_Union[_common_pb2.Lineage, _Mapping]]] = ..., execution: _Optional[int] = ..., group: _Optional[str] = ..., policy: _Optional[_Union[_common_pb2.Policy, _Mapping]] = ..., call_site: _Optional[str] = ...) -> None: ...

class ReportLineage(_message.Message):
    __slots__ = ("lineage",)
    LINEAGE_FIELD_NUMBER: _ClassVar[int]
    lineage: _containers.RepeatedCompositeFieldContainer[_common_pb2.Lineage]
    def __init__(self, lineage: _Optional[_Iterable[_Union[_common_pb2.Lineage, _Mapping]]] = ...) -> None: ...

class ReportJobEnded(_message.Message):
    __slots__ = ("job", "succeeded", "failure")
    JOB_FIELD_NUMBER: _ClassVar[int]
    SUCCEEDED_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    job: int
    succeeded: bool
    failure: str
    def __init__(self, job: _Optional[int] = ..., succeeded: bool = ..., failure: _Optional[str] = ...) -> None: ...

class ReportStageSubmitted(_message.Message):
    __slots__ = ("stage", "reads", "writes", "tasks", "name", "cached", "behind")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    READS_FIELD_NUMBER: _ClassVar[int]
    WRITES_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CACHED_FIELD_NUMBER: _ClassVar[int]
    BEHIND_FIELD_NUMBER: _ClassVar[int]
    stage: _common_pb2.StageAttempt
    reads: _containers.RepeatedScalarFieldContainer[int]
    writes: int
    tasks: int
    name: str
    cached: bool
    behind: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, stage: _Optional[_Union[_common_pb2.StageAttempt, _Mapping]] = ..., reads: _Optional[_Iterable[int]] = ..., writes: _Optional[int] = ..., tasks: _Optional[int] = ..., name: _Optional[str] = ..., cached: bool = ..., behind: _Optional[_Iterable[int]] = ...) -> None: ...

class ReportStageCompleted(_message.Message):
    __slots__ = ("stage", "failure", "shuffle_bytes_written", "shuffle_bytes_read", "output_bytes", "output_records", "task_ms")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_BYTES_WRITTEN_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_BYTES_READ_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_RECORDS_FIELD_NUMBER: _ClassVar[int]
    TASK_MS_FIELD_NUMBER: _ClassVar[int]
    stage: _common_pb2.StageAttempt
    failure: str
    shuffle_bytes_written: int
    shuffle_bytes_read: int
    output_bytes: int
    output_records: int
    task_ms: int
    def __init__(self, stage: _Optional[_Union[_common_pb2.StageAttempt, _Mapping]] = ..., failure: _Optional[str] = ..., shuffle_bytes_written: _Optional[int] = ..., shuffle_bytes_read: _Optional[int] = ..., output_bytes: _Optional[int] = ..., output_records: _Optional[int] = ..., task_ms: _Optional[int] = ...) -> None: ...

class ReportOutputs(_message.Message):
    __slots__ = ("outputs",)
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    outputs: _containers.RepeatedCompositeFieldContainer[_common_pb2.Outputs]
    def __init__(self, outputs: _Optional[_Iterable[_Union[_common_pb2.Outputs, _Mapping]]] = ...) -> None: ...

class ReportDisk(_message.Message):
    __slots__ = ("disk", "used_bytes", "free_bytes")
    DISK_FIELD_NUMBER: _ClassVar[int]
    USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    FREE_BYTES_FIELD_NUMBER: _ClassVar[int]
    disk: str
    used_bytes: int
    free_bytes: int
    def __init__(self, disk: _Optional[str] = ..., used_bytes: _Optional[int] = ..., free_bytes: _Optional[int] = ...) -> None: ...

class ReportExecutorLost(_message.Message):
    __slots__ = ("executor", "reason")
    EXECUTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    executor: str
    reason: str
    def __init__(self, executor: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class ReportCachedBlocksLost(_message.Message):
    __slots__ = ("executor", "app_shuffles")
    EXECUTOR_FIELD_NUMBER: _ClassVar[int]
    APP_SHUFFLES_FIELD_NUMBER: _ClassVar[int]
    executor: str
    app_shuffles: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, executor: _Optional[str] = ..., app_shuffles: _Optional[_Iterable[int]] = ...) -> None: ...

class ReportGenerationsMixed(_message.Message):
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

class ReportResultsMayDiffer(_message.Message):
    __slots__ = ("app_shuffle",)
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    app_shuffle: int
    def __init__(self, app_shuffle: _Optional[int] = ...) -> None: ...

class ReportKept(_message.Message):
    __slots__ = ("app_shuffle", "why")
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    app_shuffle: int
    why: str
    def __init__(self, app_shuffle: _Optional[int] = ..., why: _Optional[str] = ...) -> None: ...

class ReportExecutionStarted(_message.Message):
    __slots__ = ("execution", "name", "writes_output")
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    WRITES_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    execution: int
    name: str
    writes_output: bool
    def __init__(self, execution: _Optional[int] = ..., name: _Optional[str] = ..., writes_output: bool = ...) -> None: ...

class ReportExecutionEnded(_message.Message):
    __slots__ = ("execution", "failed")
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    execution: int
    failed: bool
    def __init__(self, execution: _Optional[int] = ..., failed: bool = ...) -> None: ...

class ReportShuffleCleaned(_message.Message):
    __slots__ = ("app_shuffle",)
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    app_shuffle: int
    def __init__(self, app_shuffle: _Optional[int] = ...) -> None: ...

class ReportGap(_message.Message):
    __slots__ = ("dropped", "where")
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    dropped: int
    where: str
    def __init__(self, dropped: _Optional[int] = ..., where: _Optional[str] = ...) -> None: ...

class Resync(_message.Message):
    __slots__ = ("jobs", "stages", "executions", "outputs")
    JOBS_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    EXECUTIONS_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[ReportJobStarted]
    stages: _containers.RepeatedCompositeFieldContainer[ReportStageSubmitted]
    executions: _containers.RepeatedCompositeFieldContainer[ReportExecutionStarted]
    outputs: _containers.RepeatedCompositeFieldContainer[_common_pb2.Outputs]
    def __init__(self, jobs: _Optional[_Iterable[_Union[ReportJobStarted, _Mapping]]] = ..., stages: _Optional[_Iterable[_Union[ReportStageSubmitted, _Mapping]]] = ..., executions: _Optional[_Iterable[_Union[ReportExecutionStarted, _Mapping]]] = ..., outputs: _Optional[_Iterable[_Union[_common_pb2.Outputs, _Mapping]]] = ...) -> None: ...

class BeginLook(_message.Message):
    __slots__ = ("look",)
    LOOK_FIELD_NUMBER: _ClassVar[int]
    look: int
    def __init__(self, look: _Optional[int] = ...) -> None: ...

class ReportedRoot(_message.Message):
    __slots__ = ("root", "kind", "needs", "why")
    ROOT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    root: str
    kind: _common_pb2.RootKind
    needs: _containers.RepeatedScalarFieldContainer[int]
    why: str
    def __init__(self, root: _Optional[str] = ..., kind: _Optional[_Union[_common_pb2.RootKind, str]] = ..., needs: _Optional[_Iterable[int]] = ..., why: _Optional[str] = ...) -> None: ...

class ReportCut(_message.Message):
    __slots__ = ("look", "roots", "gone")
    LOOK_FIELD_NUMBER: _ClassVar[int]
    ROOTS_FIELD_NUMBER: _ClassVar[int]
    GONE_FIELD_NUMBER: _ClassVar[int]
    look: int
    roots: _containers.RepeatedCompositeFieldContainer[ReportedRoot]
    gone: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, look: _Optional[int] = ..., roots: _Optional[_Iterable[_Union[ReportedRoot, _Mapping]]] = ..., gone: _Optional[_Iterable[str]] = ...) -> None: ...

class Fenced(_message.Message):
    __slots__ = ("bytes", "locator")
    BYTES_FIELD_NUMBER: _ClassVar[int]
    LOCATOR_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    locator: _common_pb2.Locator
    def __init__(self, bytes: _Optional[int] = ..., locator: _Optional[_Union[_common_pb2.Locator, _Mapping]] = ...) -> None: ...

class Busy(_message.Message):
    __slots__ = ("who",)
    WHO_FIELD_NUMBER: _ClassVar[int]
    who: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, who: _Optional[_Iterable[str]] = ...) -> None: ...

class Cannot(_message.Message):
    __slots__ = ("why",)
    WHY_FIELD_NUMBER: _ClassVar[int]
    why: str
    def __init__(self, why: _Optional[str] = ...) -> None: ...

class Revoked(_message.Message):
    __slots__ = ("why",)
    WHY_FIELD_NUMBER: _ClassVar[int]
    why: str
    def __init__(self, why: _Optional[str] = ...) -> None: ...

class Freed(_message.Message):
    __slots__ = ("bytes",)
    BYTES_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    def __init__(self, bytes: _Optional[int] = ...) -> None: ...

class Superseded(_message.Message):
    __slots__ = ("by",)
    BY_FIELD_NUMBER: _ClassVar[int]
    by: str
    def __init__(self, by: _Optional[str] = ...) -> None: ...

class Failed(_message.Message):
    __slots__ = ("error",)
    ERROR_FIELD_NUMBER: _ClassVar[int]
    error: str
    def __init__(self, error: _Optional[str] = ...) -> None: ...

class ReportOutcome(_message.Message):
    __slots__ = ("directive", "fenced", "busy", "cannot", "revoked", "freed", "superseded", "failed")
    DIRECTIVE_FIELD_NUMBER: _ClassVar[int]
    FENCED_FIELD_NUMBER: _ClassVar[int]
    BUSY_FIELD_NUMBER: _ClassVar[int]
    CANNOT_FIELD_NUMBER: _ClassVar[int]
    REVOKED_FIELD_NUMBER: _ClassVar[int]
    FREED_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    directive: int
    fenced: Fenced
    busy: Busy
    cannot: Cannot
    revoked: Revoked
    freed: Freed
    superseded: Superseded
    failed: Failed
    def __init__(self, directive: _Optional[int] = ..., fenced: _Optional[_Union[Fenced, _Mapping]] = ..., busy: _Optional[_Union[Busy, _Mapping]] = ..., cannot: _Optional[_Union[Cannot, _Mapping]] = ..., revoked: _Optional[_Union[Revoked, _Mapping]] = ..., freed: _Optional[_Union[Freed, _Mapping]] = ..., superseded: _Optional[_Union[Superseded, _Mapping]] = ..., failed: _Optional[_Union[Failed, _Mapping]] = ...) -> None: ...

class Caller(_message.Message):
    __slots__ = ("application", "token", "client", "number", "confirmed")
    APPLICATION_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    application: str
    token: str
    client: str
    number: int
    confirmed: int
    def __init__(self, application: _Optional[str] = ..., token: _Optional[str] = ..., client: _Optional[str] = ..., number: _Optional[int] = ..., confirmed: _Optional[int] = ...) -> None: ...

class RegisterApplicationCall(_message.Message):
    __slots__ = ("caller", "command", "proof", "registration_token")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    REGISTRATION_TOKEN_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    command: RegisterApplication
    proof: str
    registration_token: str
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., command: _Optional[_Union[RegisterApplication, _Mapping]] = ..., proof: _Optional[str] = ..., registration_token: _Optional[str] = ...) -> None: ...

class EndApplicationCall(_message.Message):
    __slots__ = ("caller", "command")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    command: EndApplication
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., command: _Optional[_Union[EndApplication, _Mapping]] = ...) -> None: ...

class GetShuffleIdCall(_message.Message):
    __slots__ = ("caller", "command")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    command: GetShuffleId
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., command: _Optional[_Union[GetShuffleId, _Mapping]] = ...) -> None: ...

class ReportMissingShuffleCall(_message.Message):
    __slots__ = ("caller", "command")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    command: ReportMissing
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., command: _Optional[_Union[ReportMissing, _Mapping]] = ...) -> None: ...

class ReportJobStartedCall(_message.Message):
    __slots__ = ("caller", "command")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    command: ReportJobStarted
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., command: _Optional[_Union[ReportJobStarted, _Mapping]] = ...) -> None: ...

class ReportJobEndedCall(_message.Message):
    __slots__ = ("caller", "command")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    command: ReportJobEnded
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., command: _Optional[_Union[ReportJobEnded, _Mapping]] = ...) -> None: ...

class ReportStageSubmittedCall(_message.Message):
    __slots__ = ("caller", "command")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    command: ReportStageSubmitted
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., command: _Optional[_Union[ReportStageSubmitted, _Mapping]] = ...) -> None: ...

class ReportStageCompletedCall(_message.Message):
    __slots__ = ("caller", "command")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    command: ReportStageCompleted
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., command: _Optional[_Union[ReportStageCompleted, _Mapping]] = ...) -> None: ...

class SetPolicyCall(_message.Message):
    __slots__ = ("caller", "command")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    command: SetPolicy
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., command: _Optional[_Union[SetPolicy, _Mapping]] = ...) -> None: ...

class SetPinCall(_message.Message):
    __slots__ = ("caller", "command")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    command: SetPin
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., command: _Optional[_Union[SetPin, _Mapping]] = ...) -> None: ...

class RemovePinCall(_message.Message):
    __slots__ = ("caller", "command")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    command: RemovePin
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., command: _Optional[_Union[RemovePin, _Mapping]] = ...) -> None: ...

class ResumeDeletionCall(_message.Message):
    __slots__ = ("caller", "command")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    command: ResumeDeletion
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., command: _Optional[_Union[ResumeDeletion, _Mapping]] = ...) -> None: ...

class SubmitCall(_message.Message):
    __slots__ = ("caller", "requests")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    requests: _containers.RepeatedCompositeFieldContainer[NumberedRequest]
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., requests: _Optional[_Iterable[_Union[NumberedRequest, _Mapping]]] = ...) -> None: ...

class SubmitReply(_message.Message):
    __slots__ = ("answers",)
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    answers: _containers.RepeatedCompositeFieldContainer[NumberedAnswer]
    def __init__(self, answers: _Optional[_Iterable[_Union[NumberedAnswer, _Mapping]]] = ...) -> None: ...

class CommandReply(_message.Message):
    __slots__ = ("accepted", "already_confirmed", "token")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    ALREADY_CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    accepted: Accepted
    already_confirmed: AlreadyConfirmed
    token: str
    def __init__(self, accepted: _Optional[_Union[Accepted, _Mapping]] = ..., already_confirmed: _Optional[_Union[AlreadyConfirmed, _Mapping]] = ..., token: _Optional[str] = ...) -> None: ...

class GetShuffleIdReply(_message.Message):
    __slots__ = ("ready", "not_ready", "recover", "already_confirmed")
    READY_FIELD_NUMBER: _ClassVar[int]
    NOT_READY_FIELD_NUMBER: _ClassVar[int]
    RECOVER_FIELD_NUMBER: _ClassVar[int]
    ALREADY_CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    ready: Ready
    not_ready: NotReady
    recover: Recover
    already_confirmed: AlreadyConfirmed
    def __init__(self, ready: _Optional[_Union[Ready, _Mapping]] = ..., not_ready: _Optional[_Union[NotReady, _Mapping]] = ..., recover: _Optional[_Union[Recover, _Mapping]] = ..., already_confirmed: _Optional[_Union[AlreadyConfirmed, _Mapping]] = ...) -> None: ...

class ListApplicationsRequest(_message.Message):
    __slots__ = ("token", "running_only", "page_size", "page_token")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    RUNNING_ONLY_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    token: str
    running_only: bool
    page_size: int
    page_token: str
    def __init__(self, token: _Optional[str] = ..., running_only: bool = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListApplicationsReply(_message.Message):
    __slots__ = ("applications", "next_page_token")
    APPLICATIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    applications: _containers.RepeatedCompositeFieldContainer[Application]
    next_page_token: str
    def __init__(self, applications: _Optional[_Iterable[_Union[Application, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListReplicasRequest(_message.Message):
    __slots__ = ("token",)
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    token: str
    def __init__(self, token: _Optional[str] = ...) -> None: ...

class ListReplicasReply(_message.Message):
    __slots__ = ("replicas",)
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    replicas: _containers.RepeatedCompositeFieldContainer[Replica]
    def __init__(self, replicas: _Optional[_Iterable[_Union[Replica, _Mapping]]] = ...) -> None: ...

class Replica(_message.Message):
    __slots__ = ("replica", "address", "reads_version", "release", "started_ms", "lease", "lease_ms", "sessions", "gone")
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    READS_VERSION_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    GONE_FIELD_NUMBER: _ClassVar[int]
    replica: str
    address: str
    reads_version: int
    release: str
    started_ms: int
    lease: int
    lease_ms: int
    sessions: int
    gone: bool
    def __init__(self, replica: _Optional[str] = ..., address: _Optional[str] = ..., reads_version: _Optional[int] = ..., release: _Optional[str] = ..., started_ms: _Optional[int] = ..., lease: _Optional[int] = ..., lease_ms: _Optional[int] = ..., sessions: _Optional[int] = ..., gone: bool = ...) -> None: ...

class Application(_message.Message):
    __slots__ = ("application", "driver", "capabilities", "policy", "settings", "registered_ms", "ended_ms", "ending", "sequence", "suspended", "lives", "pins", "generations", "heard_ms", "replica")
    APPLICATION_FIELD_NUMBER: _ClassVar[int]
    DRIVER_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    REGISTERED_MS_FIELD_NUMBER: _ClassVar[int]
    ENDED_MS_FIELD_NUMBER: _ClassVar[int]
    ENDING_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SUSPENDED_FIELD_NUMBER: _ClassVar[int]
    LIVES_FIELD_NUMBER: _ClassVar[int]
    PINS_FIELD_NUMBER: _ClassVar[int]
    GENERATIONS_FIELD_NUMBER: _ClassVar[int]
    HEARD_MS_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    application: str
    driver: _common_pb2.Driver
    capabilities: _common_pb2.Capabilities
    policy: _common_pb2.Policy
    settings: _common_pb2.Settings
    registered_ms: int
    ended_ms: int
    ending: _common_pb2.Ending
    sequence: int
    suspended: _common_pb2.Suspension
    lives: _containers.RepeatedCompositeFieldContainer[LifeCount]
    pins: _containers.RepeatedScalarFieldContainer[int]
    generations: int
    heard_ms: int
    replica: str
    def __init__(self, application: _Optional[str] = ..., driver: _Optional[_Union[_common_pb2.Driver, _Mapping]] = ..., capabilities: _Optional[_Union[_common_pb2.Capabilities, _Mapping]] = ..., policy: _Optional[_Union[_common_pb2.Policy, _Mapping]] = ..., settings: _Optional[_Union[_common_pb2.Settings, _Mapping]] = ..., registered_ms: _Optional[int] = ..., ended_ms: _Optional[int] = ..., ending: _Optional[_Union[_common_pb2.Ending, str]] = ..., sequence: _Optional[int] = ..., suspended: _Optional[_Union[_common_pb2.Suspension, str]] = ..., lives: _Optional[_Iterable[_Union[LifeCount, _Mapping]]] = ..., pins: _Optional[_Iterable[int]] = ..., generations: _Optional[int] = ..., heard_ms: _Optional[int] = ..., replica: _Optional[str] = ...) -> None: ...

class LifeCount(_message.Message):
    __slots__ = ("life", "generations", "bytes")
    LIFE_FIELD_NUMBER: _ClassVar[int]
    GENERATIONS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    life: _common_pb2.Life
    generations: int
    bytes: int
    def __init__(self, life: _Optional[_Union[_common_pb2.Life, str]] = ..., generations: _Optional[int] = ..., bytes: _Optional[int] = ...) -> None: ...

class GetApplicationRequest(_message.Message):
    __slots__ = ("caller",)
    CALLER_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ...) -> None: ...

class ListShufflesRequest(_message.Message):
    __slots__ = ("caller", "lives", "page_size", "page_token")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    LIVES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    lives: _containers.RepeatedScalarFieldContainer[_common_pb2.Life]
    page_size: int
    page_token: str
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., lives: _Optional[_Iterable[_Union[_common_pb2.Life, str]]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListShufflesReply(_message.Message):
    __slots__ = ("shuffles", "next_page_token")
    SHUFFLES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    shuffles: _containers.RepeatedCompositeFieldContainer[Shuffle]
    next_page_token: str
    def __init__(self, shuffles: _Optional[_Iterable[_Union[Shuffle, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class Shuffle(_message.Message):
    __slots__ = ("shuffle_id", "app_shuffle", "life", "bytes", "readers", "writers", "expiry", "hold", "due_ms", "deletion", "call_site", "pinned", "loss")
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    LIFE_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    READERS_FIELD_NUMBER: _ClassVar[int]
    WRITERS_FIELD_NUMBER: _ClassVar[int]
    EXPIRY_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    DUE_MS_FIELD_NUMBER: _ClassVar[int]
    DELETION_FIELD_NUMBER: _ClassVar[int]
    CALL_SITE_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    LOSS_FIELD_NUMBER: _ClassVar[int]
    shuffle_id: int
    app_shuffle: int
    life: _common_pb2.Life
    bytes: int
    readers: _containers.RepeatedCompositeFieldContainer[_common_pb2.StageAttempt]
    writers: _containers.RepeatedCompositeFieldContainer[_common_pb2.StageAttempt]
    expiry: _common_pb2.Expiry
    hold: _common_pb2.Hold
    due_ms: int
    deletion: _common_pb2.Deletion
    call_site: str
    pinned: bool
    loss: _common_pb2.Loss
    def __init__(self, shuffle_id: _Optional[int] = ..., app_shuffle: _Optional[int] = ..., life: _Optional[_Union[_common_pb2.Life, str]] = ..., bytes: _Optional[int] = ..., readers: _Optional[_Iterable[_Union[_common_pb2.StageAttempt, _Mapping]]] = ..., writers: _Optional[_Iterable[_Union[_common_pb2.StageAttempt, _Mapping]]] = ..., expiry: _Optional[_Union[_common_pb2.Expiry, str]] = ..., hold: _Optional[_Union[_common_pb2.Hold, str]] = ..., due_ms: _Optional[int] = ..., deletion: _Optional[_Union[_common_pb2.Deletion, str]] = ..., call_site: _Optional[str] = ..., pinned: bool = ..., loss: _Optional[_Union[_common_pb2.Loss, str]] = ...) -> None: ...

class GetShuffleRequest(_message.Message):
    __slots__ = ("caller", "shuffle_id", "app_shuffle")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    shuffle_id: int
    app_shuffle: int
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., shuffle_id: _Optional[int] = ..., app_shuffle: _Optional[int] = ...) -> None: ...

class GetGraphRequest(_message.Message):
    __slots__ = ("caller",)
    CALLER_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ...) -> None: ...

class Graph(_message.Message):
    __slots__ = ("sequence", "lineage", "shuffles", "stages")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    LINEAGE_FIELD_NUMBER: _ClassVar[int]
    SHUFFLES_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    lineage: _containers.RepeatedCompositeFieldContainer[_common_pb2.Lineage]
    shuffles: _containers.RepeatedCompositeFieldContainer[Shuffle]
    stages: _containers.RepeatedCompositeFieldContainer[Stage]
    def __init__(self, sequence: _Optional[int] = ..., lineage: _Optional[_Iterable[_Union[_common_pb2.Lineage, _Mapping]]] = ..., shuffles: _Optional[_Iterable[_Union[Shuffle, _Mapping]]] = ..., stages: _Optional[_Iterable[_Union[Stage, _Mapping]]] = ...) -> None: ...

class Stage(_message.Message):
    __slots__ = ("stage", "reads", "writes", "name")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    READS_FIELD_NUMBER: _ClassVar[int]
    WRITES_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    stage: _common_pb2.StageAttempt
    reads: _containers.RepeatedScalarFieldContainer[int]
    writes: int
    name: str
    def __init__(self, stage: _Optional[_Union[_common_pb2.StageAttempt, _Mapping]] = ..., reads: _Optional[_Iterable[int]] = ..., writes: _Optional[int] = ..., name: _Optional[str] = ...) -> None: ...

class ListDirectivesRequest(_message.Message):
    __slots__ = ("caller",)
    CALLER_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ...) -> None: ...

class ListDirectivesReply(_message.Message):
    __slots__ = ("directives",)
    DIRECTIVES_FIELD_NUMBER: _ClassVar[int]
    directives: _containers.RepeatedCompositeFieldContainer[Directive]
    def __init__(self, directives: _Optional[_Iterable[_Union[Directive, _Mapping]]] = ...) -> None: ...

class ListEventsRequest(_message.Message):
    __slots__ = ("caller", "after", "until", "limit")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    after: int
    until: int
    limit: int
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., after: _Optional[int] = ..., until: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class ListEventsReply(_message.Message):
    __slots__ = ("records", "next_after")
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    NEXT_AFTER_FIELD_NUMBER: _ClassVar[int]
    records: _containers.RepeatedCompositeFieldContainer[_events_pb2.Record]
    next_after: int
    def __init__(self, records: _Optional[_Iterable[_Union[_events_pb2.Record, _Mapping]]] = ..., next_after: _Optional[int] = ...) -> None: ...

class TailEventsRequest(_message.Message):
    __slots__ = ("caller", "after")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    after: int
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., after: _Optional[int] = ...) -> None: ...
