"""A driver: a small Spark, its program, and its way to the coordinator.

Responsible for telling Spark's facts in order to whichever replica answers, each request until it is answered, and for
having directives carried out. Refuses to know the coordinator's inside, and to chance: what its program does and what
goes wrong, a story says. Invariant: a number never stands for another command, what was answered is remembered, a
directive that comes again is answered from memory, and Spark itself says if it would read what is gone.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence

from shuffle_lifecycle.v1 import service_pb2

from coordinator.core import commands as c
from coordinator.core.ids import ApplicationId, AppShuffle, ClientId, DirectiveId, ShuffleId
from coordinator.core.rejections import AlreadyConfirmed, Answer, Ready, Reason, Rejection
from coordinator.core.state import Directive
from coordinator.core.values import Capabilities, DirectiveKind, Driver, Level, Locator, Policy
from coordinator.runtime.api import CoordinatorError
from coordinator.runtime.errors import ApplicationOver
from coordinator.runtime.replica import Replica
from coordinator.server.shown import number_of
from coordinator.server.statuses import Refused
from coordinator.wire.messages import answers_of, request_to_message
from coordinator.wire.shapes import shape_of
from tests.property.spark import MAPS, Running, Spark
from tests.simulation.book import Book
from tests.simulation.link import Line, Traffic

PATIENCE_S = 5.0
HEARTBEAT_S = 2.0
_PAUSES_S = (0.01, 0.05, 0.2, 0.5)

CLIENT = ClientId("driver")
_KINDS = {number_of(kind): kind for kind in DirectiveKind}

Pick = Callable[[int], tuple[str, Replica] | None]


class SimulatedDriver:
    """One application's driver. ``pick`` gives the replica of this rank among those that are alive, or None."""

    def __init__(
        self,
        application: ApplicationId,
        policy: Policy,
        completes: bool,
        batch: int,
        traffic: Traffic,
        pick: Pick,
        book: Book,
    ) -> None:
        self.application = application
        self.spark = Spark()
        self.traffic = traffic
        self.refusals: dict[int, str] = {}  #: How its directives are answered that are not carried out.
        self.over = False  #: Its application has ended.
        self.dead = False
        self.slept_s = 0.0
        self.steps = 0
        self.met: Counter[str] = Counter()
        self.rank = 0
        self.known = False  #: It was welcomed once.
        self._policy = policy
        self._capabilities = Capabilities(completes_after_loss=completes)
        self._batch = batch
        self._pick = pick
        self._book = book
        self._outbox: deque[c.Request] = deque()  #: Numbered, and not answered.
        self._sent = 0  #: How many of them were sent on the present line.
        self._last = 0
        self._confirmed = 0
        self._answered: set[int] = set()
        self._asked: dict[int, AppShuffle] = {}
        self._since_s = 0.0
        self._line: Line | None = None
        self._welcomed = False
        self._token = ""
        self._asleep_until_s = 0.0
        self._directives = 0
        self._outcomes: dict[DirectiveId, c.Outcome] = {}
        self._task: asyncio.Task[None] | None = None

    # ---- living -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=f"driver {self.application}")

    def die(self) -> None:
        """It is gone, and says nothing."""
        self.dead = True
        self.hang_up()
        if self._task is not None:
            self._task.cancel()

    def sleep(self, seconds: float) -> None:
        """It stands still: nothing is sent, nothing is read."""
        self.slept_s = max(self.slept_s, seconds)
        self._asleep_until_s = asyncio.get_running_loop().time() + seconds
        self.hang_up()

    def wake(self) -> None:
        self._asleep_until_s = 0.0

    def hang_up(self, unnoticed: bool = False) -> None:
        """Its present line ends."""
        if self._line is not None:
            self._line.cut(unnoticed)

    def hang_up_from(self, replica: str) -> None:
        """The replica is gone."""
        if self._line is not None and self._line.replica == replica:
            self._line.cut()

    @property
    def quiet(self) -> bool:
        """All that it had to say was answered."""
        return self.over or self.dead or not (self._outbox or self.spark.told)

    @property
    def failure(self) -> str:
        """What the driver itself found wrong: Spark would have read what is gone, or answers made no sense."""
        if self._task is None or not self._task.done() or self._task.cancelled():
            return ""
        error = self._task.exception()
        return f"the driver failed: {error!r}" if error is not None else ""

    # ---- its way ----------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        failures = 0
        while not self.over:
            found = self._pick(self.rank)
            awake = asyncio.get_running_loop().time() >= self._asleep_until_s
            if found is not None and awake:
                before = len(self._answered)
                await self._talk(*found)
                failures = 0 if len(self._answered) > before else failures + 1
                self.rank += 1
            await asyncio.sleep(_PAUSES_S[min(failures, 3)])

    async def _talk(self, name: str, replica: Replica) -> None:
        """One session."""
        line = self._line = Line(replica, name, self.traffic)
        self._welcomed, self._sent = False, 0
        line.send(self._hello())
        try:
            await self._listen(line)
        finally:
            self._welcomed = False
            line.cut()
        self._note_end(line.why)

    def _hello(self) -> service_pb2.SessionRequest:
        command = c.RegisterApplication(self.application, Driver(name="story"), self._capabilities, self._policy)
        register = shape_of(c.RegisterApplication).write(command)
        told = service_pb2.Hello(
            application=self.application,
            token=self._token,
            proof=f"what only the driver of {self.application} knows",
            client=CLIENT,
            register=register,
            confirmed=self._confirmed,
        )
        return service_pb2.SessionRequest(hello=told)

    async def _listen(self, line: Line) -> None:
        while True:
            try:
                message = await line.read(PATIENCE_S if self._outbox or not self._welcomed else HEARTBEAT_S)
            except TimeoutError:
                if not self._welcomed or self._is_impatient():
                    return
                line.send(service_pb2.SessionRequest(heartbeat=service_pb2.Heartbeat()))
                continue
            if message is None:
                return
            self.steps += 1
            self._hear(message)
            if not self._welcomed or self._is_impatient():
                return

    def _is_impatient(self) -> bool:
        """Something that was sent long ago has no answer: the line is no good."""
        return bool(self._outbox) and asyncio.get_running_loop().time() - self._since_s > PATIENCE_S

    def _hear(self, message: service_pb2.SessionReply) -> None:
        kind = message.WhichOneof("message")
        if kind == "welcome":
            self._welcomed = self.known = True
            self._token = message.welcome.token or self._token
            self.say()
        elif kind == "answers":
            for number, answer in answers_of(message.answers):
                self._note(number, answer)
            self.say()
        elif kind == "directives":
            for told in message.directives.directives:
                self._carry_out(_directive_of(told))
            self.say()
        elif kind == "go_away":
            self._welcomed = False

    def _note_end(self, why: Exception | None) -> None:
        ended = self._book.account(self.application).state.meta.ending is not None
        refused = isinstance(why, Refused) and why.rejection.reason is Reason.FAILED_PRECONDITION
        if ended and (refused or isinstance(why, ApplicationOver)):
            self.over = True

    # ---- telling ----------------------------------------------------------------------------------------------------

    def say(self) -> None:
        """Numbers what Spark has told, and sends what was not sent on this line."""
        for command in self.spark.told:
            self._last += 1
            self._outbox.append(c.Request(CLIENT, self._last, command))
            if isinstance(command, c.GetShuffleId):
                self._asked[self._last] = command.app_shuffle
        self.spark.told.clear()
        if not self._welcomed or self._line is None:
            return
        if self._sent < len(self._outbox):
            self._since_s = asyncio.get_running_loop().time()
        while self._sent < len(self._outbox):
            some = [
                self._outbox[place] for place in range(self._sent, min(self._sent + self._batch, len(self._outbox)))
            ]
            self._sent += len(some)
            self._line.send(self._message(some))

    def _message(self, requests: Sequence[c.Request]) -> service_pb2.SessionRequest:
        told = [request_to_message(request) for request in requests]
        return service_pb2.SessionRequest(batch=service_pb2.Batch(requests=told, confirmed=self._confirmed))

    def _note(self, number: int, answer: Answer) -> None:
        """An answer has come; it may be the second one to the same request."""
        if isinstance(answer, Rejection) and "unconfirmed" in answer.fact:
            return
        self._book.acknowledged(self.application, CLIENT, number)
        if isinstance(answer, AlreadyConfirmed) and number > self._confirmed:
            raise AssertionError(f"request {number} is said to be confirmed, and nobody has confirmed it")
        if number in self._asked:
            self._check_ready(self._asked[number], answer)
        self._answered.add(number)
        self.traffic.answered = True
        while self._outbox and self._outbox[0].number in self._answered:
            self._outbox.popleft()
            self._sent = max(0, self._sent - 1)
            self._since_s = asyncio.get_running_loop().time()
        self._confirmed = self._outbox[0].number - 1 if self._outbox else self._last

    async def tell_also(self, replica: Replica) -> None:
        """What was not answered goes to another replica too, by a call of its own; once its client is known."""
        if not self.known:
            return
        self.say()
        requests = [c.Request(r.client, r.number, r.command, self._confirmed) for r in self._outbox]
        try:
            answers = await replica.submit(self.application, requests)
        except CoordinatorError:
            return
        for request, answer in zip(requests, answers, strict=True):
            if not self.dead:
                self._note(request.number, answer)

    async def ask_by_task(self, replica: Replica, choice: int) -> None:
        """A task asks by itself, without a number."""
        asked = self._question(choice)
        if asked is None:
            return
        try:
            (answer,) = await replica.submit(self.application, [c.Request(ClientId("task"), 0, asked)])
        except CoordinatorError:
            return
        self._check_ready(asked.app_shuffle, answer)

    def _check_ready(self, app_shuffle: AppShuffle, answer: Answer) -> None:
        """Who is told an id is told one that was given out for this very shuffle."""
        if isinstance(answer, Ready):
            self._book.given(self.application, app_shuffle, answer.shuffle_id)

    # ---- directives -------------------------------------------------------------------------------------------------

    def _carry_out(self, directive: Directive) -> None:
        known = self._outcomes.get(directive.directive)
        if known is None or isinstance(known, c.Failed):
            number, self._directives = self._directives, self._directives + 1
            known = self._refused(self.refusals.get(number, ""), directive) or self.spark.carry_out(directive)
            self._outcomes[directive.directive] = known
        self.spark.told.append(c.ReportOutcome(directive.directive, known))

    def _refused(self, refusal: str, directive: Directive) -> c.Outcome | None:
        """What it answers instead of carrying it out; None: it does as it is told."""
        if not refusal:
            return None
        self.met[refusal] += 1
        if directive.kind is not DirectiveKind.FENCE:
            return c.Failed("the disk is away")
        answers: dict[str, c.Outcome] = {
            "busy": c.Busy(("stage 9.0",)),
            "cannot": c.Cannot("no server left"),
            "failed": c.Failed("the hook was not there"),
            "revoked": c.Revoked("withdrawn"),
        }
        return answers[refusal]

    # ---- its program ------------------------------------------------------------------------------------------------

    def act(self, verb: str, choice: int, more: int) -> None:
        """One step of the program, or of what happens to its Spark."""
        _ACTS[verb](self, choice, more)
        self.say()

    def _make(self, choice: int, more: int) -> None:
        held = sorted(self.spark.held)
        if len(self.spark.shuffles) >= 24:
            return
        reads = tuple(one for place, one in enumerate(held[-2:]) if choice >> place & 1)
        level = Level.INDETERMINATE if choice % 7 == 6 else Level.DETERMINATE
        made = self.spark.make(reads, level)
        if choice & 4:
            self.spark.held -= set(reads)
        if len(self.spark.jobs) < 4:
            self.spark.start_job(made, bool(choice & 8))

    def _job(self, choice: int, more: int) -> None:
        if self.spark.held and len(self.spark.jobs) < 4:
            self.spark.start_job(_chosen(sorted(self.spark.held), choice), bool(choice & 1))

    def _go(self, steps: int, more: int) -> None:
        self.spark.work(steps)

    def _fail(self, choice: int, more: int) -> None:
        if self.spark.running:
            self.spark.fail(_chosen(list(self.spark.running.values()), choice), reported=bool(choice & 1))

    def _cancel(self, choice: int, more: int) -> None:
        if self.spark.jobs:
            self.spark.end_job(_chosen(list(self.spark.jobs.values()), choice), succeeded=False)

    def _let_go(self, choice: int, more: int) -> None:
        if self.spark.held:
            self.spark.held.discard(_chosen(sorted(self.spark.held), choice))

    def _lose(self, choice: int, left: int) -> None:
        written = [one for one, shuffled in sorted(self.spark.shuffles.items()) if shuffled.available]
        if written:
            self.spark.lose(_chosen(written, choice), left % MAPS, reported=bool(choice & 1))

    def _look(self, choice: int, more: int) -> None:
        self.spark.begin_look()
        self.spark.end_look()

    def _clean(self, choice: int, more: int) -> None:
        self.spark.clean()

    def _ask(self, choice: int, more: int) -> None:
        asked = self._question(choice)
        if asked is not None:
            self.spark.told.append(asked)

    def _question(self, choice: int) -> c.GetShuffleId | None:
        """What a task that runs asks, past the stream of facts or in it."""
        running: list[Running] = [one for one in self.spark.running.values() if one.reads or one.writes is not None]
        if not running:
            return None
        one = _chosen(running, choice)
        of = (*one.reads, *(() if one.writes is None else (one.writes,)))
        asked = _chosen(of, choice)
        return c.GetShuffleId(asked, one.stage, write=asked == one.writes)

    def _miss(self, choice: int, more: int) -> None:
        reading = [one for one in self.spark.running.values() if one.reads]
        if reading:
            one = _chosen(reading, choice)
            self.spark.lost_something = True
            self.spark.told.append(c.ReportMissing(one.reads[0], ShuffleId(0), one.stage))

    def _pin(self, choice: int, more: int) -> None:
        if self.spark.shuffles:
            pinned = _chosen(sorted(self.spark.shuffles), choice)
            self.spark.told += [c.SetPin(pinned, "mine"), c.RemovePin(pinned)]

    def _forget(self, steps: int, more: int) -> None:
        """Spark goes on, and nothing of it is told; then the whole truth is."""
        self.spark.work(steps)
        dropped, self.spark.told = len(self.spark.told), []
        self.spark.told += [c.ReportGap(dropped, "outbox"), self.spark.truth()]

    def _end(self, choice: int, more: int) -> None:
        finish(self.spark)
        self.spark.told.append(c.EndApplication())


