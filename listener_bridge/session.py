"""One conversation with one coordinator replica: from Hello until either side ends it.

Responsible for: the stream of the session: what is said first, batches as they come, a heartbeat in silence, handing on
what is heard, and noticing a peer that does not answer.
Refuses to know: other replicas, what to do when it ends (`client`), what requests and directives mean.
Invariant: it ends within its patience of the peer's falling silent, and only its own two threads wait for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from enum import Enum
from typing import Any, Protocol

import grpc
from shuffle_lifecycle.v1 import errors_pb2, service_pb2, service_pb2_grpc

from listener_bridge.allowance import Allowance
from listener_bridge.channels import Opener, plain

CONNECT_LIMIT_S = 3.0  # a replica that is paused or cut off takes connections and says nothing
WELCOME_LIMIT_S = 15.0  # to register and to read the log
ANSWER_LIMIT_S = 30.0
ANSWER_LIMIT_WITH_OTHERS_S = 6.0  # where somebody else may answer: a move that was not needed does no harm
HEARTBEAT_MAX_S = 30.0
BATCH_MAX = 1_024
BATCH_BYTES_MAX = 1_000_000
MESSAGE_PAUSE_S = 0.05  # between messages that keep coming: each is work for us, and a commit for the coordinator
MESSAGES_AHEAD = 40  # a deletion takes several, each of which would be waited for


class Ending(Enum):
    """Why a conversation is over, as far as it changes what comes next."""

    CLOSED = "closed by us"
    AWAY = "the coordinator went away"
    SENT_AWAY = "the coordinator asked us to go on elsewhere"
    NOT_HEARD = "the coordinator is there and answers no more of our requests now"
    NOT_TAKEN = "the coordinator cannot take what we have sent"
    FORGOTTEN = "the coordinator has lost what it confirmed"
    OVER = "the application is over, as the coordinator sees it"
    REFUSED = "the coordinator will not have us"


class Desk(Protocol):
    """What a session needs of the bridge. Only `take` waits; all are called from the session's own threads."""

    def hello(self) -> service_pb2.Hello:
        """Who we are, with the token, and how far answers have come: what the session begins with."""

    def taken(self) -> int:
        """The highest number that was answered with no refusal: of what it refused a coordinator need not know."""

    def welcomed(self, welcome: service_pb2.Welcome, address: str) -> None:
        """The coordinator at this address has let us in, under these limits."""

    def take(self, most: int, bytes_max: int, timeout_s: float, session: Session) -> service_pb2.Batch:
        """What is to be sent next, by its numbers; waits up to `timeout_s` seconds, and is empty where nothing came."""

    def wake(self) -> None:
        """Has `take` look again at whether the session is over."""

    def is_behind(self) -> bool:
        """Whether something was sent that has no answer yet."""

    def answered(self, answer: service_pb2.NumberedAnswer) -> None:
        """An answer has come; it may be for several numbers."""

    def directed(self, directives: service_pb2.Directives) -> None:
        """Directives have come, perhaps not for the first time."""

    def noticed(self, text: str) -> None:
        """A word for people has come."""


