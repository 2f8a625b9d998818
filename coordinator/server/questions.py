"""Questions: what is so, and what has happened.

Responsible for paging and for saying what exists where something was not found. Refuses to change anything. Invariant:
what was acknowledged before a question was asked is seen by its answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from google.protobuf.message import Message
from shuffle_lifecycle.v1 import events_pb2, service_pb2

from coordinator.core.ids import ApplicationId
from coordinator.core.rejections import Reason
from coordinator.core.state import State
from coordinator.runtime import views
from coordinator.runtime.api import Coordinator
from coordinator.server import shown
from coordinator.server.calls import Context, token
from coordinator.server.options import ServerOptions
from coordinator.server.security import Gate, token_of
from coordinator.server.statuses import RETRY_MS, Refused, refuse
from coordinator.wire.bounds import check_name
from coordinator.wire.codec import record_to_message

M = TypeVar("M", bound=Message)

_PAGE = 100
_PAGE_MAX = 1_000
_EVENTS = 1_000
_EVENTS_MAX = 10_000
_DIGITS = 20  #: Of a page token that is a number.
_SHOWN = 100  #: Characters of one that is none.


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions of one server."""

    coordinator: Coordinator
    gate: Gate
    options: ServerOptions
    tails: Counter[ApplicationId] = field(default_factory=Counter)  #: Under way.

    async def applications(self, asked: Any, context: Context) -> service_pb2.ListApplicationsReply:
        """Registered applications, a page."""
        await self.gate.admit_administrator(token_of(asked.token, context.invocation_metadata()))
        size = _page_size(asked.page_size)
        check_name("ListApplicationsRequest.page_token", asked.page_token)
        found = await self.coordinator.applications(asked.page_token, size + 1, asked.running_only)
        signs = await self.coordinator.signs([one.application for one in found if one.ending is None])
        page = self._fitting(shown.record_shown(one, signs.get(one.application)) for one in found[:size])
        more = page[-1].application if len(page) < len(found) else ""
        return service_pb2.ListApplicationsReply(applications=page, next_page_token=more)

    async def replicas(self, asked: Any, context: Context) -> service_pb2.ListReplicasReply:
        """Replicas of the same store."""
        await self.gate.admit_administrator(token_of(asked.token, context.invocation_metadata()))
        found = await self.coordinator.roll_call()
        return service_pb2.ListReplicasReply(replicas=[shown.replica_shown(peer) for peer in found])

    async def application(self, asked: Any, context: Context) -> service_pb2.Application:
        """One application."""
        state = await self._state(asked, context)
        application = ApplicationId(asked.caller.application)
        return shown.application_shown(state, (await self.coordinator.signs([application])).get(application))

    async def shuffles(self, asked: Any, context: Context) -> service_pb2.ListShufflesReply:
        """Generations, a page."""
        after, size = _page_after(asked.page_token), _page_size(asked.page_size)
        wanted = {shown.number_of(life) for life in shown.lives_of(asked.lives)}
        state = await self._state(asked, context)
        found = [one for one in shown.shuffles_shown(state) if one.life in wanted and one.shuffle_id > after]
        page = found[:size]
        more = str(page[-1].shuffle_id) if len(found) > size else ""
        return service_pb2.ListShufflesReply(shuffles=page, next_page_token=more)

    async def shuffle(self, asked: Any, context: Context) -> service_pb2.Shuffle:
        """One generation, by its id, or the newest of an app shuffle."""
        which = asked.WhichOneof("which")
        if which is None:
            raise refuse(Reason.INVALID, "no shuffle is named", "`shuffle_id` or `app_shuffle`", "Name one.")
        wanted = getattr(asked, which)
        state = await self._state(asked, context)
        told = shown.shuffles_shown(state)
        found = [one for one in told if getattr(one, which) == wanted]
        if found:
            return found[-1]
        gone = shown.long_gone_shown(state, wanted) if which == "shuffle_id" else None
        if gone is None:
            raise _not_found(state, which, wanted, sorted({getattr(one, which) for one in told}))
        return gone

    async def graph(self, asked: Any, context: Context) -> service_pb2.Graph:
        """Stages, shuffles and the lineage between them."""
        return shown.graph_shown(await self._state(asked, context))

    async def directives(self, asked: Any, context: Context) -> service_pb2.ListDirectivesReply:
        """What the driver was asked to do and has not answered."""
        state = await self._state(asked, context)
        told = [
            shown.directive_shown(directive, views.newest(state, directive.app_shuffle))
            for directive in views.outstanding(state)
        ]
        return service_pb2.ListDirectivesReply(directives=told)

    async def events(self, asked: Any, context: Context) -> service_pb2.ListEventsReply:
        """Events of a range, a page; cut where the message would be too large."""
        application = await self._admitted(asked, context)
        limit = min(asked.limit or _EVENTS, _EVENTS_MAX)
        found = await self.coordinator.events(application, asked.after, limit + 1, self._page_bytes)
        wanted = [one for one in found if not asked.until or one.sequence <= asked.until]
        page = self._fitting(map(record_to_message, wanted[:limit]))
        more = page[-1].sequence if len(page) < len(wanted) else 0
        return service_pb2.ListEventsReply(records=page, next_after=more)

    async def tail(self, asked: Any, context: Context) -> AsyncGenerator[events_pb2.Record, None]:
        """Events from a place on, for as long as the caller listens; to the end of an application that is over."""
        application = await self._admitted(asked, context)
        with self._one_more_tail(application):
            following: Any = self.coordinator.follow(application, asked.after)
            async with aclosing(following):
                async for recorded in following:
                    yield record_to_message(recorded)

    @contextmanager
    def _one_more_tail(self, application: ApplicationId) -> Iterator[None]:
        if self.tails[application] >= self.options.tails_max:
            raise refuse(
                Reason.EXHAUSTED,
                f"{self.tails[application]} calls follow application {application} already",
                f"at most {self.options.tails_max} (limits.tails)",
                "End one of them, follow at another replica, or ask with ListEvents.",
                RETRY_MS,
                kind="limit",
            )
        self.tails[application] += 1
        try:
            yield
        finally:
            self.tails.subtract((application,))
            if not self.tails[application]:
                del self.tails[application]

    async def _state(self, asked: Any, context: Context) -> State:
        return await self.coordinator.view(await self._admitted(asked, context))

    async def _admitted(self, asked: Any, context: Context) -> ApplicationId:
        caller = asked.caller
        await self.gate.admit(caller.application, token(caller, context))
        return ApplicationId(caller.application)

    @property
    def _page_bytes(self) -> int:
        return self.options.message_bytes_max // 2

    def _fitting(self, messages: Iterable[M]) -> list[M]:
        """The first messages that fit into half a message; at least one."""
        page: list[M] = []
        left = self._page_bytes
        for message in messages:
            left -= message.ByteSize()
            if page and left < 0:
                break
            page.append(message)
        return page


