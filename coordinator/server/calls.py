"""Commands, one a call.

Responsible for carrying one command, or a batch of them, from a caller to the replica and its answer back. Refuses to
know sessions and questions. Invariant: a refusal is a status, never an empty success; who asks under no client's name
asks without a number, and is not protected from asking twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import grpc
from shuffle_lifecycle.v1 import service_pb2

from coordinator import logs
from coordinator.core.commands import RegisterApplication, Request
from coordinator.core.ids import ApplicationId, ClientId
from coordinator.core.rejections import Answer, Reason, Rejection
from coordinator.core.state import Meta
from coordinator.core.values import Lesson, Rule
from coordinator.runtime.api import Coordinator, UnknownApplication
from coordinator.runtime.errors import ArchiveUnread
from coordinator.server.options import ServerOptions
from coordinator.server.pace import Pace
from coordinator.server.security import Gate, Role, Shown, token_of
from coordinator.server.statuses import Refused, accept, peer_of, refuse
from coordinator.wire.bounds import check_name
from coordinator.wire.errors import Malformed
from coordinator.wire.messages import answer_fields, answers_to_message, command_of, requests_of

Context = grpc.aio.ServicerContext[Any, Any]

#: The fields that hold commands: not looked into before the caller is let in.
COMMANDS = ("command", "requests")

#: What is kept of a caller's time for the answer's way back: so many seconds, and no more than this share.
_RETURN_S = 0.5
_RETURN_SHARE = 0.1

_NAMES_SHOWN = 5  #: Of the applications that lessons are of.

log = logs.logger(__name__)


@dataclass(frozen=True, slots=True)
class Calls:
    """The commands of one server."""

    coordinator: Coordinator
    gate: Gate
    options: ServerOptions
    pace: Pace  #: Of an application's requests; its session waits, single calls are refused.
    arrivals: Pace  #: Of new applications.

    async def command(self, call: Any, context: Context) -> dict[str, Any]:
        """Carries out the call's command; the fields of its reply."""
        _check_call(call)
        role = await self._admit(call.caller, 1, context)
        self.options.bounds.check(call)
        requests = [_request(call)]
        self.gate.permit(role, call.caller.application, [request.command for request in requests])
        (answer,) = await self._submit(call.caller, requests, context)
        return _told(answer)

    async def register(self, call: Any, context: Context) -> dict[str, Any]:
        """Registers an application, which may be the first that is heard of it."""
        _check_call(call)
        self.options.bounds.check(call)
        shown = Shown(token(call.caller, context), call.proof, call.registration_token)
        answer, secret = await self.enroll(_request(call), shown)
        accept(answer)
        return {**_told(answer), "token": secret}

    async def enroll(self, request: Request, shown: Shown) -> tuple[Answer, str]:
        """Registers what is not known yet, and tells its token; what is known, only for who shows token or proof."""
        wished = request.command
        if not isinstance(wished, RegisterApplication) or not wished.application:
            raise Malformed("no application is named", "a UUID in `command.application`")
        check_name("RegisterApplication.application", wished.application)
        meta = await self._known(wished.application)
        if meta is None:
            minted = self.gate.mint(wished, shown)
            _keep_pace(self.arrivals, "", 1, "new applications", "limits.registrations_per_s")
            answer = await self._register(request, wished, minted.kept)
            if not _is_known_already(answer):
                self._warn_of_untaught(wished)
                return answer, minted.token
            meta = await self.coordinator.registration(wished.application)  # another replica was faster
        secret = self.gate.know_again(wished, meta, shown)
        return await self._register(request, wished, meta.token_hash), secret

    def _warn_of_untaught(self, wished: RegisterApplication) -> None:
        """Policy `history` without history is `frontier`, and nothing else would show that a name is another one."""
        if wished.policy.rule is Rule.HISTORY and not self._lessons_of(wished):
            known = sorted(self.options.lessons)
            told = "no lessons of this application: policy history goes as frontier"
            log.warning(told, application=wished.driver.name, taught=len(known), names=known[:_NAMES_SHOWN])

    def _lessons_of(self, wished: RegisterApplication) -> tuple[Lesson, ...]:
        return self.options.lessons.get(wished.driver.name, wished.settings.lessons)

    async def _register(self, request: Request, wished: RegisterApplication, kept: str) -> Answer:
        lessons = self._lessons_of(wished)
        taught = replace(wished, token_hash=kept, settings=replace(wished.settings, lessons=lessons))
        return await self.coordinator.register(replace(request, command=taught))

    async def _known(self, application: ApplicationId) -> Meta | None:
        try:
            return await self.coordinator.registration(application)
        except UnknownApplication:
            return None
        except ArchiveUnread as error:  # the store does not know it; that is enough for a driver to begin
            log.warning("archive not asked", application=application, error=str(error))
            return None

    async def submit(self, call: Any, context: Context) -> service_pb2.SubmitReply:
        """Carries out a batch of commands; refusals stand among the answers."""
        if len(call.requests) > self.options.batch_max:
            raise too_many(len(call.requests), self.options.batch_max)
        role = await self._admit(call.caller, len(call.requests), context)
        self.options.bounds.check(call)
        requests = _batch(call)
        self.gate.permit(role, call.caller.application, [request.command for request in requests])
        answers = await self._submit(call.caller, requests, context)
        numbered = zip([request.number for request in requests], answers, strict=True)
        return service_pb2.SubmitReply(answers=answers_to_message(numbered).answers)

    async def _admit(self, caller: Any, count: int, context: Context) -> Role:
        """Who it is, at its pace; before anything that it says is looked into."""
        role = await self.gate.admit(caller.application, token(caller, context))
        what, limit = "requests of the application", "limits.requests_per_s"
        _keep_pace(self.pace, caller.application, count, what, limit)
        return role

    async def _submit(self, caller: Any, requests: Sequence[Request], context: Context) -> list[Answer]:
        application = ApplicationId(caller.application)
        answers = await self.coordinator.submit(application, requests, within_s=_within_s(context))
        for request, answer in zip(requests, answers, strict=True):
            if isinstance(answer, Rejection) and not request.number:  # of a client without a name the log notes none
                kind = f"{answer.reason.value}: {type(request.command).__name__}"
                await self.coordinator.audit(peer_of(context.peer()), kind, application)
        return answers