class Session:
    """One conversation. `converse` belongs to one thread; `close` may be called from any."""

    def __init__(self, desk: Desk, address: str, open_channel: Opener = plain, has_others: bool = False) -> None:
        """`has_others`: there are addresses to go on to where this one falls silent."""
        self.why = ""  #: What was said of the ending, for people.
        self.elsewhere: tuple[str, ...] = ()
        self.was_welcomed = False
        self._desk = desk
        self._address = address
        self._open = open_channel
        self._patience_s = ANSWER_LIMIT_WITH_OTHERS_S if has_others else ANSWER_LIMIT_S
        self._ending: Ending | None = None
        self._welcome = threading.Event()
        self._over = threading.Event()
        self._limits = service_pb2.Limits()
        self._hello, self._taken = desk.hello(), desk.taken()
        self._heard_s = time.monotonic()
        self._asked_s = 0.0  # when something was sent to a peer that owed nothing; 0: it owes nothing
        self._call: grpc.Call | None = None

    @property
    def is_over(self) -> bool:
        return self._ending is not None

    def converse(self) -> Ending:
        """Talk until it is over; answers why."""
        with self._open(self._address) as channel:
            try:
                self._listen(channel)
            except grpc.RpcError as error:
                self._end(_ending_of(error, self.was_welcomed), _words_of(error))
            finally:
                self._end(Ending.AWAY, "the coordinator hung up")
        return self._ending or Ending.AWAY

    def close(self) -> None:
        """Hang up."""
        self._end(Ending.CLOSED, "closed")
        if self._call is not None:
            self._call.cancel()

    # ---- what is heard ----

    def _listen(self, channel: grpc.Channel) -> None:
        connecting = threading.Timer(CONNECT_LIMIT_S, self._hang_up, ("no connection", CONNECT_LIMIT_S))
        connecting.daemon = True
        call = service_pb2_grpc.ShuffleLifecycleStub(channel).Session(self._say(connecting))
        self._call = call
        if self.is_over:  # closed before there was a call to cancel
            call.cancel()
        connecting.start()
        try:
            for reply in call:
                is_answer = reply.HasField("answers")
                if is_answer:
                    self._heard_s, self._asked_s = time.monotonic(), 0.0
                self._hear(reply)
                if self.is_over:
                    return
                if is_answer and self._desk.is_behind():  # it owes some still, whatever else it says meanwhile
                    self._asked_s = self._asked_s or self._heard_s
        finally:
            connecting.cancel()
            call.cancel()

    def _hear(self, reply: service_pb2.SessionReply) -> None:
        kind = reply.WhichOneof("message")
        if kind == "answers":
            for answer in reply.answers.answers:
                self._hear_answer(answer)
        elif kind == "directives":
            self._desk.directed(reply.directives)
        elif kind == "welcome":
            self._hear_welcome(reply.welcome)
        elif kind == "notice":
            self._desk.noticed(reply.notice.text)
        elif kind == "go_away":
            self.elsewhere = tuple(reply.go_away.elsewhere) or self.elsewhere
            self._end(Ending.SENT_AWAY, reply.go_away.why)

    def _hear_welcome(self, welcome: service_pb2.Welcome) -> None:
        if self.was_welcomed:
            return  # said twice, it must not have everything sent again
        if self._hello.confirmed and welcome.answered < max(1, self._taken):
            self._end(
                Ending.FORGOTTEN,
                f"it knows this driver's requests up to {welcome.answered} and had taken those up to {self._taken}",
            )
            return
        self._limits = welcome.limits
        self.elsewhere = tuple(welcome.elsewhere)
        self.was_welcomed = True
        self._desk.welcomed(welcome, self._address)
        self._welcome.set()

    def _hear_answer(self, answer: service_pb2.NumberedAnswer) -> None:
        """A refusal of the client itself leaves the number open: it is asked again in the next session."""
        if answer.WhichOneof("answer") == "rejection" and _is_about_the_client(answer.rejection):
            self._end(Ending.NOT_HEARD, f"{answer.rejection.fact}. {answer.rejection.next_step}")
        else:
            self._desk.answered(answer)

    # ---- what is said ----

    def _say(self, connecting: threading.Timer) -> Iterator[service_pb2.SessionRequest]:
        """In a thread of gRPC's, which pulls the next message when the one before has left."""
        yield service_pb2.SessionRequest(hello=self._hello)
        connecting.cancel()
        if not self._welcome.wait(WELCOME_LIMIT_S):
            self._hang_up("no Welcome", WELCOME_LIMIT_S)
        limits = self._limits
        most = max(1, min(limits.max_batch or BATCH_MAX, BATCH_MAX))
        bytes_max = max(1_000, min((limits.max_message_bytes or 2 * BATCH_BYTES_MAX) // 2, BATCH_BYTES_MAX))
        pause_s = min(max(0.1, (limits.heartbeat_ms or 5_000) / 1000), HEARTBEAT_MAX_S)
        allowance = Allowance(MESSAGE_PAUSE_S, time.monotonic(), MESSAGES_AHEAD)
        while not self.is_over:
            self._over.wait(allowance.wait_s(time.monotonic()))
            batch = self._desk.take(most, bytes_max, self._pause_s(pause_s), self)
            self._watch_silence()
            allowance.spend(time.monotonic())
            if not self.is_over:
                yield self._message(batch)

    def _pause_s(self, heartbeat_s: float) -> float:
        """How long to wait for something to say; whoever waits for an answer looks at the clock meanwhile."""
        return min(heartbeat_s, self._patience_s / 4) if self._asked_s else heartbeat_s

    def _message(self, batch: service_pb2.Batch) -> service_pb2.SessionRequest:
        if not batch.requests:
            return service_pb2.SessionRequest(heartbeat=service_pb2.Heartbeat())
        self._asked_s = self._asked_s or time.monotonic()
        return service_pb2.SessionRequest(batch=batch)

    def _watch_silence(self) -> None:
        """A peer that owes answers and says nothing is as good as away."""
        since_s = max(self._asked_s, self._heard_s)
        if self._asked_s and self._desk.is_behind() and time.monotonic() - since_s > self._patience_s:
            self._hang_up("no answer", self._patience_s)

    def _hang_up(self, what: str, limit_s: float) -> None:
        self._end(Ending.AWAY, f"{what} within {limit_s:g} s")
        if self._call is not None:
            self._call.cancel()

    def _end(self, ending: Ending, why: str) -> None:
        if self._ending is None:
            self._ending, self.why = ending, why
        self._over.set()
        self._welcome.set()
        self._desk.wake()


def _is_about_the_client(rejection: errors_pb2.Rejection) -> bool:
    """Not registered, too far ahead of its confirmations, over: no fact of its would be taken."""
    return rejection.reason == errors_pb2.REASON_FAILED_PRECONDITION and not rejection.HasField("app_shuffle")


_ENDINGS = {
    grpc.StatusCode.FAILED_PRECONDITION: Ending.OVER,
    grpc.StatusCode.PERMISSION_DENIED: Ending.REFUSED,
    grpc.StatusCode.UNAUTHENTICATED: Ending.REFUSED,
    grpc.StatusCode.ALREADY_EXISTS: Ending.REFUSED,
}
#: What was sent breaks a rule, or a mistake in the coordinator does: of what is sent first, in the next session too.
_NOT_TAKEN = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.INTERNAL)
_LARGER = "message larger than max"


def _ending_of(error: grpc.RpcError, was_welcomed: bool) -> Ending:
    code = _said_by(error, "code")
    if was_welcomed and (code in _NOT_TAKEN or _is_too_large(error)):
        return Ending.NOT_TAKEN
    return _ENDINGS.get(code, Ending.AWAY)


def _is_too_large(error: grpc.RpcError) -> bool:
    """gRPC's own words: what was sent under a larger limit, and not answered, is larger than this one's."""
    is_exhausted = _said_by(error, "code") is grpc.StatusCode.RESOURCE_EXHAUSTED
    return is_exhausted and _LARGER in str(_said_by(error, "details") or "")


def _words_of(error: grpc.RpcError) -> str:
    code, details = _said_by(error, "code"), _said_by(error, "details")
    return f"{getattr(code, 'name', type(error).__name__)}: {str(details or '')[:500]}"


def _said_by(error: grpc.RpcError, what: str) -> Any:
    """What gRPC's errors say of themselves; its types do not tell that they do."""
    ask = getattr(error, what, None)
    return ask() if callable(ask) else None
