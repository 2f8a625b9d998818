"""The contract's values as etcd's messages, and back.

Responsible for: translating. Refuses to know: connections. Invariant: pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from state_backend.errors import Conflict
from state_backend.etcd.names import Names
from state_backend.etcd.stubs import kv_pb2, rpc_pb2
from state_backend.exhaustive import assert_never
from state_backend.transaction import holds
from state_backend.values import (
    Absent,
    Change,
    Compare,
    Delete,
    Entry,
    FailedCompare,
    Keyspace,
    Move,
    Operation,
    Present,
    Put,
    Removed,
    Revision,
    RevisionIs,
    Stamp,
    VersionIs,
    Written,
)


class Translator:
    """Translates under one prefix."""

    def __init__(self, names: Names) -> None:
        self.names = names

    # ---- to etcd ----------------------------------------------------------------------------------------------------

    def txn(self, compares: Sequence[Compare], requests: Iterable[rpc_pb2.RequestOp]) -> rpc_pb2.TxnRequest:
        """Where a compare fails, the keys of all are read in the same transaction, to name the conflict."""
        return rpc_pb2.TxnRequest(
            compare=[self._compare(compare) for compare in compares],
            success=requests,
            failure=[self._read_stamp(compare) for compare in compares],
        )

    def requests(self, operation: Operation) -> list[rpc_pb2.RequestOp]:  # noqa: RET503 - the last line raises
        """A move must carry its value."""
        if isinstance(operation, Put):
            return [self._put(operation.keyspace, operation.key, operation.value, operation.lease or 0)]
        if isinstance(operation, Delete):
            return [self._delete(operation.keyspace, operation.key)]
        if isinstance(operation, Move):
            assert operation.value is not None
            return [
                self._delete(operation.from_keyspace, operation.key),
                self._put(operation.to_keyspace, operation.key, operation.value, 0),
            ]
        assert_never(operation)

    def read_source(self, move: Move) -> rpc_pb2.RequestOp:
        return rpc_pb2.RequestOp(
            request_range=rpc_pb2.RangeRequest(key=self.names.encode(move.from_keyspace, move.key))
        )

    def _put(self, keyspace: Keyspace, key: str, value: bytes, lease: int) -> rpc_pb2.RequestOp:
        name = self.names.encode(keyspace, key)
        return rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=name, value=bytes(value), lease=lease))

    def _delete(self, keyspace: Keyspace, key: str) -> rpc_pb2.RequestOp:
        name = self.names.encode(keyspace, key)
        return rpc_pb2.RequestOp(request_delete_range=rpc_pb2.DeleteRangeRequest(key=name))

    def _read_stamp(self, compare: Compare) -> rpc_pb2.RequestOp:
        name = self.names.encode(compare.keyspace, compare.key)
        return rpc_pb2.RequestOp(request_range=rpc_pb2.RangeRequest(key=name, keys_only=True))

    def _compare(self, compare: Compare) -> rpc_pb2.Compare:  # noqa: RET503 - the last line raises
        name = self.names.encode(compare.keyspace, compare.key)
        if isinstance(compare, Absent):
            return rpc_pb2.Compare(key=name, target=rpc_pb2.Compare.CREATE, create_revision=0)
        if isinstance(compare, Present):
            greater = rpc_pb2.Compare.GREATER
            return rpc_pb2.Compare(key=name, target=rpc_pb2.Compare.CREATE, result=greater, create_revision=0)
        if isinstance(compare, RevisionIs):
            return rpc_pb2.Compare(key=name, target=rpc_pb2.Compare.MOD, mod_revision=compare.revision)
        if isinstance(compare, VersionIs):
            return rpc_pb2.Compare(key=name, target=rpc_pb2.Compare.VERSION, version=compare.version)
        assert_never(compare)

    # ---- from etcd --------------------------------------------------------------------------------------------------

    def entry(self, keyspace: Keyspace, kv: kv_pb2.KeyValue) -> Entry:
        key = self.names.decode(keyspace, kv.key)
        return Entry(key, kv.value, Revision(kv.mod_revision), Revision(kv.create_revision), kv.version)

    def change(self, keyspace: Keyspace, event: kv_pb2.Event) -> Change:
        if event.type == kv_pb2.Event.DELETE:
            key = self.names.decode(keyspace, event.kv.key)
            return Removed(keyspace, key, Revision(event.kv.mod_revision))
        return Written(keyspace, self.entry(keyspace, event.kv))


def conflict_of(compares: Sequence[Compare], response: rpc_pb2.TxnResponse) -> Conflict:
    """Names the compares that failed, from what was read in the failure branch."""
    stamps = [_stamp(each.response_range) for each in response.responses]
    pairs = zip(compares, stamps, strict=True)
    failed = tuple(FailedCompare(compare, found) for compare, found in pairs if not holds(compare, found))
    return Conflict(failed, Revision(response.header.revision))


def _stamp(response: rpc_pb2.RangeResponse) -> Stamp | None:
    for kv in response.kvs:
        return Stamp(Revision(kv.mod_revision), Revision(kv.create_revision), kv.version)
    return None
