"""A watch on etcd that outlives connections, members and leaders.

Responsible for: one stream of changes, resumed where it broke. Refuses to know: who is told.
Invariant: a stream is always asked for from the revision after the last one that was given on, so nothing is missing
and nothing comes twice; a commit is never split, since etcd is not asked to fragment.

A new stream may begin at a revision below one that an earlier stream had told of. Perhaps only its member lags; or the
store was set back, as from a backup, and would tell nothing until it had come as far again. So the watch reads the
store's revision, and ends with `SetBack` if that is behind, too.

While nothing happens the watch asks for the store's revision, so that a quiet watch does not fall behind a compaction.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from itertools import groupby
from typing import Any

import grpc

from state_backend.errors import Closed, Compacted, SetBack, StateBackendError, Unavailable
from state_backend.etcd.cluster import Cluster, Metadata
from state_backend.etcd.failures import Attempt, Effect, TokenExpired, failure_of
from state_backend.etcd.member import Member
from state_backend.etcd.requests import Translator
from state_backend.etcd.stubs import kv_pb2, rpc_pb2
from state_backend.values import Change, Commit, Keyspace, Revision, changed_key
from state_backend.waiting import within
from state_backend.watch import Watch

logger = logging.getLogger(__name__)

#: A watch that has heard nothing for so long asks how far the store is.
IDLE_SECONDS = 30.0

#: Before a stream is opened anew: the first pause, which doubles with each stream that breaks, and the longest.
_PAUSE_SECONDS = 0.1
_PAUSE_MAX_SECONDS = 2.0


class EtcdWatch(Watch):
    """One reader's stream."""

    def __init__(
        self, cluster: Cluster, translator: Translator, keyspace: Keyspace, prefix: str, from_revision: Revision
    ) -> None:
        self._cluster = cluster
        self._translator = translator
        self._keyspace = keyspace
        self._span = translator.names.span(keyspace, prefix)
        self._through = Revision(from_revision - 1)
        self._reached = Revision(0)  #: The highest revision of the store that any stream has told of.
        self._is_behind = False  #: The present stream has begun below that.
        self._ready: deque[Commit] = deque()
        self._stream: _Stream | None = None
        self._pause_seconds = _PAUSE_SECONDS
        self._closing = asyncio.Event()

    @property
    def revision(self) -> Revision:
        return Revision(self._ready[0].revision - 1) if self._ready else self._through

    async def __anext__(self) -> Commit:
        while not self._closing.is_set():
            if self._ready:
                return self._ready.popleft()
            try:
                await self._read_on()
            except (Unavailable, TokenExpired) as error:
                logger.warning("the watch from revision %d is resumed: %s", self._through + 1, error)
                await self._pause()
            except Closed:
                break
            except asyncio.CancelledError:
                if not self._closing.is_set():  # else it was the stream that was cancelled, by `close`
                    raise
        raise StopAsyncIteration

    async def close(self) -> None:
        self._closing.set()
        self._drop_stream()

    async def _read_on(self) -> None:
        stream = self._stream  # `close` drops ours while we wait
        if stream is None:
            member = await self._cluster.member()
            if self._closing.is_set():
                return
            stream = self._stream = _Stream(*member)
            await self._guarded(stream, stream.write(self._create_request()))
        if self._is_behind:
            await self._check_not_set_back()
        response = await self._guarded(stream, stream.read(self._closing))
        if response is not None:
            self._take(response)

    async def _guarded(self, stream: _Stream, waiting: Any) -> Any:
        """Waits for the stream; where it breaks, it is dropped, its member avoided, and our own error raised."""
        try:
            return await waiting
        except grpc.aio.AioRpcError as error:
            if self._closing.is_set():  # it was `close` that ended it
                return None
            raise self._broken(stream, error) from error
        except Unavailable:  # it ended without an error: etcd does not do that, a proxy in between may
            self._drop_stream()
            self._cluster.avoid(stream.member)
            raise
        except asyncio.CancelledError:
            if stream.is_cut:
                self._drop_stream()
            raise
        except (grpc.aio.UsageError, asyncio.InvalidStateError) as error:
            self._drop_stream()
            raise Unavailable(stream.member.endpoint, f"the stream broke: {error}") from error

    def _broken(self, stream: _Stream, error: grpc.aio.AioRpcError) -> StateBackendError:
        self._drop_stream()
        failure = failure_of(error, self._attempt(stream))
        if isinstance(failure, Unavailable):
            self._cluster.avoid(stream.member)
        return self._cluster.refused(failure, stream.metadata)

    def _attempt(self, stream: _Stream) -> Attempt:
        return Attempt("a watch", stream.member.endpoint, Effect.HARMLESS, Revision(self._through + 1))

    def _take(self, response: rpc_pb2.WatchResponse) -> None:
        if response.canceled:
            self._end(response)
        self._pause_seconds = _PAUSE_SECONDS
        self._is_behind = response.created and response.header.revision < self._reached
        self._reached = Revision(max(self._reached, response.header.revision))
        if response.events:
            self._ready.extend(self._commits(response))
            self._through = self._ready[-1].revision
        elif not response.created:
            self._through = Revision(max(self._through, response.header.revision))

    async def _check_not_set_back(self) -> None:
        request = rpc_pb2.RangeRequest(key=self._span[0], keys_only=True)

        async def send(member: Member, metadata: Metadata, timeout_seconds: float) -> rpc_pb2.RangeResponse:
            return await member.kv.Range(request, timeout=timeout_seconds, metadata=metadata)  # type: ignore[no-any-return]

        response = await self._cluster.call(Attempt("a read", self._cluster.where, Effect.HARMLESS), send)
        if response.header.revision < self._reached:
            self._drop_stream()
            raise SetBack(self._reached, Revision(response.header.revision))
        self._is_behind = False

    def _end(self, response: rpc_pb2.WatchResponse) -> None:
        """The store ended the watch: for good, or because of something that a new stream may mend."""
        stream = self._stream
        self._drop_stream()
        if response.compact_revision:
            raise Compacted(Revision(self._through + 1), Revision(response.compact_revision))
        assert stream is not None
        told = grpc.aio.AioRpcError(
            grpc.StatusCode.UNKNOWN, grpc.aio.Metadata(), grpc.aio.Metadata(), details=response.cancel_reason
        )
        raise self._cluster.refused(failure_of(told, self._attempt(stream)), stream.metadata)

    def _commits(self, response: rpc_pb2.WatchResponse) -> list[Commit]:
        grouped = groupby(response.events, key=_event_revision)
        return [Commit(Revision(revision), self._changes(events)) for revision, events in grouped]

    def _changes(self, events: Any) -> tuple[Change, ...]:
        return tuple(sorted((self._translator.change(self._keyspace, event) for event in events), key=changed_key))

    def _create_request(self) -> rpc_pb2.WatchRequest:
        start, end = self._span
        create = rpc_pb2.WatchCreateRequest(
            key=start, range_end=end, start_revision=self._through + 1, progress_notify=True
        )
        return rpc_pb2.WatchRequest(create_request=create)

    async def _pause(self) -> None:
        """Waits a little longer each time, unless the watch is closed meanwhile."""
        with suppress(asyncio.TimeoutError):
            await within(self._pause_seconds, self._closing.wait())
        self._pause_seconds = min(2 * self._pause_seconds, _PAUSE_MAX_SECONDS)

    def _drop_stream(self) -> None:
        if self._stream is not None:
            self._stream.cancel()
            self._stream = None


