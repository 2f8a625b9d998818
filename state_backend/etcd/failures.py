"""What etcd and gRPC complain about, in our words.

Responsible for: telling "nothing happened" from "unknown". Refuses to know: who retries.
Invariant: in doubt a write is unknown. Only what is known to be refused before it is proposed, or never sent, counts
as not having happened.

etcd's complaints are known by their text, since one gRPC code stands for several of them; the texts are part of its
clients' contract (`api/v3rpc/rpctypes`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

import grpc

from state_backend.errors import (
    Compacted,
    Corrupt,
    Denied,
    InvalidRequest,
    NoSpace,
    NoSuchLease,
    OutcomeUnknown,
    StateBackendError,
    TooLarge,
    Unavailable,
)
from state_backend.limits import REQUEST_BYTES_MAX
from state_backend.values import Revision

_NO_REVISION = Revision(0)


class TokenExpired(Denied):
    """The token is no longer believed; a new one may be."""


class Effect(Enum):
    """Whether it matters that a call is carried out twice, or without our knowing."""

    HARMLESS = "harmless"
    WRITES = "writes"


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an error has to say about one call to one member."""

    doing: str
    where: str
    effect: Effect
    revision: Revision = _NO_REVISION
    lease: int = 0


# gRPC's own words for a call that never left: there was no connection to send it on.
_NEVER_SENT = ("failed to connect to all addresses", "DNS resolution failed", "no connection")

# Refused by the member before it was proposed to the others.
_NOT_PROPOSED = ("etcdserver: no leader", "etcdserver: too many requests", "etcdserver: not capable")

# "user name is empty" means a call without a token: ours if authentication was switched on after we had connected.
_TOKEN_EXPIRED = (
    "etcdserver: invalid auth token",
    "etcdserver: revision of auth store is old",
    "etcdserver: user name is empty",
)
_DENIED = (
    "etcdserver: permission denied",
    "etcdserver: authentication failed",
    "etcdserver: user name not found",
)
#: What stands before etcd's words where it tells them in an answer, as it does when a watch ends.
_WRAPPED = re.compile(r"^rpc error: code = \w+ desc = ")

_COMPACTED = "required revision has been compacted"


def failure_of(error: grpc.aio.AioRpcError, attempt: Attempt) -> StateBackendError:
    """Our error for one failed attempt."""
    told = error.details() or error.code().name
    refusal = _refusal_of(told, attempt)
    if refusal is not None:
        return refusal
    if told.startswith(_NEVER_SENT) or told.startswith(_NOT_PROPOSED) or attempt.effect is Effect.HARMLESS:
        return Unavailable(attempt.where, told)
    return OutcomeUnknown(attempt.doing, f"{attempt.where}: {told}")


def _refusal_of(told: str, attempt: Attempt) -> StateBackendError | None:
    """What etcd said no to, None where it said nothing about the request itself."""
    told = _WRAPPED.sub("", told)
    if told.startswith(_TOKEN_EXPIRED):
        return TokenExpired(attempt.where, told)
    if told.startswith(_DENIED):
        return Denied(attempt.where, told)
    if _COMPACTED in told:
        return Compacted(attempt.revision, attempt.revision)
    if "required revision is a future revision" in told:
        return InvalidRequest(f"the revision to read at is {attempt.revision}", "one that the store has reached")
    if "requested lease not found" in told:
        return NoSuchLease(attempt.lease)
    if "request is too large" in told or told.startswith("grpc: received message larger than max"):
        return TooLarge("bytes, more than this etcd is set to take", REQUEST_BYTES_MAX, REQUEST_BYTES_MAX)
    if "database space exceeded" in told:  # also of what was applied: the backend looks before it believes it
        return NoSpace(attempt.where, told)
    if "corrupt cluster" in told:
        return Corrupt(attempt.where, told)
    if re.match(r"etcdserver: (too many operations|duplicate key|key is not provided|invalid)", told):
        return InvalidRequest(f"etcd refused {attempt.doing}: {told}", "a request within this etcd's limits")
    return None