def calls_of(coordinator: Coordinator, gate: Gate, options: ServerOptions) -> Calls:
    """The commands of a server with these options."""
    return Calls(coordinator, gate, options, Pace(options.requests_per_s), Pace(options.registrations_per_s))


def _within_s(context: Context) -> float | None:
    """How long it may take: less than its caller waits, who would else never hear why there is no answer."""
    left_s: Any = context.time_remaining()  # None where the caller waits for ever
    return None if left_s is None else left_s - min(_RETURN_S, _RETURN_SHARE * left_s)


def token(caller: Any, context: Context) -> str:
    """The caller's token, from wherever it came."""
    return token_of(caller.token, context.invocation_metadata())


def too_many(found: int, limit: int) -> Malformed:
    """A batch that is too large."""
    return Malformed(f"the batch holds {found} requests", f"at most {limit}", "Send it in several batches.")


def _check_call(call: Any) -> None:
    """What can be seen from outside of the command."""
    caller = call.caller
    if not call.HasField("command"):
        raise Malformed(f"{call.DESCRIPTOR.name} holds no command", "one in the field `command`")
    if caller.client and not caller.number:
        raise Malformed("`number` is 0", "the client's consecutive number, from 1", "Number it, or leave out `client`.")


def _request(call: Any) -> Request:
    caller = call.caller
    number = caller.number if caller.client else 0
    return Request(ClientId(caller.client), number, command_of(call.command), caller.confirmed)


def _batch(call: Any) -> list[Request]:
    batch = service_pb2.Batch(requests=call.requests, confirmed=call.caller.confirmed)
    requests = requests_of(batch, ClientId(call.caller.client))
    return requests if call.caller.client else [replace(request, number=0) for request in requests]


def _told(answer: Answer) -> dict[str, Any]:
    if isinstance(answer, Rejection):
        raise Refused(answer)
    return answer_fields(answer)


def _keep_pace(pace: Pace, who: str, count: int, what: str, limit: str) -> None:
    wait_s = pace.wait_s(who, count)
    if wait_s:
        pace.forgive(who, count)
        raise refuse(
            Reason.EXHAUSTED,
            f"more than {pace.per_s} {what} have come a second for a while",
            f"at most {pace.per_s} ({limit})",
            f"Nothing was done; come again in {wait_s:.1f} s.",
            max(1, int(wait_s * 1_000)),
            kind="limit",
        )


def _is_known_already(answer: Answer) -> bool:
    return isinstance(answer, Rejection) and answer.reason is Reason.ALREADY_EXISTS
