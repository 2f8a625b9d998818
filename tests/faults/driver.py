"""One simulated driver: the real bridge over a tap that tells nothing by itself, and a story that tells jobs.

Responsible for jobs that write, read, read again and lose shuffles, as a scheduler would run them, and for writing down
each request with its answer. Refuses to know which replica answers, and what goes wrong. Invariant: a request is in the
history before it is sent; what Spark would know, the story knows; it goes on, whatever happens, until it may rest.
"""

from __future__ import annotations

import queue
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc
from shuffle_lifecycle.v1 import common_pb2, service_pb2, service_pb2_grpc

from listener_bridge.bridge import Bridge
from listener_bridge.session import Session
from listener_bridge.tap.facts import Fact, MarkerPassed, Snapshot
from tests.faults.disk import Disk, Slowness
from tests.faults.history import Recorder

TASKS = "tasks"
ASK_AGAIN_S = 0.03
CALL_S = 3.0
NEWER_SHARE = 0.3
Request = service_pb2.NumberedRequest


class Over(Exception):  # noqa: N818 - it is how a driver's life ends
    """The coordinator will not have this driver any more, or the story is to end at once."""


class QuietTap:
    """A stream of facts that has only the markers that are posted."""

    def __init__(self, recorder: Recorder, who: str) -> None:
        self._facts: queue.SimpleQueue[tuple[Fact, ...] | None] = queue.SimpleQueue()
        self._recorder = recorder
        self._who = who
        self._snapshots = 0

    def post_marker(self, name: str, payload: str = "") -> None:
        self._facts.put((MarkerPassed(0, name, payload),))

    def take(self, max_rows: int = 1000, timeout_s: float = 2.0) -> tuple[Fact, ...] | None:
        try:
            return self._facts.get(timeout=timeout_s)
        except queue.Empty:
            return ()

    def snapshot(self, timeout_s: float = 5.0) -> Snapshot | None:
        """Nothing at the beginning; later nobody should have to ask."""
        self._snapshots += 1
        if self._snapshots > 1:
            self._recorder.note(self._who, "gap")
            return None
        self.post_marker("snapshot-0")
        return Snapshot("snapshot-0", (), (), ())

    def close(self) -> None:
        self._facts.put(None)


@dataclass(eq=False)
class Waiter:
    """Somebody who needs an answer."""

    request: Request
    done: threading.Event = field(default_factory=threading.Event)
    answer: service_pb2.NumberedAnswer | None = None


class WatchedBridge(Bridge):
    """A bridge whose session is written down."""

    def __init__(self, recorder: Recorder, *args: Any) -> None:
        super().__init__(*args)
        self.waiters: list[Waiter] = []
        self._recorder = recorder
        self._who = str(self._registration.application)
        self._begun: dict[int, int] = {}  # request number -> history number; gone when answered
        self._tries: defaultdict[int, int] = defaultdict(int)

    def welcomed(self, welcome: service_pb2.Welcome, address: str) -> None:
        told = {"replica": welcome.replica, "answered": welcome.answered, "address": address}
        self._recorder.note(self._who, "welcomed", **told)
        super().welcomed(welcome, address)

    def directed(self, directives: service_pb2.Directives) -> None:
        for one in directives.directives:
            told = {"directive": one.directive, "kind": one.kind, "shuffle_id": one.shuffle_id}
            self._recorder.note(self._who, "directed", **told)
        super().directed(directives)

    def _begin_as_another(self, address: str) -> str:
        """A story is of one application, and ends with it."""
        self.client.refused = "it was taken for gone"
        return self.application

    def take(self, most: int, bytes_max: int, timeout_s: float, session: Session) -> service_pb2.Batch:
        batch = super().take(most, bytes_max, timeout_s, session)
        client = f"driver-{self._clients}"
        for request in batch.requests:
            self._tries[request.number] += 1
            if self._tries[request.number] == 1:
                told = {"client": client, "number": request.number, **content(request)}
                self._begun[request.number] = self._recorder.begin(self._who, kind_of(request), **told)
        return batch

    def answered(self, answer: service_pb2.NumberedAnswer) -> None:
        for number in range(answer.number, (answer.last or answer.number) + 1):
            begun = self._begun.pop(number, None)
            if begun is not None:
                outcome, told = outcome_of(answer)
                self._recorder.end(begun, outcome, tries=self._tries.pop(number), **told)  # type: ignore[arg-type]
            for waiter in [one for one in self.waiters if one.request.number == number]:
                self.waiters.remove(waiter)
                waiter.answer = answer
                waiter.done.set()
        super().answered(answer)


