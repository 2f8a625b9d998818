"""A cluster: several members, any of which will do.

Responsible for: choosing a member, deadlines, signing in, trying again where that is safe. Refuses to know: what is
asked. Invariant: a write is tried again only when it surely has not happened; everything ends by its deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import grpc
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from state_backend.address import EtcdAddress
from state_backend.errors import Closed, Denied, OutcomeUnknown, StateBackendError, Unavailable
from state_backend.etcd.failures import Attempt, Effect, TokenExpired, failure_of
from state_backend.etcd.member import Member
from state_backend.etcd.patience import Patience
from state_backend.etcd.stubs import rpc_pb2

_Response = TypeVar("_Response")

Metadata = tuple[tuple[str, str], ...]
Send = Callable[[Member, Metadata, float], Awaitable[_Response]]

# A member that has lost its leader says so at once instead of letting us wait.
_REQUIRE_LEADER = (("hasleader", "true"),)


@dataclass(frozen=True, slots=True)
class Deadlines:
    """How long to wait for the cluster."""

    connect_seconds: float = 2.0  #: For a connection to one member.
    request_seconds: float = 5.0  #: For one answer, at the most (`patience`).
    give_up_seconds: float = 12.0  #: For all tries of one call.
    impatient_seconds: float = 0.5  #: For one answer, at the least, before another member is asked.


@dataclass(slots=True)
class _Call:
    """One question or write, however often it is sent."""

    attempt: Attempt
    given_up: int = 0  #: Tries that had no answer in time.


class Cluster:
    """The members of one address, and the token that they know us by."""

    def __init__(self, address: EtcdAddress, deadlines: Deadlines) -> None:
        self.where = ",".join(address.endpoints)
        self.deadlines = deadlines
        self._patience = Patience(deadlines.impatient_seconds, deadlines.request_seconds)
        self._credentials = address.credentials
        self._members = [Member(endpoint, address.tls) for endpoint in address.endpoints]
        self._current = 0
        self._token: str | None = None
        self._signing_in: asyncio.Task[str] | None = None
        self._closed = False

    async def call(self, attempt: Attempt, send: Send[_Response]) -> _Response:
        """Sends it to one member after the other until one answers, or the time is over."""
        retrying = AsyncRetrying(
            retry=retry_if_exception_type((Unavailable, TokenExpired)),
            stop=stop_after_delay(self.deadlines.give_up_seconds),
            wait=wait_random_exponential(multiplier=0.02, max=0.5),
            reraise=True,
        )
        return await retrying(self._try, _Call(attempt), send)

    async def member(self) -> tuple[Member, Metadata]:
        """A connected member and what a stream to it must carry. Raises `Unavailable`, `Denied`, `Closed`."""
        self.check_open()
        member = self._members[self._current]
        try:
            await member.ready(self.deadlines.connect_seconds)
            return member, await self._metadata()
        except Unavailable:
            self.avoid(member)
            raise

    def check_open(self) -> None:
        """Raises `Closed` after `close`."""
        if self._closed:
            raise Closed(self.where)

    def avoid(self, member: Member) -> None:
        """Goes to the next member from now on, unless somebody did already."""
        if self._members[self._current] is member:
            self._current = (self._current + 1) % len(self._members)

    def refused(self, failure: StateBackendError, metadata: Metadata) -> StateBackendError:
        """The error to raise for a failure. If it says that the token has expired, the next call signs in again."""
        if not isinstance(failure, TokenExpired):
            return failure
        if self._credentials is None:
            return Denied(self.where, failure.cause)
        if self._token == dict(metadata).get("token", ""):  # else it was replaced meanwhile
            self._token = None
        return failure

    async def close(self) -> None:
        self._closed = True
        for member in self._members:
            await member.close()

    async def _try(self, call: _Call, send: Send[_Response]) -> _Response:
        member, metadata = await self._member()
        clock = asyncio.get_running_loop().time
        sent_seconds = clock()
        try:
            response = await send(member, metadata, self._patience.seconds(sent_seconds, call.given_up))
            self._patience.answered(clock() - sent_seconds)
            return response
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                self._patience.given_up(sent_seconds)
                call.given_up += 1
            raise self._judged(error, member, metadata, call.attempt) from error
        except (grpc.aio.UsageError, asyncio.CancelledError):
            if not self._closed:
                raise
            raise self._cut_off(call.attempt) from None

    def _judged(
        self, error: grpc.aio.AioRpcError, member: Member, metadata: Metadata, attempt: Attempt
    ) -> StateBackendError:
        failure = failure_of(error, replace(attempt, where=member.endpoint))
        if isinstance(failure, Unavailable | OutcomeUnknown):
            self.avoid(member)
        return self.refused(failure, metadata)

    async def _member(self) -> tuple[Member, Metadata]:
        """What `member` gives. Raises `Closed` where we were closed while it connected or signed in."""
        try:
            return await self.member()
        except (grpc.aio.UsageError, asyncio.CancelledError):
            self.check_open()
            raise

    def _cut_off(self, attempt: Attempt) -> StateBackendError:
        """The error of a call that gRPC has cancelled, since we were closed."""
        if attempt.effect is Effect.WRITES:
            return OutcomeUnknown(attempt.doing, "the store was closed here meanwhile")
        return Closed(self.where)

    # ---- signing in -------------------------------------------------------------------------------------------------

    async def _metadata(self) -> Metadata:
        if self._credentials is None:
            return _REQUIRE_LEADER
        token = self._token if self._token is not None else await self._signed_in()
        return (*_REQUIRE_LEADER, ("token", token)) if token else _REQUIRE_LEADER

    async def _signed_in(self) -> str:
        """All who wait share one try, and what comes of it."""
        if self._signing_in is None or self._signing_in.done():
            self._signing_in = asyncio.create_task(self._sign_in(self._members[self._current]), name="sign in")
            self._signing_in.add_done_callback(_hear)
        self._token = await asyncio.shield(self._signing_in)
        return self._token

    async def _sign_in(self, member: Member) -> str:
        """A token; empty if this etcd has authentication switched off."""
        assert self._credentials is not None
        request = rpc_pb2.AuthenticateRequest(name=self._credentials.user, password=self._credentials.password)
        try:
            response = await member.auth.Authenticate(
                request, timeout=self.deadlines.request_seconds, metadata=_REQUIRE_LEADER
            )
        except grpc.aio.AioRpcError as error:
            if "authentication is not enabled" in (error.details() or ""):
                return ""
            raise failure_of(error, Attempt("signing in", member.endpoint, Effect.HARMLESS)) from error
        token: str = response.token
        return token


def _hear(task: asyncio.Task[str]) -> None:
    """Retrieves the exception of a task for which perhaps nobody waits any more: asyncio would log it otherwise."""
    if not task.cancelled():
        task.exception()
