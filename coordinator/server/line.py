"""One driver's line: a session's stream, both ways.

Responsible for the order of requests, for what may be under way at once, and for sending what the replica has for the
driver. Refuses to know registration, tokens and what a request means. Invariant: requests reach the replica in the
order of their numbers, one group at a time; what is held here is bounded by ``unconfirmed_max``, however fast the
driver sends and however slowly it reads.

While one group of requests is being committed, the next ones gather: a fast driver's batches share a commit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from typing import Any

import grpc
from shuffle_lifecycle.v1 import service_pb2

from coordinator.core.commands import Request
from coordinator.core.rejections import Reason
from coordinator.core.state import Directive
from coordinator.runtime.api import Coordinator, GoAway, Message, Notice, Session
from coordinator.runtime.errors import Draining, PartlyDone
from coordinator.server.calls import Calls, Context, too_many
from coordinator.server.options import WRITE_STEPS, ServerOptions
from coordinator.server.reading import check_read
from coordinator.server.security import Role
from coordinator.server.shown import directive_shown
from coordinator.server.statuses import refuse
from coordinator.wire.errors import Malformed
from coordinator.wire.messages import Numbered, answers_to_message, requests_of
from state_backend.waiting import within


class Line:
    """Runs from the Welcome to the end of the stream."""

    def __init__(
        self,
        coordinator: Coordinator,
        calls: Calls,
        session: Session,
        context: Context,
        options: ServerOptions,
        confirmed: int,
    ) -> None:
        self._coordinator = coordinator
        self._calls = calls
        self._session = session
        self._context = context
        self._options = options
        self._highest = max(session.answered, confirmed)  # what was refused at a limit, the log need not know
        self._confirmed = confirmed
        self._gathered: list[Request] = []
        self._changed = asyncio.Condition()
        self._hung_up = False
        self._answering = False  #: A group of requests is under way.
        self._leaving = False  #: The session is sent away: no further group is begun.
        self._writing = asyncio.Lock()

    async def run(self) -> None:
        """Serves the driver until it hangs up, is sent away, or breaks a rule."""
        requests = _together(asyncio.FIRST_EXCEPTION, self._receive(), self._submit())
        await _together(asyncio.FIRST_COMPLETED, requests, self._relay())

    # ---- up ---------------------------------------------------------------------------------------------------------

    async def _receive(self) -> None:
        """Takes in the driver's messages until it hangs up."""
        message: Any
        while (message := await self._context.read()) is not grpc.aio.EOF:
            check_read(message, self._options.bounds)
            await self._session.heartbeat()
            await self._take(message)
        async with self._changed:
            self._hung_up = True
            self._changed.notify_all()

    async def _take(self, message: Any) -> None:
        kind = message.WhichOneof("message")
        if kind == "batch":
            requests = self._checked(message.batch)
            await self._gather(requests)
            await self._keep_pace(len(requests))
        elif kind != "heartbeat":
            raise Malformed(f"a session's message is {kind or 'empty'}", "Batch or Heartbeat after the Hello")

    async def _keep_pace(self, count: int) -> None:
        """A driver that is too fast is not read for a while; it lives all the same, as its open line says."""
        left_s = self._calls.pace.wait_s(self._session.application, count)
        while left_s > 0:
            pause_s = min(left_s, self._options.heartbeat_ms / 1_000)
            await asyncio.sleep(pause_s)
            await self._session.heartbeat()
            left_s -= pause_s

    def _checked(self, batch: service_pb2.Batch) -> list[Request]:
        if len(batch.requests) > self._options.batch_max:
            raise too_many(len(batch.requests), self._options.batch_max)
        requests = requests_of(batch, self._session.client)
        self._calls.gate.permit(Role.APPLICATION, self._session.application, [request.command for request in requests])
        for request in requests:
            self._check_number(request.number)
            self._highest = max(self._highest, request.number)
        self._check_window(batch.confirmed, max((request.number for request in requests), default=0))
        return requests

    def _check_number(self, number: int) -> None:
        """What was sent before may be sent again; a client that the log does not know may begin anywhere."""
        if number == 0 or (number > self._highest + 1 and self._highest):
            raise Malformed(
                f"request {number} follows request {self._highest}",
                f"a number from 1 to {self._highest + 1}",
                "Nothing of this batch was done; send what is missing first.",
            )

    def _check_window(self, confirmed: int, last: int) -> None:
        """``last``: the highest number of the batch. An earlier session may have sent more than this one takes."""
        if confirmed > self._highest:
            raise Malformed(f"answer {confirmed} is confirmed", f"at most {self._highest}, the highest that was asked")
        self._confirmed = max(self._confirmed, confirmed)
        sent = last - self._confirmed
        if sent > self._options.unconfirmed_max:
            raise refuse(
                Reason.EXHAUSTED,
                f"{sent} requests were sent and not confirmed",
                f"at most {self._options.unconfirmed_max}",
                "Read the answers and confirm them, then go on; nothing of this batch was done.",
            )

    async def _gather(self, requests: list[Request]) -> None:
        """Puts requests behind those that wait; waits where there is no room, and the driver with it."""
        async with self._changed:
            room = self._options.unconfirmed_max
            await self._changed.wait_for(lambda: not self._gathered or len(self._gathered) + len(requests) <= room)
            self._gathered.extend(requests)
            self._changed.notify_all()

    async def _submit(self) -> None:
        """Has the gathered requests carried out, a group at a time; ends when all are, and the driver has hung up."""
        while group := await self._next_group():
            try:
                answers = await self._coordinator.submit(self._session.application, group)
            except (Draining, PartlyDone) as error:
                if not isinstance(getattr(error, "cause", error), Draining):
                    raise
                await self._stop_answering()  # the farewell comes, and says where to ask
                return
            numbers = [request.number for request in group]
            for reply in _in_pieces(list(zip(numbers, answers, strict=True)), self._options.message_bytes_max // 2):
                await self._send(reply)

    async def _stop_answering(self) -> None:
        async with self._changed:
            self._answering = False
            self._changed.notify_all()

    async def _next_group(self) -> list[Request]:
        await self._stop_answering()
        async with self._changed:
            await self._changed.wait_for(lambda: bool(self._gathered) or self._hung_up or self._leaving)
            if self._leaving:
                return []
            group, self._gathered = self._gathered, []
            self._answering = bool(group)
            self._changed.notify_all()
            return group

    # ---- down -------------------------------------------------------------------------------------------------------

    async def _relay(self) -> None:
        """Passes on what the replica has for the driver; ends after GoAway, before which go the last answers."""
        async for message in self._session:
            if isinstance(message, GoAway):
                await self._last_answers()
            await self._send(self._reply(message))

    async def _last_answers(self) -> None:
        """Begins nothing new, and waits a moment for the group under way. What is late is answered elsewhere."""
        async with self._changed:
            self._leaving = True
            self._changed.notify_all()
            answered = self._changed.wait_for(lambda: not self._answering)
            with suppress(asyncio.TimeoutError):
                await within(self._options.farewell_s, answered)

    def _reply(self, message: Message) -> service_pb2.SessionReply:
        if isinstance(message, Directive):
            told = directive_shown(message, self._session.newest(message.app_shuffle))
            return service_pb2.SessionReply(directives=service_pb2.Directives(directives=[told]))
        if isinstance(message, Notice):
            return service_pb2.SessionReply(notice=service_pb2.Notice(text=message.text))
        return service_pb2.SessionReply(go_away=service_pb2.GoAway(why=message.why, elsewhere=message.elsewhere))

    async def _send(self, reply: service_pb2.SessionReply) -> None:
        """One reply at a time; a driver that does not read holds up its own line, and not for ever."""
        async with self._writing:
            try:
                await within(self._options.write_within_s, self._context.write(reply), WRITE_STEPS)
            except asyncio.TimeoutError:
                raise refuse(
                    Reason.EXHAUSTED,
                    f"the driver has read nothing for {self._options.write_within_s:g} s",
                    "a driver that reads its answers",
                    "Open the session again; what was answered is answered again.",
                ) from None


def _in_pieces(answers: list[Numbered], bytes_max: int) -> Iterator[service_pb2.SessionReply]:
    """The answers in as many replies as they need."""
    told = answers_to_message(answers)
    if told.ByteSize() <= bytes_max or len(answers) == 1:
        yield service_pb2.SessionReply(answers=told)
        return
    middle = len(answers) // 2
    yield from _in_pieces(answers[:middle], bytes_max)
    yield from _in_pieces(answers[middle:], bytes_max)


async def _together(until: str, *works: Coroutine[Any, Any, None]) -> None:
    """Runs all until the first, or the last, has ended; ends the others, and raises what one of them raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=until)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in ended:
        task.result()