class Driver:
    """One application."""

    def __init__(
        self,
        application: str,
        addresses: Sequence[str],
        recorder: Recorder,
        seed: int,
        pace_s: float,
        slowness: Slowness | None = None,
        newer: bool = False,
    ) -> None:
        """``newer``: it tells what an older release does not know (`release`)."""
        self.application = application
        self._newer = newer
        self.is_resting = threading.Event()  #: It has told all that it wanted to tell.
        self._recorder = recorder
        self._chance = random.Random(seed)
        self._pace_s = pace_s
        self._rest = threading.Event()
        self._addresses = self._chance.sample(list(addresses), len(addresses))
        tap = QuietTap(recorder, application)
        self._disk = Disk(application, recorder, tap.post_marker, slowness)
        self._tap = tap
        self._bridge = WatchedBridge(recorder, tap, self._disk, registration(application), "", lambda: self._addresses)
        self._tasks = Tasks(application, lambda: self._bridge.token, addresses, recorder, self._chance, self._is_over)
        self._places = 0
        self._stages = 0
        self._jobs = 0
        self._thread = threading.Thread(target=self._run, name=f"story {application}", daemon=True)

    def start(self) -> None:
        self._bridge.start()
        self._thread.start()

    def start_quiet(self) -> None:
        """Without a story: for somebody who only asks."""
        self._bridge.start()

    @property
    def address(self) -> str:
        """Of the replica that holds the session; empty: there is none."""
        return self._bridge.client.address

    def ask(self, **command: Any) -> service_pb2.NumberedAnswer:
        """Asks through the session, and waits for the answer."""
        return self._ask(Request(**command))

    def rest(self) -> None:
        """After the present job, tell no more."""
        self._rest.set()

    def is_quiet(self) -> bool:
        """Whether it rests and everything is answered."""
        return self.is_resting.is_set() and (self._is_over() or not self._bridge.reporter.backlog().unanswered)

    def end(self) -> None:
        """As `spark.stop()`."""
        self._bridge.stop("the test is over", 5.0)

    def _is_over(self) -> bool:
        return bool(self._bridge.client.refused) or self._bridge.is_stopped.is_set()

    # ---- the story ----

    def _run(self) -> None:
        try:
            self._ask(Request(register_client=service_pb2.RegisterClient(client=TASKS)))
            while not self._rest.is_set():
                self._job(self._pick())
                if self._newer and self._chance.random() < NEWER_SHARE:
                    self._tasks.lose_executor()
                time.sleep(self._chance.uniform(0, self._pace_s))
            self._ask(Request(register_client=service_pb2.RegisterClient(client=TASKS)))  # behind all that was told
        except Over:
            self._recorder.note(self.application, "over", why=self._bridge.client.refused)
        finally:
            self.is_resting.set()

    def _pick(self) -> int:
        """A new app shuffle mostly, an old one sometimes."""
        if self._jobs and self._chance.random() < 0.25:
            return max(0, self._jobs - self._chance.randint(1, 5))
        return self._jobs

    def _job(self, shuffle: int) -> None:
        job, maps, final = self._jobs, self._stages, self._stages + 1
        self._jobs, self._stages = self._jobs + 1, self._stages + 2
        self._tell(
            report_job_started=service_pb2.ReportJobStarted(
                job=job,
                final_stage=final,
                reads=[shuffle],
                stages=[common_pb2.Span(first=maps, last=final)],
                lineage=[common_pb2.Lineage(app_shuffle=shuffle, maps=4, level=common_pb2.LEVEL_DETERMINATE)],
            )
        )
        attempts = {maps: 0, final: 0}
        while True:
            reader = common_pb2.StageAttempt(stage=final, attempt=attempts[final])
            if self._disk.begin_read(shuffle, f"{final}.{attempts[final]}"):
                attempts[final] += 1
                if self._read(shuffle, reader):
                    break
            else:
                self._write(shuffle, common_pb2.StageAttempt(stage=maps, attempt=attempts[maps]))
                attempts[maps] += 1
        self._tell(report_job_ended=service_pb2.ReportJobEnded(job=job, succeeded=True))

    def _write(self, shuffle: int, stage: common_pb2.StageAttempt) -> None:
        name = f"{stage.stage}.{stage.attempt}"
        self._disk.begin_write(shuffle, name)
        self._tell(report_stage_submitted=service_pb2.ReportStageSubmitted(stage=stage, writes=shuffle, tasks=4))
        asked = service_pb2.GetShuffleId(app_shuffle=shuffle, stage=stage, write=True)
        answer = self._ask(Request(get_shuffle_id=asked))
        while answer.WhichOneof("answer") != "ready":
            time.sleep(ASK_AGAIN_S)
            answer = self._ask(Request(get_shuffle_id=asked))
        self._disk.finish_write(shuffle, answer.ready.shuffle_id)
        self._tell(report_stage_completed=service_pb2.ReportStageCompleted(stage=stage, shuffle_bytes_written=1_000))
        self._disk.end(shuffle, name)

    def _read(self, shuffle: int, stage: common_pb2.StageAttempt) -> bool:
        """Whether the stage has read all."""
        self._tell(report_stage_submitted=service_pb2.ReportStageSubmitted(stage=stage, reads=[shuffle], tasks=4))
        failure = self._fetch(shuffle, stage)
        completed = service_pb2.ReportStageCompleted(stage=stage, failure=failure)
        if not failure:
            completed.output_bytes = 10
        self._tell(report_stage_completed=completed)
        self._disk.end(shuffle, f"{stage.stage}.{stage.attempt}")
        return not failure

    def _fetch(self, shuffle: int, stage: common_pb2.StageAttempt) -> str:
        """Why it failed; empty: it did not."""
        asked = service_pb2.GetShuffleId(app_shuffle=shuffle, stage=stage)
        for _ in range(10_000):
            answer = self._tasks.ask(asked) if self._chance.random() < 0.5 else self._ask(Request(get_shuffle_id=asked))
            kind = answer.WhichOneof("answer")
            if kind == "ready":
                return self._read_data(shuffle, stage, answer.ready.shuffle_id)
            if kind == "recover":
                self._disk.lose(shuffle)
                return "FetchFailed"
            time.sleep(ASK_AGAIN_S)
        raise AssertionError(f"{self.application}: nobody told stage {stage} where app shuffle {shuffle} is")

    def _read_data(self, shuffle: int, stage: common_pb2.StageAttempt, shuffle_id: int) -> str:
        name = f"{stage.stage}.{stage.attempt}"
        reading = self._recorder.begin(self.application, "read", app_shuffle=shuffle, shuffle_id=shuffle_id, stage=name)
        time.sleep(self._chance.uniform(0, 0.02))
        count, is_there = self._disk.read(shuffle)
        self._recorder.end(reading, "ok" if is_there else "failed", count=count)
        if self._chance.random() < 0.1:
            self._disk.lose(shuffle)
            self._report_missing(shuffle, stage, shuffle_id)
            return "FetchFailed"
        return "" if is_there else "FetchFailed"

    def _report_missing(self, shuffle: int, stage: common_pb2.StageAttempt, shuffle_id: int) -> None:
        """Two tasks, at two replicas."""
        told = service_pb2.ReportMissing(app_shuffle=shuffle, shuffle_id=shuffle_id, stage=stage, detail="lost")
        waiter = self._send(Request(report_missing=told))
        self._tasks.miss(told)
        self._await(waiter)

    # ---- telling ----

    def _tell(self, **command: Any) -> Request:
        return self._place(Request(**command))

    def _place(self, request: Request) -> Request:
        """At its place among the fences."""
        self._places += 1
        name = f"told-{self._places}"
        self._bridge.reporter.settle(name, request, name)
        self._tap.post_marker(name)
        return request

    def _send(self, request: Request) -> Waiter:
        waiter = Waiter(request)
        self._bridge.waiters.append(waiter)
        self._place(request)
        return waiter

    def _ask(self, request: Request) -> service_pb2.NumberedAnswer:
        return self._await(self._send(request))

    def _await(self, waiter: Waiter) -> service_pb2.NumberedAnswer:
        while not waiter.done.wait(1.0):
            if self._is_over():
                raise Over
        assert waiter.answer is not None
        return waiter.answer


