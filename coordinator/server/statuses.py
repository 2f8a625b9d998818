"""Errors as gRPC statuses.

Responsible for the one status that each error of the replica, of the wire and of a caller ends in. Refuses to know
calls. Invariant: no error reaches a caller without code, words and a reason, and none with words of another caller.
"""

from __future__ import annotations

import ipaddress
from typing import Any, NoReturn
from urllib.parse import unquote

import grpc
from google.rpc import code_pb2  # type: ignore[import-untyped]
from grpc_status import rpc_status  # type: ignore[import-untyped]

from coordinator.core.rejections import Answer, Reason, Rejection
from coordinator.runtime import errors as e
from coordinator.wire.errors import WireError
from coordinator.wire.status import rejection_of, status_of, status_with

#: Asking again sooner does not help.
RETRY_MS = 500

_CODES: dict[type[e.CoordinatorError], tuple[int, int]] = {
    e.UnknownApplication: (code_pb2.NOT_FOUND, 0),
    e.ApplicationOver: (code_pb2.FAILED_PRECONDITION, 0),
    e.Unavailable: (code_pb2.UNAVAILABLE, RETRY_MS),
    e.SetBack: (code_pb2.UNAVAILABLE, RETRY_MS),
    e.Overtaken: (code_pb2.UNAVAILABLE, RETRY_MS),
    e.InDoubt: (code_pb2.DEADLINE_EXCEEDED, RETRY_MS),
    e.PartlyDone: (code_pb2.DEADLINE_EXCEEDED, RETRY_MS),
    e.Overloaded: (code_pb2.RESOURCE_EXHAUSTED, RETRY_MS),
    e.TooManyApplications: (code_pb2.RESOURCE_EXHAUSTED, 10 * RETRY_MS),
    e.Draining: (code_pb2.UNAVAILABLE, RETRY_MS),
    e.DamagedLog: (code_pb2.DATA_LOSS, 0),
    e.NewerLog: (code_pb2.UNAVAILABLE, 10 * RETRY_MS),  # here: a replica of that release will answer
    e.Archived: (code_pb2.OUT_OF_RANGE, 0),
    e.ArchiveUnread: (code_pb2.UNAVAILABLE, RETRY_MS),
    e.EventsMissing: (code_pb2.DATA_LOSS, 0),
    e.Defect: (code_pb2.INTERNAL, RETRY_MS),
}


class Refused(Exception):  # noqa: N818 - it says what is so
    """The server itself refuses: the call is not let through to the replica."""

    def __init__(self, rejection: Rejection, retry_ms: int = 0, kind: str = "", about: str = "") -> None:
        super().__init__(str(rejection))
        self.rejection = rejection
        self.retry_ms = retry_ms
        self.kind = kind  #: Under which the audit counts it; empty: the log knows of it already.
        self.about = about  #: What the audit notes beside it, of the last one of its kind.


def refuse(
    reason: Reason, fact: str, expected: str, next_step: str, retry_ms: int = 0, kind: str = "", about: str = ""
) -> Refused:
    """A refusal to raise."""
    return Refused(Rejection(reason, fact, expected, next_step), retry_ms, kind or reason.value, about or fact)


def accept(answer: Answer) -> None:
    """Ends the call where a request without a number was refused: the log notes nothing of it."""
    if isinstance(answer, Rejection):
        raise Refused(answer, kind=answer.reason.value, about=answer.fact)


def audited(error: Exception) -> tuple[str, str] | None:
    """Kind and detail of what the audit counts; None: it is no refusal, or the application's log has it."""
    if isinstance(error, Refused):
        return (error.kind, error.about) if error.kind else None
    if isinstance(error, e.UnknownApplication):
        return "unknown application", error.application[:64]
    if isinstance(error, (e.Overloaded, e.TooManyApplications)):
        return "limit", error.fact
    return ("malformed", error.fact) if isinstance(error, WireError) else None


def peer_of(told: str) -> str:
    """The machine of a peer as gRPC tells it (`ipv4:10.0.0.7:51234`): its ports would be another peer each.

    Of IPv6 the network of 64 bits: who has one has all its addresses.
    """
    if told.startswith("ipv4:"):
        return told.rpartition(":")[0]
    return f"ipv6:{_network(told)}" if told.startswith("ipv6:") else told


def _network(told: str) -> str:
    address = unquote(told.removeprefix("ipv6:").rpartition(":")[0]).strip("[]").partition("%")[0]
    try:
        found = ipaddress.IPv6Address(address)
    except ValueError:
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(found) if found.is_loopback else str(ipaddress.IPv6Network((found, 64), strict=False))


def status_for(error: Exception) -> Any:
    """The google.rpc.Status of an error."""
    if isinstance(error, Refused):
        return status_of(error.rejection, error.retry_ms)
    if isinstance(error, WireError):
        return status_of(rejection_of(error))
    if isinstance(error, e.CoordinatorError):
        code, retry_ms = _CODES.get(type(error), (code_pb2.INTERNAL, 0))
        return status_with(code, type(error).__name__, error.fact, error.expected, error.next_step, retry_ms)
    return status_with(
        code_pb2.INTERNAL,
        "Defect",
        "the server failed",
        "no mistake in this program",
        "Try again; the server's log says what happened.",
    )


def expected_errors() -> tuple[type[Exception], ...]:
    """Errors that are answers, not mistakes in this program."""
    return (Refused, WireError, e.CoordinatorError)


async def abort(context: grpc.aio.ServicerContext[Any, Any], error: Exception) -> NoReturn:
    """Ends the call with the error's status."""
    status: Any = rpc_status.to_status(status_for(error))
    await context.abort(status.code, status.details, status.trailing_metadata)
    raise AssertionError("abort raises")
