"""The service: which method is what.

Responsible for sending every method to its work and every error to its status, and for how many calls are let in at a
time. Refuses to do anything itself.
Invariant: a method ends in its reply or in a status that says why; a mistake in this program is logged and said to be
one, and ends no other call.
"""

# The methods have the protocol's names.
# ruff: noqa: N802

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing
from typing import Any, TypeVar

import grpc
from shuffle_lifecycle.v1 import events_pb2, service_pb2, service_pb2_grpc

from coordinator import logs
from coordinator.core.rejections import Reason
from coordinator.runtime.api import Coordinator
from coordinator.server.calls import COMMANDS, Context, calls_of
from coordinator.server.options import WRITE_STEPS, ServerOptions
from coordinator.server.questions import Questions
from coordinator.server.reading import check_read
from coordinator.server.security import Gate
from coordinator.server.sessions import Sessions
from coordinator.server.statuses import RETRY_MS, abort, audited, expected_errors, peer_of, refuse
from state_backend.waiting import within

log = logs.logger(__name__)

R = TypeVar("R")


class ShuffleLifecycle(service_pb2_grpc.ShuffleLifecycleServicer):
    """`shuffle_lifecycle.v1.ShuffleLifecycle` over one replica."""

    def __init__(self, coordinator: Coordinator, options: ServerOptions) -> None:
        gate = Gate(coordinator, options)
        self._coordinator = coordinator
        self._options = options
        self._under_way = 0
        self._calls = calls_of(coordinator, gate, options)
        self._questions = Questions(coordinator, gate, options)
        self._sessions = Sessions(coordinator, gate, self._calls, options)

    async def Session(self, requests: Any, context: Context) -> None:  # noqa: ARG002 - the line reads for itself
        try:
            await self._answered(self._sessions.serve(context), context)
        except grpc.aio.InternalError:
            log.debug("a driver has gone while it was being answered")

    # ---- commands ---------------------------------------------------------------------------------------------------

    async def RegisterApplication(self, call: Any, context: Context) -> service_pb2.CommandReply:
        return service_pb2.CommandReply(**await self._answered(self._calls.register(call, context), context))

    async def EndApplication(self, call: Any, context: Context) -> service_pb2.CommandReply:
        return await self._command(call, context)

    async def GetShuffleId(self, call: Any, context: Context) -> service_pb2.GetShuffleIdReply:
        return await self._ask(call, context)

    async def ReportMissingShuffle(self, call: Any, context: Context) -> service_pb2.GetShuffleIdReply:
        return await self._ask(call, context)

    async def ReportJobStarted(self, call: Any, context: Context) -> service_pb2.CommandReply:
        return await self._command(call, context)

    async def ReportJobEnded(self, call: Any, context: Context) -> service_pb2.CommandReply:
        return await self._command(call, context)

    async def ReportStageSubmitted(self, call: Any, context: Context) -> service_pb2.CommandReply:
        return await self._command(call, context)

    async def ReportStageCompleted(self, call: Any, context: Context) -> service_pb2.CommandReply:
        return await self._command(call, context)

    async def SetPolicy(self, call: Any, context: Context) -> service_pb2.CommandReply:
        return await self._command(call, context)

    async def SetPin(self, call: Any, context: Context) -> service_pb2.CommandReply:
        return await self._command(call, context)

    async def RemovePin(self, call: Any, context: Context) -> service_pb2.CommandReply:
        return await self._command(call, context)

    async def ResumeDeletion(self, call: Any, context: Context) -> service_pb2.CommandReply:
        return await self._command(call, context)

    async def Submit(self, call: Any, context: Context) -> service_pb2.SubmitReply:
        return await self._answered(self._calls.submit(call, context), context)

    async def _command(self, call: Any, context: Context) -> service_pb2.CommandReply:
        return service_pb2.CommandReply(**await self._answered(self._calls.command(call, context), context))

    async def _ask(self, call: Any, context: Context) -> service_pb2.GetShuffleIdReply:
        return service_pb2.GetShuffleIdReply(**await self._answered(self._calls.command(call, context), context))

    # ---- questions --------------------------------------------------------------------------------------------------

    async def ListApplications(self, asked: Any, context: Context) -> service_pb2.ListApplicationsReply:
        return await self._answered(self._questions.applications(asked, context), context)

    async def GetApplication(self, asked: Any, context: Context) -> service_pb2.Application:
        return await self._answered(self._questions.application(asked, context), context)

    async def ListShuffles(self, asked: Any, context: Context) -> service_pb2.ListShufflesReply:
        return await self._answered(self._questions.shuffles(asked, context), context)

    async def GetShuffle(self, asked: Any, context: Context) -> service_pb2.Shuffle:
        return await self._answered(self._questions.shuffle(asked, context), context)

    async def GetGraph(self, asked: Any, context: Context) -> service_pb2.Graph:
        return await self._answered(self._questions.graph(asked, context), context)

    async def ListDirectives(self, asked: Any, context: Context) -> service_pb2.ListDirectivesReply:
        return await self._answered(self._questions.directives(asked, context), context)

    async def ListEvents(self, asked: Any, context: Context) -> service_pb2.ListEventsReply:
        return await self._answered(self._questions.events(asked, context), context)

    async def ListReplicas(self, asked: Any, context: Context) -> service_pb2.ListReplicasReply:
        return await self._answered(self._questions.replicas(asked, context), context)

    async def TailEvents(self, asked: Any, context: Context) -> AsyncGenerator[events_pb2.Record, None]:
        async with aclosing(self._questions.tail(asked, context)) as records:
            while (record := await self._answered(anext(records, None), context)) is not None:
                yield record

    # ---- the door ---------------------------------------------------------------------------------------------------

    async def enter(self, request: Any, context: Context) -> None:
        """Lets a call in, or ends it; `leave` follows in both cases."""
        self._under_way += 1
        await self._answered(self._check(request), context)

    async def write(self, reply: Any, context: Context) -> None:
        """Passes on one reply of many; who reads none for long is hung up on."""
        await self._answered(self._written(reply, context), context)

    async def _written(self, reply: Any, context: Context) -> None:
        within_s = self._options.write_within_s
        try:
            await within(within_s, context.write(reply), WRITE_STEPS)
        except asyncio.TimeoutError:
            fact = f"nothing was read for {within_s:g} s"
            raise refuse(
                Reason.EXHAUSTED, fact, "a caller that reads what it asked for", "Ask again, from there on."
            ) from None

    def leave(self) -> None:
        """A call is over."""
        self._under_way -= 1

    async def _check(self, request: Any) -> None:
        if self._under_way > self._options.calls_max:
            raise refuse(
                Reason.EXHAUSTED,
                f"{self._under_way} calls and sessions are under way",
                f"at most {self._options.calls_max} (limits.calls)",
                "Go to another replica, or come back in a moment.",
                RETRY_MS,
                kind="limit",
            )
        check_read(request, self._options.bounds, leave=COMMANDS)

    # ---- refusals ---------------------------------------------------------------------------------------------------

    async def _answered(self, work: Awaitable[R], context: Context) -> R:
        """What the work gives; its errors end the call with their status."""
        try:
            return await work
        except expected_errors() as error:
            await self._note(error, context)
            await abort(context, error)
        except grpc.aio.InternalError:  # there is nobody any more whom anything could be told
            raise
        except Exception as error:
            log.exception("a call failed; its caller was told so, other calls go on", peer=context.peer())
            await abort(context, error)

    async def _note(self, error: Exception, context: Context) -> None:
        counted = audited(error)
        if counted is not None:
            await self._coordinator.audit(peer_of(context.peer()), *counted)