def _page_size(asked: int) -> int:
    return min(asked or _PAGE, _PAGE_MAX)


def _page_after(page_token: str) -> int:
    if not page_token:
        return 0
    if not page_token.isdecimal() or len(page_token) > _DIGITS:
        raise refuse(
            Reason.INVALID,
            f"the page token is {page_token[:_SHOWN]!r}",
            "the `next_page_token` of the reply before",
            "Begin again without one.",
        )
    return int(page_token)


def _not_found(state: State, which: str, wanted: int, exist: list[int]) -> Refused:
    there = f"one of {_few(exist)}" if exist else "any, once a job has been reported: there is none yet"
    return refuse(Reason.NOT_FOUND, _unfound(state, which, wanted), there, "List them with ListShuffles.")


def _unfound(state: State, which: str, wanted: int) -> str:
    """What is true of a number that was asked for and not found.

    Nothing is kept of an app shuffle that was cleaned, so it cannot be told from one that never was.
    """
    if which == "shuffle_id":
        return f"shuffle id {wanted} was never given out"
    if wanted in state.shuffles:
        return f"app shuffle {wanted} is announced and not yet written"
    return f"app shuffle {wanted} is not known: never told, or removed by Spark's own cleaner"


def _few(numbers: list[int]) -> str:
    told = ", ".join(map(str, numbers[:10]))
    return told if len(numbers) <= 10 else f"{told}, … {numbers[-1]} ({len(numbers)} in all)"
