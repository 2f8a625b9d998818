"""What etcd's complaints mean. Its invariant: in doubt a write is unknown."""

from __future__ import annotations

import grpc
import pytest

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
from state_backend.etcd.failures import Attempt, Effect, TokenExpired, failure_of

READ = Attempt("a read", "here:1", Effect.HARMLESS)
WRITE = Attempt("a write", "here:1", Effect.WRITES)


def told(details: str) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(grpc.StatusCode.UNKNOWN, grpc.aio.Metadata(), grpc.aio.Metadata(), details)


@pytest.mark.parametrize(
    ("details", "kind"),
    [
        ("failed to connect to all addresses; last error: refused", Unavailable),
        ("DNS resolution failed for nowhere:1", Unavailable),
        ("etcdserver: no leader", Unavailable),
        ("etcdserver: too many requests", Unavailable),
        ("Socket closed", OutcomeUnknown),
        ("Deadline Exceeded", OutcomeUnknown),
        ("etcdserver: request timed out", OutcomeUnknown),
        ("etcdserver: leader changed", OutcomeUnknown),
        ("something that nobody has seen before", OutcomeUnknown),
        ("etcdserver: mvcc: required revision has been compacted", Compacted),
        ("etcdserver: mvcc: required revision is a future revision", InvalidRequest),
        ("etcdserver: mvcc: database space exceeded", NoSpace),
        ("etcdserver: requested lease not found", NoSuchLease),
        ("etcdserver: request is too large", TooLarge),
        ("etcdserver: too many operations in txn request", InvalidRequest),
        ("etcdserver: permission denied", Denied),
        ("etcdserver: user name is empty", TokenExpired),
        ("grpc: received message larger than max (1048700 vs. 924288)", TooLarge),
        ("etcdserver: invalid auth token", TokenExpired),
        ("rpc error: code = Unauthenticated desc = etcdserver: invalid auth token", TokenExpired),
        ("rpc error: code = PermissionDenied desc = etcdserver: permission denied", Denied),
        ("rpc error: code = Unavailable desc = etcdserver: leader changed", OutcomeUnknown),
        ("etcdserver: corrupt cluster", Corrupt),
    ],
)
def test_a_failed_write(details: str, kind: type[StateBackendError]) -> None:
    assert type(failure_of(told(details), WRITE)) is kind


@pytest.mark.parametrize("details", ["Socket closed", "Deadline Exceeded", "etcdserver: leader changed", ""])
def test_a_failed_read_is_never_unknown(details: str) -> None:
    assert type(failure_of(told(details), READ)) is Unavailable
