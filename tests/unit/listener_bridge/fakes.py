"""A coordinator, a tap and a shuffle service that do what a test says.

Responsible for: standing in for the three neighbours of the bridge, over the same contracts: gRPC, facts, verbs.
Refuses to know: rules. The fake coordinator answers what it was told to, late, wrongly or not at all.
Invariant: all that was said to them is kept, in order.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from shuffle_lifecycle.v1 import common_pb2, service_pb2, service_pb2_grpc

from listener_bridge.shuffle_services import api
from listener_bridge.tap.facts import Fact, Level, MarkerPassed, Snapshot, StageFact
from listener_bridge.words import Request

PATIENCE = 20.0
Answer = Callable[[Request], dict[str, Any]]


def stage(
    stage_id: int,
    writes: int | None = None,
    parents: tuple[int, ...] = (),
    attempt: int = 0,
    tasks: int = 4,
    level: Level = Level.DETERMINATE,
    name: str = "",
) -> StageFact:
    """A stage as the tap tells it."""
    return StageFact(stage_id, attempt, tasks, writes, parents, name, f"site {stage_id}", level, False, (stage_id,), ())


def accepted(_: Request) -> dict[str, Any]:
    return {"accepted": service_pb2.Accepted()}


class FakeCoordinator(service_pb2_grpc.ShuffleLifecycleServicer):
    """One replica at a port of this machine."""

    def __init__(self, answer: Answer = accepted) -> None:
        self.answer = answer
        self.answers = True  #: False: it hears and says nothing.
        self.welcomes = True
        self.lineage_ahead = False  #: An older one does not know of it.
        self.elsewhere: list[str] = []  #: Whom Welcome names.
        self.answered = -1  #: What Welcome tells; below 0: the truth.
        self.refuse_with: tuple[grpc.StatusCode, str] | None = None
        self.cannot_take: Callable[[Request], bool] = lambda _: False  #: It ends the session with what is wrong.
        self.what_is_wrong = grpc.StatusCode.INVALID_ARGUMENT, "the message has 300001 items in its lists"
        self.hellos: list[service_pb2.Hello] = []
        self.requests: list[Request] = []
        self.heartbeats = 0
        self.application: service_pb2.Application | None = None  #: What it tells of any; None: it does not know one.
        self.callers: list[service_pb2.Caller] = []
        self._changed = threading.Condition()
        self._lines: list[queue.SimpleQueue[service_pb2.SessionReply | None]] = []
        self._is_wrong = False
        self._server: grpc.Server | None = None
        self._pool: ThreadPoolExecutor | None = None
        self.port = 0

    # ---- its life ----

    def __enter__(self) -> FakeCoordinator:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Serve; at the same port as before, where there was one."""
        self._pool = ThreadPoolExecutor(8)
        self._server = grpc.server(self._pool, options=[("grpc.so_reuseport", 0)])
        service_pb2_grpc.add_ShuffleLifecycleServicer_to_server(self, self._server)
        self.port = self._server.add_insecure_port(f"127.0.0.1:{self.port}")
        self._server.start()

    def stop(self) -> None:
        """Die: connections break."""
        for line in self._lines:
            line.put(None)
        if self._server is not None and self._pool is not None:
            self._server.stop(0).wait()
            self._pool.shutdown()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    # ---- what it says ----

    def direct(self, *directives: service_pb2.Directive) -> None:
        self.say(service_pb2.SessionReply(directives=service_pb2.Directives(directives=directives)))

    def say(self, reply: service_pb2.SessionReply) -> None:
        """To the newest session."""
        self._lines[-1].put(reply)

    # ---- what it heard ----

    def wait(self, condition: Callable[[], object], what: str) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, PATIENCE), f"waited {PATIENCE} s in vain for {what}"

    def commands(self) -> list[str]:
        return [str(request.WhichOneof("command")) for request in self.requests]

    def numbers(self) -> list[int]:
        return [request.number for request in self.requests]

    # ---- the service ----

    def Session(self, requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:  # noqa: N802
        hello = next(requests).hello
        self._note(lambda: self.hellos.append(hello))
        if self.refuse_with is not None:
            context.abort(*self.refuse_with)
        line: queue.SimpleQueue[service_pb2.SessionReply | None] = queue.SimpleQueue()
        self._lines.append(line)
        if self.welcomes:
            yield service_pb2.SessionReply(welcome=self._welcome(hello))
        hearing = threading.Thread(target=self._hear, args=(requests, line), daemon=True)
        hearing.start()
        while (reply := line.get()) is not None:
            yield reply
        if self._is_wrong:
            self._is_wrong = False
            context.abort(*self.what_is_wrong)

    def GetApplication(self, asked: Any, context: grpc.ServicerContext) -> service_pb2.Application:  # noqa: N802
        self.callers.append(asked.caller)
        if self.application is None:
            context.abort(grpc.StatusCode.NOT_FOUND, "there is none")
        assert self.application is not None
        return self.application

    def _welcome(self, hello: service_pb2.Hello) -> service_pb2.Welcome:
        highest = max([0, *self.numbers()]) if hello.client == self.hellos[0].client else 0
        limits = service_pb2.Limits(max_batch=8, max_unconfirmed=64, max_message_bytes=1 << 20, heartbeat_ms=200)
        limits.lineage_ahead = self.lineage_ahead
        answered = highest if self.answered < 0 else self.answered
        token = "" if hello.token else f"told-{len(self.hellos)}"
        return service_pb2.Welcome(answered=answered, limits=limits, token=token, elsewhere=self.elsewhere)

    def _hear(self, requests: Iterator[Any], line: queue.SimpleQueue[service_pb2.SessionReply | None]) -> None:
        try:
            for message in requests:
                self._take(message, line)
        except grpc.RpcError:
            return
        except Exception:  # noqa: BLE001 - gRPC raises a bare one where the call has ended
            return
        finally:
            line.put(None)

    def _take(self, message: Any, line: queue.SimpleQueue[service_pb2.SessionReply | None]) -> None:
        batch = list(message.batch.requests)
        if not batch:
            self._note(lambda: setattr(self, "heartbeats", self.heartbeats + 1))
            return
        if any(map(self.cannot_take, batch)):
            self._is_wrong = True
            line.put(None)
            return
        if self.answers:
            answers = [service_pb2.NumberedAnswer(number=one.number, **self.answer(one)) for one in batch]
            line.put(service_pb2.SessionReply(answers=service_pb2.Answers(answers=answers)))
        self._note(lambda: self.requests.extend(batch))

    def _note(self, change: Callable[[], object]) -> None:
        with self._changed:
            change()
            self._changed.notify_all()


class FakeTap:
    """A stream of facts that the test writes."""

    def __init__(self, present: Snapshot | None = Snapshot("snapshot-0", (), (), ())) -> None:  # noqa: B008 - frozen
        self.present = present
        self.is_closed = False
        self._facts: queue.SimpleQueue[tuple[Fact, ...] | Exception | None] = queue.SimpleQueue()

    def tell(self, *facts: Fact) -> None:
        self._facts.put(facts)

    def end(self) -> None:
        self._facts.put(None)

    def fail(self, error: Exception) -> None:
        self._facts.put(error)

    def take(self, max_rows: int = 1000, timeout_s: float = 2.0) -> tuple[Fact, ...] | None:
        try:
            taken = self._facts.get(timeout=timeout_s)
        except queue.Empty:
            return ()
        if isinstance(taken, Exception):
            raise taken
        return taken

    def post_marker(self, name: str, payload: str = "") -> None:
        self.tell(MarkerPassed(0, name, payload))

    def snapshot(self, timeout_s: float = 5.0) -> Snapshot | None:
        if self.present is not None:
            self.post_marker(self.present.marker)
        return self.present

    def close(self) -> None:
        self.is_closed = True
        self.end()


class FakeService:
    """A shuffle service that answers what it was told to."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.calls: list[tuple[Any, ...]] = []
        self.before: Callable[[str], None] = lambda _: None  #: Called inside each verb.

    def probe(self) -> api.Capability:
        return api.Capability("fake", True, True, True, may_have_to_keep="keeps" in self.answers)

    def holds(self, app_shuffle: int) -> Any:
        return self._did("holds", app_shuffle)

    def fence(self, app_shuffle: int, timeout_s: float, generation: api.Locator | None = None) -> Any:
        return self._did("fence", app_shuffle)

    def free(self, locator: api.Locator, timeout_s: float) -> Any:
        return self._did("free", locator)

    def forget(self, locator: api.Locator, timeout_s: float) -> Any:
        return self._did("forget", locator)

    def invalidate(self, locator: api.Locator, timeout_s: float) -> Any:
        return self._did("invalidate", locator)

    def keeps(self, app_shuffle: int) -> Any:
        return self._did("keeps", app_shuffle)

    def close(self) -> None:
        self.calls.append(("close",))

    def _did(self, verb: str, what: Any) -> Any:
        self.before(verb)
        self.calls.append((verb, what))
        answer = self.answers[verb]
        if isinstance(answer, Exception):
            raise answer
        return answer


LOCATOR = api.Locator("fake", "app/1/0")


def fence(directive: int, shuffle_id: int = 1, app_shuffle: int = 1) -> service_pb2.Directive:
    kind = common_pb2.DIRECTIVE_KIND_FENCE
    return service_pb2.Directive(directive=directive, kind=kind, shuffle_id=shuffle_id, app_shuffle=app_shuffle)


def delete(directive: int, locator: api.Locator | None = LOCATOR) -> service_pb2.Directive:
    said = service_pb2.Directive(
        directive=directive, kind=common_pb2.DIRECTIVE_KIND_DELETE, shuffle_id=1, app_shuffle=1
    )
    if locator is not None:
        said.locator.CopyFrom(common_pb2.Locator(service=locator.service, payload=locator.payload.encode()))
    return said
