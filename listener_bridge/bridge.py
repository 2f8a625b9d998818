"""One attached application: tap, reporter, executor and client, put together.

Responsible for: who hands what to whom, and the order in which things start and end.
Refuses to know: how any of them works, and how people attach (`plugin`).
Invariant: whatever fails in here ends in a line of the log; `stop` returns within its deadline.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version

from shuffle_lifecycle.v1 import common_pb2, service_pb2

from listener_bridge import translate
from listener_bridge.allowance import MUCH_BYTES
from listener_bridge.carrying import choices_of
from listener_bridge.channels import Opener, plain
from listener_bridge.client import Client
from listener_bridge.disks import Watch
from listener_bridge.executor import Executor
from listener_bridge.lines import Lines
from listener_bridge.reach.advice import Advisor
from listener_bridge.reach.findings import Root
from listener_bridge.reach.looker import Looker, Sight
from listener_bridge.reporter import Reporter
from listener_bridge.seldom import Seldom, and_more
from listener_bridge.session import Session
from listener_bridge.shuffle_services.api import ShuffleService
from listener_bridge.tap.facts import (
    ApplicationEnded,
    Fact,
    JobEnded,
    MarkerPassed,
    ShuffleCleaned,
    Snapshot,
    StageCompleted,
)
from listener_bridge.tap.tap import Tap
from listener_bridge.words import Request

log = logging.getLogger("shuffle_lifecycle")

STOP_LIMIT_S = 1.0
ENDED, DETACHED = common_pb2.ENDING_ENDED, common_pb2.ENDING_DETACHED
LAST_MARKER = "last"
ATTACH_SNAPSHOT_LIMIT_S = 1.0
QUESTIONS = ("get_shuffle_id", "report_missing")


class Bridge:
    """The `Desk` of the session, and the consumer of the tap."""

    def __init__(
        self,
        tap: Tap,
        service: ShuffleService,
        registration: service_pb2.RegisterApplication,
        registration_token: str,
        addresses: Callable[[], Sequence[str]],
        sight: Sight | None = None,
        open_channel: Opener = plain,
        disks: Watch | None = None,
        prompt_bytes: int = MUCH_BYTES,
    ) -> None:
        """`sight`: the eyes of looks at the program; None: there are none. `disks`: watched; None: none are.

        `prompt_bytes`: what is less can wait.
        """
        self.reporter = Reporter(prompt_bytes=prompt_bytes)
        self.executor = Executor(service, self._snapshot, self.reporter)
        self.client = Client(self, addresses, self._begin_again, self._begin_as_another, open_channel)
        self.is_stopped = threading.Event()
        self.on_stopped: Callable[[float], None] = lambda _: None  #: What else is to be let go of, in so long.
        self.looker = self._looker(sight, tap, prompt_bytes) if sight is not None else None
        self._lines = Lines(sight.line_of if sight is not None else lambda *_: "")
        self._disks = disks
        self._tap = tap
        self._open_channel = open_channel
        self._service = service
        self._registration = registration
        self._registration_token = registration_token
        self._proof = secrets.token_urlsafe(32)  # what the coordinator makes our token of, and makes it again
        self.token = ""  #: The application's secret, once a Welcome has told it.
        self._clients = 1  # names of ours so far
        self._refusals = Seldom()  # a limit that is reached refuses every job from then on
        self._stopping = threading.Lock()
        self._is_ended = False  # the coordinator was told the end
        self._last_passed = threading.Event()
        self._listening = threading.Thread(target=self._listen, name="shuffle-lifecycle-tap", daemon=True)

    @property
    def application(self) -> str:
        """Its id in the log. It is another one after a coordinator has closed it as gone."""
        return str(self._registration.application)

    # ---- its life ----

    def start(self) -> None:
        """Begin to listen. What runs already is told first."""
        self._wire()
        present = self._tap.snapshot(ATTACH_SNAPSHOT_LIMIT_S)
        self._tell_present(present)
        self.executor.start()
        self._listening.start()
        if self.looker is not None:
            self.looker.start(present)
        self.client.start()
        if self._disks is not None:
            self._disks.start()

    def _wire(self) -> None:
        """Who is told by whom, before anything runs."""
        self.reporter.on_gap = self.executor.want_snapshot
        self.reporter.outcomes = self.executor.outcomes
        if self.looker is not None:
            self.executor.on_gone = self.looker.gone
        if self._disks is not None:
            self._disks.tell = lambda usage: self.reporter.tell(translate.disk(usage))
            self._disks.deletions = lambda: self.executor.counts.deleted
            self._disks.untold_bytes = self.executor.ahead.untold_bytes

    def _tell_present(self, present: Snapshot | None) -> None:
        """What was there before us is a gap. Where the scheduler does not say in time (None), it is asked again."""
        is_new = present is not None and not present.shuffles and not present.active_jobs
        if not is_new:
            self.reporter.begin_late()
        if present is not None and not is_new:
            self.reporter.settle("attach", present, present.marker)

    def stop(self, why: str, limit_s: float = STOP_LIMIT_S, ending: common_pb2.Ending = ENDED) -> None:
        """Tell the rest and the end, for as long as the limit allows, and let go of everything. Once.

        `ending`: whether the application is over, or goes on without us; what Spark has told of its end counts more.
        """
        if not self._stopping.acquire(blocking=False):
            self.is_stopped.wait(limit_s)
            return
        end_s = time.monotonic() + limit_s
        steps = self._steps_of_the_end(why, end_s, ending)
        try:
            _take_all(steps)
        finally:
            try:
                _take_all(steps)  # what is left where somebody has interrupted the program meanwhile
            finally:
                self.is_stopped.set()
                self._let_go(end_s)

    def _let_go(self, end_s: float) -> None:
        try:
            self.on_stopped(max(0.2, _left(end_s)))
        except Exception:
            log.exception("the embedded coordinator did not stop in order; its file is whole all the same")

    def _steps_of_the_end(self, why: str, end_s: float, ending: common_pb2.Ending) -> Iterator[Callable[[], None]]:
        """In their order. One that fails keeps nothing else from ending."""
        if self.looker is not None:
            yield partial(self.looker.stop, _left(end_s) / 4)
        if self._disks is not None:
            yield partial(self._disks.stop, _left(end_s) / 8)
        yield partial(self.executor.stop, why, _left(end_s) / 2)
        yield partial(self._hear_the_rest, end_s)
        yield self._tap.close
        yield partial(self._tell_the_end, end_s, ending)
        yield partial(self.client.close, _left(end_s))
        yield self._service.close

    def _hear_the_rest(self, end_s: float) -> None:
        if self._listening.is_alive() and threading.current_thread() is not self._listening:
            self._tap.post_marker(LAST_MARKER)
            self._last_passed.wait(_left(end_s) / 2)

    def _tell_the_end(self, end_s: float, ending: common_pb2.Ending) -> None:
        self.client.leave()
        if not self._is_ended:
            self.reporter.tell(translate.end_of_application(ending))
        self.reporter.wait_empty(_left(end_s), lambda: self.client.is_hopeless)

    def _looker(self, sight: Sight, tap: Tap, prompt_bytes: int) -> Looker:
        looker = Looker(sight, tap.post_marker, self.reporter.settle, self.reporter.missed, prompt_bytes)
        advisor = Advisor()

        def advise(found: Sequence[Root]) -> None:
            line = advisor.advise(time.monotonic(), found, looker.candidates.bytes, self.pins)
            if line is not None:
                log.warning("%s", line)

        looker.on_found = advise
        return looker

    def pins(self) -> tuple[int, ...]:
        """App shuffles that are pinned now; none where the coordinator does not say."""
        address = self.client.address
        chosen = choices_of(self._open_channel, address, self.application, self.token) if address else None
        return chosen.pins if chosen is not None else ()

    def _snapshot(self) -> Snapshot | None:
        """What there is now, after a gap."""
        present = self._tap.snapshot()
        if present is None:
            return None
        if self.looker is not None:
            self.looker.resync(present)
        return self._lines.snapshot(present)

    def _begin_again(self, further: Sequence[Request] = ()) -> None:
        self._clients += 1
        self.executor.begin_again()
        self.reporter.begin_again(further)
        if self._disks is not None:
            self._disks.begin_again()

    def _begin_as_another(self, address: str) -> str:
        """It is over to the coordinator, and runs: from here on it is a new one, which tells all it has."""
        chosen = choices_of(self._open_channel, address, self.application, self.token)
        if self._stopping.locked():
            return f"{self.application}, no more"  # it was left meanwhile, and begins nothing
        self._registration.application = str(uuid.uuid4())
        self.token = ""
        if chosen is not None:
            self._registration.policy.CopyFrom(chosen.policy)
        self._begin_again(chosen.pinned() if chosen is not None else ())
        return f"{self.application}, {chosen or 'without what was pinned or chosen by hand'}"

    # ---- the tap's thread ----

    def _listen(self) -> None:
        ending = ENDED
        try:
            while (facts := self._tap.take()) is not None:
                if facts:
                    self._hear(facts)
            why = "the application has ended"
        except Exception as error:  # a stream that cannot be trusted is not listened to any more
            why, ending = f"listening failed ({type(error).__name__}: {error})", DETACHED
            log.exception("listening to Spark failed: the job goes on, nothing more is deleted early")
        self.stop(why, ending=ending)

    def _hear(self, facts: Sequence[Fact]) -> None:
        if isinstance(facts[-1], ApplicationEnded):
            self._is_ended = True
            self.client.leave()
        self.reporter.facts(self._lines.named(facts))
        if self.looker is not None:
            self.looker.hear(facts)
        for fact in facts:
            if isinstance(fact, ShuffleCleaned):
                self.executor.shuffle_cleaned(fact.app_shuffle)
            elif isinstance(fact, MarkerPassed) and fact.name == LAST_MARKER:
                self._last_passed.set()
        if any(isinstance(fact, (StageCompleted, JobEnded)) for fact in facts):
            self.executor.tasks_ended()

    # ---- the session's desk ----

    def hello(self) -> service_pb2.Hello:
        return service_pb2.Hello(
            application=self._registration.application,
            token=self.token,
            proof=self._proof,
            registration_token=self._registration_token,
            client=f"driver-{self._clients}",
            confirmed=self.reporter.confirmed,
            register=self._registration,
            agent=_agent(),
        )

    def taken(self) -> int:
        return self.reporter.taken

    def welcomed(self, welcome: service_pb2.Welcome, address: str) -> None:
        self.token = welcome.token or self.token
        limits = welcome.limits
        unanswered_max, bytes_max = limits.max_unconfirmed or 1_024, limits.max_message_bytes
        self.reporter.connected(unanswered_max, bytes_max, lineage_ahead=limits.lineage_ahead)
        self.client.welcomed(address)

    def take(self, most: int, bytes_max: int, timeout_s: float, session: Session) -> service_pb2.Batch:
        return self.reporter.take(most, bytes_max, timeout_s, lambda: session.is_over)

    def wake(self) -> None:
        self.reporter.wake()

    def is_behind(self) -> bool:
        return self.reporter.backlog().unanswered > 0

    def answered(self, answer: service_pb2.NumberedAnswer) -> None:
        kind = answer.WhichOneof("answer")
        for request in self.reporter.answered(answer):
            self.client.answered()
            asked = str(request.WhichOneof("command"))
            if asked == "report_outcome":
                self.executor.acknowledged(request.report_outcome.directive)
            elif asked == "get_shuffle_id" and kind == "ready" and request.get_shuffle_id.write:
                self.executor.generation_known(request.get_shuffle_id.app_shuffle, answer.ready.shuffle_id)
            if kind == "rejection":
                self._refused(asked, answer.rejection.fact)

    def _refused(self, asked: str, why: str) -> None:
        """A question may be refused; a fact that is refused is one that the coordinator misses."""
        if asked in QUESTIONS:
            log.debug("%s was refused: %s", asked, why)
        else:
            left_out = self._refusals.left_out("fact", time.monotonic())
            if left_out is not None:
                told = "the coordinator has refused %s (%s): it is told as a gap%s"
                log.warning(told, asked, why, and_more(left_out))
            self.reporter.refused(asked)

    def directed(self, directives: service_pb2.Directives) -> None:
        for directive in directives.directives:
            self.executor.submit(directive)

    def noticed(self, text: str) -> None:
        log.warning("%s", text)


def _take_all(steps: Iterator[Callable[[], None]]) -> None:
    for step in steps:
        try:
            step()
        except Exception:
            log.exception("the end of the bridge was not orderly; the job is not touched by this")


def _left(end_s: float) -> float:
    return max(0.0, end_s - time.monotonic())


def _agent() -> str:
    """Who we are, for the coordinator's log; without a version where we run from a folder."""
    try:
        return f"listener_bridge {version('shuffle-lifecycle')}"
    except PackageNotFoundError:
        return "listener_bridge"
