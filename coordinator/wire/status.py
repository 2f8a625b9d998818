"""Refusals as google.rpc statuses.

Responsible for the code and the rich details that belong to everything that can be refused. Refuses to know gRPC: a
status is a message here. Invariant: every status says fact, expectation and next step in words, and its reason as a
name that programs can compare.
"""

from __future__ import annotations

from dataclasses import replace

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2  # type: ignore[import-untyped]

from coordinator.core.rejections import Reason, Rejection
from coordinator.wire.errors import WireError
from coordinator.wire.messages import rejection_to_message

DOMAIN = "shuffle-lifecycle"
#: Characters. A status travels as metadata, of which the other side takes a few thousand bytes.
_FACT_MAX = 400
_EXPECTED_MAX = 1_000

CODES: dict[Reason, int] = {
    Reason.NOT_FOUND: code_pb2.NOT_FOUND,
    Reason.INVALID: code_pb2.INVALID_ARGUMENT,
    Reason.ALREADY_EXISTS: code_pb2.ALREADY_EXISTS,
    Reason.FAILED_PRECONDITION: code_pb2.FAILED_PRECONDITION,
    Reason.EXHAUSTED: code_pb2.RESOURCE_EXHAUSTED,
    Reason.PERMISSION_DENIED: code_pb2.PERMISSION_DENIED,
}


def status_of(rejection: Rejection, retry_ms: int = 0) -> status_pb2.Status:
    """The status of a rejection; ``retry_ms``: when asking again may help, 0: it will not."""
    reason, fact = rejection.reason, _cut(rejection.fact, _FACT_MAX)
    rejection = replace(rejection, fact=fact, expected=_cut(rejection.expected, _EXPECTED_MAX))
    status = status_with(CODES[reason], reason.name, rejection.fact, rejection.expected, rejection.next_step, retry_ms)
    for detail in (rejection_to_message(rejection), *_details(rejection)):
        status.details.add().Pack(detail)
    return status


def status_with(
    code: int, reason: str, fact: str, expected: str, next_step: str, retry_ms: int = 0
) -> status_pb2.Status:
    """A status in the words that every error here has; what it repeats of a caller's own text is cut."""
    fact, expected = _cut(fact, _FACT_MAX), _cut(expected, _EXPECTED_MAX)
    status = status_pb2.Status(code=code, message=f"{fact}; expected {expected}. {next_step}")
    words = {"fact": fact, "expected": expected, "next_step": next_step}
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN, metadata=words))
    if retry_ms:
        delay = Duration(seconds=retry_ms // 1000, nanos=retry_ms % 1000 * 1_000_000)
        status.details.add().Pack(error_details_pb2.RetryInfo(retry_delay=delay))
    return status


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"


def rejection_of(error: WireError) -> Rejection:
    """What a message that cannot be read is answered with."""
    return Rejection(Reason.INVALID, error.fact, error.expected, error.next_step)


def _details(rejection: Rejection) -> list[Message]:
    if rejection.reason is Reason.INVALID:
        violation = error_details_pb2.BadRequest.FieldViolation(
            description=f"{rejection.fact}; expected {rejection.expected}"
        )
        return [error_details_pb2.BadRequest(field_violations=[violation])]
    if rejection.reason is Reason.NOT_FOUND and rejection.app_shuffle is not None:
        return [
            error_details_pb2.ResourceInfo(
                resource_type="app shuffle", resource_name=str(rejection.app_shuffle), description=rejection.expected
            )
        ]
    return []