_ACTS: dict[str, Callable[[SimulatedDriver, int, int], None]] = {
    "make": SimulatedDriver._make,
    "job": SimulatedDriver._job,
    "go": SimulatedDriver._go,
    "fail": SimulatedDriver._fail,
    "cancel": SimulatedDriver._cancel,
    "let-go": SimulatedDriver._let_go,
    "lose": SimulatedDriver._lose,
    "look": SimulatedDriver._look,
    "clean": SimulatedDriver._clean,
    "ask": SimulatedDriver._ask,
    "miss": SimulatedDriver._miss,
    "pin": SimulatedDriver._pin,
    "forget": SimulatedDriver._forget,
    "end": SimulatedDriver._end,
}
ACTS = frozenset(_ACTS)


def _chosen(some: Sequence, choice: int):  # type: ignore[no-untyped-def, type-arg]
    return some[choice % len(some)]


def finish(spark: Spark) -> None:
    """Every job comes to its end."""
    while spark.jobs or spark.running:
        spark.work(1)


def _directive_of(told: service_pb2.Directive) -> Directive:
    locator = Locator(told.locator.service, told.locator.payload)
    return Directive(
        DirectiveId(told.directive),
        _KINDS[told.kind],
        ShuffleId(told.shuffle_id),
        AppShuffle(told.app_shuffle),
        locator,
    )