class _Stream:
    """One gRPC stream to one member. A read that is given up by its caller goes on and is not lost."""

    def __init__(self, member: Member, metadata: Metadata) -> None:
        self.member = member
        self.metadata = metadata
        self._call: Any = member.watch.Watch(metadata=metadata)
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._call.add_done_callback(lambda _: self._end())
        self._reading: asyncio.Future[Any] | None = None
        self.is_cut = False  #: A write was cancelled: gRPC has ended the call with it, or the request was never sent.

    async def write(self, request: rpc_pb2.WatchRequest) -> None:
        """Sends a request. If the call ends before that gRPC does not tell its writer, who would wait for ever."""
        writing = asyncio.ensure_future(self._call.write(request))
        try:
            await asyncio.wait((writing, self._over), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.is_cut = True
            raise
        finally:
            was_written = writing.done()
            writing.cancel()
        if not was_written:
            raise await self._status()
        writing.result()

    async def read(self, closing: asyncio.Event) -> rpc_pb2.WatchResponse | None:
        """The next response. None: the watch was closed, or none came for `IDLE_SECONDS` and progress was asked for."""
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._next())
        closed = asyncio.ensure_future(closing.wait())
        try:
            await asyncio.wait((self._reading, closed), timeout=IDLE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            closed.cancel()
        if closing.is_set():
            return None
        if self._reading.done():
            reading, self._reading = self._reading, None
            response: rpc_pb2.WatchResponse = reading.result()
            return response
        await self.write(rpc_pb2.WatchRequest(progress_request=rpc_pb2.WatchProgressRequest()))
        return None

    async def _next(self) -> rpc_pb2.WatchResponse:
        response = await self._call.read()
        if response is grpc.aio.EOF:
            raise Unavailable(self.member.endpoint, f"the stream ended: {await self._call.details()}")
        return response  # type: ignore[no-any-return]

    async def _status(self) -> grpc.aio.AioRpcError:
        """What the call has ended with."""
        code, told = await self._call.code(), await self._call.details()
        return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), details=told)

    def _end(self) -> None:
        if not self._over.done():
            self._over.set_result(None)

    def cancel(self) -> None:
        self._call.cancel()
        self._end()
        if self._reading is not None:
            self._reading.cancel()


def _event_revision(event: kv_pb2.Event) -> int:
    return event.kv.mod_revision
