"""The contract on an etcd cluster.

Responsible for: each promise as one etcd request. Refuses to know: members, tokens, streams.
Invariant: every write is one etcd transaction; reads are linearizable, or at a revision that one such read gave.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from weakref import WeakSet

from state_backend.address import EtcdAddress
from state_backend.api import StateBackend
from state_backend.errors import Compacted, NoSpace, NoSuchLease, OutcomeUnknown, StateBackendError, TooLarge
from state_backend.etcd.cluster import Cluster, Deadlines, Metadata
from state_backend.etcd.failures import Attempt, Effect
from state_backend.etcd.member import Member
from state_backend.etcd.names import Names
from state_backend.etcd.requests import Translator, conflict_of
from state_backend.etcd.stubs import rpc_pb2
from state_backend.etcd.watch import EtcdWatch
from state_backend.lease import Lease
from state_backend.limits import (
    PAGE_LIMIT,
    check_at,
    check_bytes,
    check_lease,
    check_scan,
    check_transaction,
    check_ttl,
    check_watch,
    is_lease,
    keys_touched,
)
from state_backend.values import (
    Absent,
    Compare,
    Delete,
    KeyPage,
    Keyspace,
    LeaseId,
    Move,
    Operation,
    Page,
    Present,
    Put,
    Reading,
    Revision,
)
from state_backend.waiting import within


async def open_etcd(address: EtcdAddress, deadlines: Deadlines | None = None) -> EtcdBackend:
    """Connects and signs in. Raises `Unavailable` where no member answers, `Denied` where none wants us."""
    backend = EtcdBackend(address, deadlines or Deadlines())
    try:
        await backend.get(Keyspace.HEADS, "opening")
    except BaseException:
        await backend.close()
        raise
    return backend


class EtcdBackend(StateBackend):
    """One client of a cluster; `open_etcd` makes it."""

    def __init__(self, address: EtcdAddress, deadlines: Deadlines) -> None:
        self._cluster = Cluster(address, deadlines)
        self._translator = Translator(Names(address.prefix))
        self._watches: WeakSet[EtcdWatch] = WeakSet()
        self._leases: list[Lease] = []
        self._closed = False

    # ---- reading ----------------------------------------------------------------------------------------------------

    async def get(self, keyspace: Keyspace, key: str) -> Reading:
        name = self._translator.names.encode(keyspace, key)
        response = await self._range(rpc_pb2.RangeRequest(key=name))
        entry = self._translator.entry(keyspace, response.kvs[0]) if response.kvs else None
        return Reading(entry, Revision(response.header.revision))

    async def scan(
        self,
        keyspace: Keyspace,
        prefix: str = "",
        after: str | None = None,
        limit: int = PAGE_LIMIT,
        at: Revision | None = None,
    ) -> Page:
        response = await self._scan(keyspace, prefix, after, limit, at, keys_only=False)
        entries = tuple(self._translator.entry(keyspace, kv) for kv in response.kvs)
        return Page(entries, at if at is not None else Revision(response.header.revision), response.more)

    async def scan_keys(
        self,
        keyspace: Keyspace,
        prefix: str = "",
        after: str | None = None,
        limit: int = PAGE_LIMIT,
        at: Revision | None = None,
    ) -> KeyPage:
        response = await self._scan(keyspace, prefix, after, limit, at, keys_only=True)
        keys = tuple(self._translator.names.decode(keyspace, kv.key) for kv in response.kvs)
        return KeyPage(keys, at if at is not None else Revision(response.header.revision), response.more)

    async def _scan(
        self, keyspace: Keyspace, prefix: str, after: str | None, limit: int, at: Revision | None, *, keys_only: bool
    ) -> rpc_pb2.RangeResponse:
        check_scan(prefix, after, limit)
        check_at(at)
        start, end = self._translator.names.span(keyspace, prefix, after)
        return await self._range(
            rpc_pb2.RangeRequest(key=start, range_end=end, limit=limit, revision=at or 0, keys_only=keys_only)
        )

    async def _range(self, request: rpc_pb2.RangeRequest) -> rpc_pb2.RangeResponse:
        attempt = Attempt("a read", self._cluster.where, Effect.HARMLESS, Revision(request.revision))

        async def send(member: Member, metadata: Metadata, timeout_seconds: float) -> rpc_pb2.RangeResponse:
            return await member.kv.Range(request, timeout=timeout_seconds, metadata=metadata)  # type: ignore[no-any-return]

        try:
            return await self._cluster.call(attempt, send)
        except Compacted as compacted:
            raise Compacted(compacted.asked_revision, await self._compacted_revision(request)) from None

    async def _compacted_revision(self, request: rpc_pb2.RangeRequest) -> Revision:
        """Only a watch is told where history starts; a read is told that it came too late."""
        watch = EtcdWatch(self._cluster, self._translator, Keyspace.HEADS, "", Revision(request.revision))
        async with watch:
            try:
                await within(self._cluster.deadlines.request_seconds, watch.__anext__())
            except Compacted as compacted:
                return compacted.compacted_revision
            except (asyncio.TimeoutError, StopAsyncIteration):
                pass
        return Revision(request.revision + 1)

    # ---- writing ----------------------------------------------------------------------------------------------------

    async def put_txn(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        every_compare = check_transaction(compares, operations)
        filled = await self._fill_moves(operations)
        while filled is None:
            # A source is not where the move expects it: the compares alone will say so, with all others that fail.
            await self._transact(every_compare, ())
            filled = await self._fill_moves(operations)
        try:
            check_bytes(every_compare, filled)  # what is moved counts too
        except TooLarge:
            await self._transact(every_compare, ())  # a compare that fails is told first
            raise
        return await self._transact(every_compare, filled)

    async def _transact(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        requests = [request for each in operations for request in self._translator.requests(each)]
        leases = [each.lease for each in operations if isinstance(each, Put) and each.lease is not None]
        effect = Effect.WRITES if operations else Effect.HARMLESS
        doing = f"a transaction of {len(operations)} operations"
        attempt = Attempt(doing, self._cluster.where, effect, lease=leases[0] if leases else 0)
        try:
            response = await self._txn(attempt, self._translator.txn(compares, requests))
        except NoSpace as full:
            raise await self._after_refusal(compares, operations, doing, full) from None
        if not response.succeeded:
            raise conflict_of(compares, response)
        return Revision(response.header.revision)

    async def _after_refusal(
        self, compares: Sequence[Compare], operations: Sequence[Operation], doing: str, full: NoSpace
    ) -> StateBackendError:
        """What a refusal for want of space means: etcd applies the write that crosses its quota, and then says so.

        etcd answers after it has applied: so where a compare would no more hold and all still do, nothing has happened.
        """
        if any(_undoes(operation, compare) for operation in operations for compare in compares):
            with suppress(StateBackendError):
                await self._transact(compares, ())
                return full
        return OutcomeUnknown(doing, str(full))

    async def _fill_moves(self, operations: Sequence[Operation]) -> list[Operation] | None:
        """The operations, every move with its value; None where a source is not at the revision that is expected."""
        hollow = [each for each in operations if isinstance(each, Move) and each.value is None]
        if not hollow:
            return list(operations)
        reads = [self._translator.read_source(move) for move in hollow]
        attempt = Attempt("a read", self._cluster.where, Effect.HARMLESS)
        response = await self._txn(attempt, rpc_pb2.TxnRequest(success=reads))
        found = [list(each.response_range.kvs) for each in response.responses]
        for move, kvs in zip(hollow, found, strict=True):
            if not kvs or kvs[0].mod_revision != move.expected_revision:
                return None
        values = iter(kvs[0].value for kvs in found)
        return [
            replace(each, value=next(values)) if isinstance(each, Move) and each.value is None else each
            for each in operations
        ]

    async def _txn(self, attempt: Attempt, request: rpc_pb2.TxnRequest) -> rpc_pb2.TxnResponse:
        async def send(member: Member, metadata: Metadata, timeout_seconds: float) -> rpc_pb2.TxnResponse:
            return await member.kv.Txn(request, timeout=timeout_seconds, metadata=metadata)  # type: ignore[no-any-return]

        return await self._cluster.call(attempt, send)

    # ---- leases -----------------------------------------------------------------------------------------------------

    async def grant(self, ttl_seconds: float) -> Lease:
        """etcd counts whole seconds and has a shortest time of its own; the lease tells what was granted."""
        check_ttl(ttl_seconds)
        request = rpc_pb2.LeaseGrantRequest(TTL=math.ceil(ttl_seconds))

        async def send(member: Member, metadata: Metadata, timeout_seconds: float) -> tuple[float, int, int]:
            sent_seconds = asyncio.get_running_loop().time()
            response = await member.lease.LeaseGrant(request, timeout=timeout_seconds, metadata=metadata)
            return sent_seconds, response.ID, response.TTL

        # A grant that we do not hear of runs out by itself, so asking again is harmless.
        attempt = Attempt("a grant", self._cluster.where, Effect.HARMLESS)
        sent_seconds, lease, granted_ttl_seconds = await self._cluster.call(attempt, send)
        self._leases = [lease for lease in self._leases if lease.remaining_seconds > 0]
        self._leases.append(granted := Lease(self, LeaseId(lease), granted_ttl_seconds, sent_seconds))
        if self._closed:
            await granted.abandon("its backend was closed")
        return granted

    async def renew_lease(self, lease: LeaseId) -> None:
        check_lease(lease)

        async def send(member: Member, metadata: Metadata, timeout_seconds: float) -> int:
            asked = iter((rpc_pb2.LeaseKeepAliveRequest(ID=lease),))
            async for response in member.lease.LeaseKeepAlive(asked, timeout=timeout_seconds, metadata=metadata):
                return int(response.TTL)
            return 0

        attempt = Attempt("a renewal", self._cluster.where, Effect.HARMLESS, lease=lease)
        if await self._cluster.call(attempt, send) <= 0:
            raise NoSuchLease(lease)

    async def revoke_lease(self, lease: LeaseId) -> None:
        if not is_lease(lease):
            return

        async def send(member: Member, metadata: Metadata, timeout_seconds: float) -> None:
            request = rpc_pb2.LeaseRevokeRequest(ID=lease)
            await member.lease.LeaseRevoke(request, timeout=timeout_seconds, metadata=metadata)

        try:
            await self._cluster.call(Attempt("a revocation", self._cluster.where, Effect.HARMLESS, lease=lease), send)
        except NoSuchLease:
            return

    # ---- watching ---------------------------------------------------------------------------------------------------

    def watch(self, keyspace: Keyspace, prefix: str, from_revision: Revision) -> EtcdWatch:
        check_watch(prefix, from_revision)
        self._cluster.check_open()
        watch = EtcdWatch(self._cluster, self._translator, keyspace, prefix, from_revision)
        self._watches.add(watch)
        return watch

    async def close(self) -> None:
        self._closed = True
        for watch in tuple(self._watches):
            await watch.close()
        for lease in self._leases:
            await lease.abandon("its backend was closed")
        await self._cluster.close()


def _undoes(operation: Operation, compare: Compare) -> bool:
    """Whether the compare cannot hold any more once the operation was done."""
    if isinstance(compare, Present) or (isinstance(operation, Delete) and isinstance(compare, Absent)):
        return False
    return (compare.keyspace, compare.key) in keys_touched(operation)