class Tasks:
    """Tasks that ask by calls of their own, at any replica: again when no answer comes, and sometimes twice."""

    def __init__(
        self,
        application: str,
        token: Callable[[], str],
        addresses: Sequence[str],
        recorder: Recorder,
        chance: random.Random,
        is_over: Any,
    ) -> None:
        self._application = application
        self._token = token
        self._addresses = list(addresses)
        self._recorder = recorder
        self._chance = chance
        self._is_over = is_over
        self._number = 0
        self._executors = 0
        self._stubs: dict[str, Any] = {}

    def ask(self, asked: service_pb2.GetShuffleId) -> Any:
        self._number += 1
        answer = self._until_answered("get_shuffle_id", "GetShuffleId", service_pb2.GetShuffleIdCall, asked)
        if self._chance.random() < 0.3:
            self._until_answered("get_shuffle_id", "GetShuffleId", service_pb2.GetShuffleIdCall, asked, again=True)
        return answer

    def miss(self, told: service_pb2.ReportMissing) -> Any:
        self._number += 1
        return self._until_answered(
            "report_missing", "ReportMissingShuffle", service_pb2.ReportMissingShuffleCall, told
        )

    def lose_executor(self) -> None:
        """Tells, once and without a number, what an older release does not know."""
        self._executors += 1
        told = service_pb2.ReportExecutorLost(executor=f"executor-{self._executors}")
        begun = self._recorder.begin(self._application, "report_executor_lost", **content_of(told))
        caller = service_pb2.Caller(application=self._application, token=self._token())
        call = service_pb2.SubmitCall(caller=caller, requests=[Request(report_executor_lost=told)])
        try:
            (answer,) = self._stub().Submit(call, timeout=CALL_S).answers
        except grpc.RpcError as error:
            code = error.code()
            known = code is grpc.StatusCode.INVALID_ARGUMENT  # by an older replica, which does not know it
            self._recorder.end(begun, "failed" if known else "unknown", reason=code.name)
        else:
            outcome, more = outcome_of(answer)
            self._recorder.end(begun, outcome, **more)  # type: ignore[arg-type]

    def _until_answered(self, what: str, method: str, call: Any, command: Any, again: bool = False) -> Any:
        known = {"client": TASKS, "number": self._number, "again": again, **content_of(command)}
        begun = self._recorder.begin(self._application, what, **known)
        tries = 0
        while not self._is_over():
            tries += 1
            confirmed = self._number - 1
            caller = service_pb2.Caller(
                application=self._application,
                token=self._token(),
                client=TASKS,
                number=self._number,
                confirmed=confirmed,
            )
            try:
                answer = getattr(self._stub(), method)(call(caller=caller, command=command), timeout=CALL_S)
            except grpc.RpcError as error:
                code = error.code()
                if code not in _TRY_AGAIN:
                    self._recorder.end(begun, "failed", tries=tries, reason=code.name)
                    return service_pb2.GetShuffleIdReply()
                time.sleep(self._chance.uniform(0.02, 0.2))
                continue
            outcome, told = outcome_of(answer)
            self._recorder.end(begun, outcome, tries=2 if again else tries, **told)  # type: ignore[arg-type]
            return answer
        raise Over

    def _stub(self) -> Any:
        address = self._chance.choice(self._addresses)
        if address not in self._stubs:
            options = [("grpc.max_reconnect_backoff_ms", 500), ("grpc.use_local_subchannel_pool", 1)]
            self._stubs[address] = service_pb2_grpc.ShuffleLifecycleStub(grpc.insecure_channel(address, options))
        return self._stubs[address]


