from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Reason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REASON_UNSPECIFIED: _ClassVar[Reason]
    REASON_NOT_FOUND: _ClassVar[Reason]
    REASON_INVALID: _ClassVar[Reason]
    REASON_ALREADY_EXISTS: _ClassVar[Reason]
    REASON_FAILED_PRECONDITION: _ClassVar[Reason]
    REASON_EXHAUSTED: _ClassVar[Reason]
    REASON_PERMISSION_DENIED: _ClassVar[Reason]
REASON_UNSPECIFIED: Reason
REASON_NOT_FOUND: Reason
REASON_INVALID: Reason
REASON_ALREADY_EXISTS: Reason
REASON_FAILED_PRECONDITION: Reason
REASON_EXHAUSTED: Reason
REASON_PERMISSION_DENIED: Reason

class Rejection(_message.Message):
    __slots__ = ("reason", "fact", "expected", "next_step", "app_shuffle")
    REASON_FIELD_NUMBER: _ClassVar[int]
    FACT_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    NEXT_STEP_FIELD_NUMBER: _ClassVar[int]
    APP_SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    reason: Reason
    fact: str
    expected: str
    next_step: str
    app_shuffle: int
    def __init__(self, reason: _Optional[_Union[Reason, str]] = ..., fact: _Optional[str] = ..., expected: _Optional[str] = ..., next_step: _Optional[str] = ..., app_shuffle: _Optional[int] = ...) -> None: ...
