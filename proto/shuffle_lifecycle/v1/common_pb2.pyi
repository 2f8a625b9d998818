from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Life(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LIFE_UNSPECIFIED: _ClassVar[Life]
    LIFE_WRITING: _ClassVar[Life]
    LIFE_READABLE: _ClassVar[Life]
    LIFE_PARTIAL: _ClassVar[Life]
    LIFE_EXPIRED: _ClassVar[Life]
    LIFE_FENCING: _ClassVar[Life]
    LIFE_FENCED: _ClassVar[Life]
    LIFE_DELETED: _ClassVar[Life]
    LIFE_LOST: _ClassVar[Life]

class Level(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LEVEL_UNSPECIFIED: _ClassVar[Level]
    LEVEL_DETERMINATE: _ClassVar[Level]
    LEVEL_UNORDERED: _ClassVar[Level]
    LEVEL_INDETERMINATE: _ClassVar[Level]

class Rule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RULE_UNSPECIFIED: _ClassVar[Rule]
    RULE_REACHABLE: _ClassVar[Rule]
    RULE_FRONTIER: _ClassVar[Rule]
    RULE_EAGER: _ClassVar[Rule]
    RULE_HISTORY: _ClassVar[Rule]
    RULE_PRESSURE: _ClassVar[Rule]

class Hold(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HOLD_UNSPECIFIED: _ClassVar[Hold]
    HOLD_NONE: _ClassVar[Hold]
    HOLD_GRACE: _ClassVar[Hold]
    HOLD_OBSERVE: _ClassVar[Hold]
    HOLD_PIN: _ClassVar[Hold]
    HOLD_SUSPENDED: _ClassVar[Hold]
    HOLD_MISSED: _ClassVar[Hold]
    HOLD_UNABLE: _ClassVar[Hold]
    HOLD_BACKOFF: _ClassVar[Hold]
    HOLD_PRESSURE: _ClassVar[Hold]

class Expiry(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXPIRY_UNSPECIFIED: _ClassVar[Expiry]
    EXPIRY_UNREACHABLE: _ClassVar[Expiry]
    EXPIRY_FRONTIER: _ClassVar[Expiry]
    EXPIRY_EXECUTION_ENDED: _ClassVar[Expiry]
    EXPIRY_READ: _ClassVar[Expiry]
    EXPIRY_ABANDONED: _ClassVar[Expiry]
    EXPIRY_LEARNED: _ClassVar[Expiry]
    EXPIRY_PRESSED: _ClassVar[Expiry]

class Rescue(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESCUE_UNSPECIFIED: _ClassVar[Rescue]
    RESCUE_READER: _ClassVar[Rescue]
    RESCUE_WRITER: _ClassVar[Rescue]
    RESCUE_JOB: _ClassVar[Rescue]
    RESCUE_ROOT: _ClassVar[Rescue]
    RESCUE_RECOVERY: _ClassVar[Rescue]
    RESCUE_GAP: _ClassVar[Rescue]
    RESCUE_ROOM: _ClassVar[Rescue]
    RESCUE_POLICY: _ClassVar[Rescue]

class Refusal(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REFUSAL_UNSPECIFIED: _ClassVar[Refusal]
    REFUSAL_BUSY: _ClassVar[Refusal]
    REFUSAL_CANNOT: _ClassVar[Refusal]
    REFUSAL_REVOKED: _ClassVar[Refusal]

class Loss(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOSS_UNSPECIFIED: _ClassVar[Loss]
    LOSS_OUTPUTS: _ClassVar[Loss]
    LOSS_REPORTED: _ClassVar[Loss]
    LOSS_INVALIDATED: _ClassVar[Loss]

class Deletion(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DELETION_UNSPECIFIED: _ClassVar[Deletion]
    DELETION_POLICY: _ClassVar[Deletion]
    DELETION_SPARK: _ClassVar[Deletion]
    DELETION_APPLICATION_ENDED: _ClassVar[Deletion]
    DELETION_APPLICATION_LOST: _ClassVar[Deletion]
    DELETION_APPLICATION_DETACHED: _ClassVar[Deletion]

class Ending(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ENDING_UNSPECIFIED: _ClassVar[Ending]
    ENDING_ENDED: _ClassVar[Ending]
    ENDING_LOST: _ClassVar[Ending]
    ENDING_DETACHED: _ClassVar[Ending]

class DirectiveKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DIRECTIVE_KIND_UNSPECIFIED: _ClassVar[DirectiveKind]
    DIRECTIVE_KIND_FENCE: _ClassVar[DirectiveKind]
    DIRECTIVE_KIND_DELETE: _ClassVar[DirectiveKind]
    DIRECTIVE_KIND_INVALIDATE: _ClassVar[DirectiveKind]

class Suspension(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SUSPENSION_UNSPECIFIED: _ClassVar[Suspension]
    SUSPENSION_BUDGET: _ClassVar[Suspension]
    SUSPENSION_RECOVERIES: _ClassVar[Suspension]

class RootKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROOT_KIND_UNSPECIFIED: _ClassVar[RootKind]
    ROOT_KIND_PLAN: _ClassVar[RootKind]
    ROOT_KIND_HANDLE: _ClassVar[RootKind]
    ROOT_KIND_OBJECT: _ClassVar[RootKind]
    ROOT_KIND_PERSISTED: _ClassVar[RootKind]
    ROOT_KIND_ALGORITHM: _ClassVar[RootKind]
    ROOT_KIND_STREAM: _ClassVar[RootKind]
LIFE_UNSPECIFIED: Life
LIFE_WRITING: Life
LIFE_READABLE: Life
LIFE_PARTIAL: Life
LIFE_EXPIRED: Life
LIFE_FENCING: Life
LIFE_FENCED: Life
LIFE_DELETED: Life
LIFE_LOST: Life
LEVEL_UNSPECIFIED: Level
LEVEL_DETERMINATE: Level
LEVEL_UNORDERED: Level
LEVEL_INDETERMINATE: Level
RULE_UNSPECIFIED: Rule
RULE_REACHABLE: Rule
RULE_FRONTIER: Rule
RULE_EAGER: Rule
RULE_HISTORY: Rule
RULE_PRESSURE: Rule
HOLD_UNSPECIFIED: Hold
HOLD_NONE: Hold
HOLD_GRACE: Hold
HOLD_OBSERVE: Hold
HOLD_PIN: Hold
HOLD_SUSPENDED: Hold
HOLD_MISSED: Hold
HOLD_UNABLE: Hold
HOLD_BACKOFF: Hold
HOLD_PRESSURE: Hold
EXPIRY_UNSPECIFIED: Expiry
EXPIRY_UNREACHABLE: Expiry
EXPIRY_FRONTIER: Expiry
EXPIRY_EXECUTION_ENDED: Expiry
EXPIRY_READ: Expiry
EXPIRY_ABANDONED: Expiry
EXPIRY_LEARNED: Expiry
EXPIRY_PRESSED: Expiry
RESCUE_UNSPECIFIED: Rescue
RESCUE_READER: Rescue
RESCUE_WRITER: Rescue
RESCUE_JOB: Rescue
RESCUE_ROOT: Rescue
RESCUE_RECOVERY: Rescue
RESCUE_GAP: Rescue
RESCUE_ROOM: Rescue
RESCUE_POLICY: Rescue
REFUSAL_UNSPECIFIED: Refusal
REFUSAL_BUSY: Refusal
REFUSAL_CANNOT: Refusal
REFUSAL_REVOKED: Refusal
LOSS_UNSPECIFIED: Loss
LOSS_OUTPUTS: Loss
LOSS_REPORTED: Loss
LOSS_INVALIDATED: Loss
DELETION_UNSPECIFIED: Deletion
DELETION_POLICY: Deletion
DELETION_SPARK: Deletion
DELETION_APPLICATION_ENDED: Deletion
DELETION_APPLICATION_LOST: Deletion
DELETION_APPLICATION_DETACHED: Deletion
ENDING_UNSPECIFIED: Ending
ENDING_ENDED: Ending
ENDING_LOST: Ending
ENDING_DETACHED: Ending
DIRECTIVE_KIND_UNSPECIFIED: DirectiveKind
DIRECTIVE_KIND_FENCE: DirectiveKind
DIRECTIVE_KIND_DELETE: DirectiveKind
DIRECTIVE_KIND_INVALIDATE: DirectiveKind
SUSPENSION_UNSPECIFIED: Suspension
SUSPENSION_BUDGET: Suspension
SUSPENSION_RECOVERIES: Suspension
ROOT_KIND_UNSPECIFIED: RootKind
ROOT_KIND_PLAN: RootKind
ROOT_KIND_HANDLE: RootKind
ROOT_KIND_OBJECT: RootKind
ROOT_KIND_PERSISTED: RootKind
ROOT_KIND_ALGORITHM: RootKind
ROOT_KIND_STREAM: RootKind

class StageAttempt(_message.Message):
    __slots__ = ("stage", "attempt")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    stage: int
    attempt: int
    def __init__(self, stage: _Optional[int] = ..., attempt: _Optional[int] = ...) -> None: ...

class Span(_message.Message):
    __slots__ = ("first", "last")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    first: int
    last: int
    def __init__(self, first: _Optional[int] = ..., last: _Optional[int] = ...) -> None: ...

class Policy(_message.Message):
    __slots__ = ("rule", "observe", "grace_ms")
    RULE_FIELD_NUMBER: _ClassVar[int]
    OBSERVE_FIELD_NUMBER: _ClassVar[int]
    GRACE_MS_FIELD_NUMBER: _ClassVar[int]
    rule: Rule
    observe: bool
    grace_ms: int
    def __init__(self, rule: _Optional[_Union[Rule, str]] = ..., observe: bool = ..., grace_ms: _Optional[int] = ...) -> None: ...

class Capabilities(_message.Message):
    __slots__ = ("deletes", "completes_after_loss", "why_not")
    DELETES_FIELD_NUMBER: _ClassVar[int]
    COMPLETES_AFTER_LOSS_FIELD_NUMBER: _ClassVar[int]
    WHY_NOT_FIELD_NUMBER: _ClassVar[int]
    deletes: bool
    completes_after_loss: bool
    why_not: str
    def __init__(self, deletes: bool = ..., completes_after_loss: bool = ..., why_not: _Optional[str] = ...) -> None: ...

class Settings(_message.Message):
    __slots__ = ("declared_deterministic", "delete_indeterminate", "premature_budget", "recoveries_per_shuffle", "recoveries", "busy_retry_ms", "delete_retry_ms", "retry_limit_ms", "ask_again_ms", "lessons", "pressure_high_percent", "pressure_low_percent", "pressure_capacity_bytes", "strict")
    DECLARED_DETERMINISTIC_FIELD_NUMBER: _ClassVar[int]
    DELETE_INDETERMINATE_FIELD_NUMBER: _ClassVar[int]
    PREMATURE_BUDGET_FIELD_NUMBER: _ClassVar[int]
    RECOVERIES_PER_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    RECOVERIES_FIELD_NUMBER: _ClassVar[int]
    BUSY_RETRY_MS_FIELD_NUMBER: _ClassVar[int]
    DELETE_RETRY_MS_FIELD_NUMBER: _ClassVar[int]
    RETRY_LIMIT_MS_FIELD_NUMBER: _ClassVar[int]
    ASK_AGAIN_MS_FIELD_NUMBER: _ClassVar[int]
    LESSONS_FIELD_NUMBER: _ClassVar[int]
    PRESSURE_HIGH_PERCENT_FIELD_NUMBER: _ClassVar[int]
    PRESSURE_LOW_PERCENT_FIELD_NUMBER: _ClassVar[int]
    PRESSURE_CAPACITY_BYTES_FIELD_NUMBER: _ClassVar[int]
    STRICT_FIELD_NUMBER: _ClassVar[int]
    declared_deterministic: bool
    delete_indeterminate: bool
    premature_budget: int
    recoveries_per_shuffle: int
    recoveries: int
    busy_retry_ms: int
    delete_retry_ms: int
    retry_limit_ms: int
    ask_again_ms: int
    lessons: _containers.RepeatedCompositeFieldContainer[Lesson]
    pressure_high_percent: int
    pressure_low_percent: int
    pressure_capacity_bytes: int
    strict: bool
    def __init__(self, declared_deterministic: bool = ..., delete_indeterminate: bool = ..., premature_budget: _Optional[int] = ..., recoveries_per_shuffle: _Optional[int] = ..., recoveries: _Optional[int] = ..., busy_retry_ms: _Optional[int] = ..., delete_retry_ms: _Optional[int] = ..., retry_limit_ms: _Optional[int] = ..., ask_again_ms: _Optional[int] = ..., lessons: _Optional[_Iterable[_Union[Lesson, _Mapping]]] = ..., pressure_high_percent: _Optional[int] = ..., pressure_low_percent: _Optional[int] = ..., pressure_capacity_bytes: _Optional[int] = ..., strict: bool = ...) -> None: ...

class Lesson(_message.Message):
    __slots__ = ("lineage", "reads", "loops", "late")
    LINEAGE_FIELD_NUMBER: _ClassVar[int]
    READS_FIELD_NUMBER: _ClassVar[int]
    LOOPS_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    lineage: str
    reads: int
    loops: bool
    late: bool
    def __init__(self, lineage: _Optional[str] = ..., reads: _Optional[int] = ..., loops: bool = ..., late: bool = ...) -> None: ...

class Locator(_message.Message):
    __slots__ = ("service", "payload")
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    service: str
    payload: bytes
    def __init__(self, service: _Optional[str] = ..., payload: _Optional[bytes] = ...) -> None: ...

class Pressed(_message.Message):
    __slots__ = ("disk", "used_percent", "high_percent", "bytes", "task_ms")
    DISK_FIELD_NUMBER: _ClassVar[int]
    USED_PERCENT_FIELD_NUMBER: _ClassVar[int]
    HIGH_PERCENT_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    TASK_MS_FIELD_NUMBER: _ClassVar[int]
    disk: str
    used_percent: int
    high_percent: int
    bytes: int
    task_ms: int
    def __init__(self, disk: _Optional[str] = ..., used_percent: _Optional[int] = ..., high_percent: _Optional[int] = ..., bytes: _Optional[int] = ..., task_ms: _Optional[int] = ...) -> None: ...

class Lineage(_message.Message):
    __slots__ = ("app_shuffle", "reads", "level", "barrier", "maps", "call_site", "stage_name")
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    READS_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    BARRIER_FIELD_NUMBER: _ClassVar[int]
    MAPS_FIELD_NUMBER: _ClassVar[int]
    CALL_SITE_FIELD_NUMBER: _ClassVar[int]
    STAGE_NAME_FIELD_NUMBER: _ClassVar[int]
    app_shuffle: int
    reads: _containers.RepeatedScalarFieldContainer[int]
    level: Level
    barrier: bool
    maps: int
    call_site: str
    stage_name: str
    def __init__(self, app_shuffle: _Optional[int] = ..., reads: _Optional[_Iterable[int]] = ..., level: _Optional[_Union[Level, str]] = ..., barrier: bool = ..., maps: _Optional[int] = ..., call_site: _Optional[str] = ..., stage_name: _Optional[str] = ...) -> None: ...

class Outputs(_message.Message):
    __slots__ = ("app_shuffle", "available", "total")
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    app_shuffle: int
    available: int
    total: int
    def __init__(self, app_shuffle: _Optional[int] = ..., available: _Optional[int] = ..., total: _Optional[int] = ...) -> None: ...

class Driver(_message.Message):
    __slots__ = ("spark_application_id", "spark_attempt", "name", "user", "spark_version", "python_version", "service", "master")
    SPARK_APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    SPARK_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    SPARK_VERSION_FIELD_NUMBER: _ClassVar[int]
    PYTHON_VERSION_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    MASTER_FIELD_NUMBER: _ClassVar[int]
    spark_application_id: str
    spark_attempt: str
    name: str
    user: str
    spark_version: str
    python_version: str
    service: str
    master: str
    def __init__(self, spark_application_id: _Optional[str] = ..., spark_attempt: _Optional[str] = ..., name: _Optional[str] = ..., user: _Optional[str] = ..., spark_version: _Optional[str] = ..., python_version: _Optional[str] = ..., service: _Optional[str] = ..., master: _Optional[str] = ...) -> None: ...

class Refused(_message.Message):
    __slots__ = ("answer", "app_shuffle", "count")
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    answer: str
    app_shuffle: int
    count: int
    def __init__(self, answer: _Optional[str] = ..., app_shuffle: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...