_TRY_AGAIN = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
)


def registration(application: str) -> service_pb2.RegisterApplication:
    """Deletes eagerly, and recovers as often as it takes."""
    return service_pb2.RegisterApplication(
        application=application,
        driver=common_pb2.Driver(name="simulated", service="faults"),
        capabilities=common_pb2.Capabilities(deletes=True, completes_after_loss=False),
        policy=common_pb2.Policy(rule=common_pb2.RULE_EAGER, observe=False),
        settings=common_pb2.Settings(
            premature_budget=1_000_000, recoveries_per_shuffle=1_000_000, recoveries=1_000_000, ask_again_ms=30
        ),
    )


def kind_of(request: Request) -> str:
    return str(request.WhichOneof("command"))


def content(request: Request) -> dict[str, Any]:
    """What is asked, as far as a checker needs it."""
    return content_of(getattr(request, kind_of(request)))


def content_of(command: Any) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for described, value in command.ListFields():
        if described.name == "stage":
            told["stage"] = f"{value.stage}.{value.attempt}"
        elif described.name in ("job", "app_shuffle", "shuffle_id", "write", "directive", "executor"):
            told[described.name] = value
    return told


def outcome_of(answer: Any) -> tuple[str, dict[str, Any]]:
    """How a request ended, and what it was told."""
    kind = answer.WhichOneof("answer")
    told: dict[str, Any] = {"answer": kind}
    if kind in ("ready", "not_ready"):
        told["answered_id"] = getattr(answer, kind).shuffle_id
    if kind == "recover":
        told |= {"recovery": answer.recover.recovery, "missing": answer.recover.missing}
    if kind == "rejection":
        told["reason"] = answer.rejection.fact
    return ("failed" if kind == "rejection" else "ok"), told
