"""From facts and outcomes to the outbox, in one order, for several threads.

Responsible for: letting the tap's thread, the executor's and the session's meet: facts and outcomes come in at their
places, numbered requests go out, answers are taken note of; and for having a snapshot taken after a gap.
Refuses to know: Spark, connections, and what the coordinator decides.
Invariant: what comes in is in the outbox, or counted as dropped, before the call returns; no call waits for anybody but
`take` and `wait_empty`, which are the session's and the stop path's own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from shuffle_lifecycle.v1 import service_pb2

from listener_bridge import translate
from listener_bridge.allowance import HARDLY_ANY, MUCH_BYTES, Allowance
from listener_bridge.backoff import BackOff
from listener_bridge.outbox import Outbox
from listener_bridge.places import Entry, Placed, Places
from listener_bridge.tap.facts import Fact, Snapshot
from listener_bridge.translate import Translator
from listener_bridge.words import Request, is_patient

SNAPSHOT_PAUSE_S = 1.0
QUIET_S = 1_200.0  # who asks nothing for an hour is a stranger to the coordinator when another one comes
GATHER_S = 0.25  # for what nobody waits for: it goes along with what comes next
SOME_PAUSE_S = 0.5  # outcomes of what is neither much nor hardly anything, so many a second, need not gather
SOME_AHEAD = 60
Done: TypeAlias = Request | Snapshot


@dataclass(frozen=True, slots=True)
class Backlog:
    """How far behind the coordinator is, as we see it."""

    unanswered: int
    dropped: int
    is_gap_open: bool


class Reporter:
    """One application's way from facts to requests."""

    def __init__(self, prompt_bytes: int = MUCH_BYTES) -> None:
        """`prompt_bytes`: an outcome of less may wait for what is sent next; 0: none may."""
        self.on_gap: Callable[[], None] = lambda: None  #: Has a snapshot taken, in another thread.
        self.outcomes: Callable[[], Iterable[Request]] = lambda: ()  #: What the coordinator has not acknowledged.
        self._changed = threading.Condition()
        self._places: Places[Done] = Places()
        self._translator = Translator()
        self._outbox = Outbox()
        self._is_resync_due = False
        self._further: list[Request] = []  # told behind each whole truth, until they are answered
        self._prompt_bytes = prompt_bytes
        self._is_prompt = False  # somebody may wait for what is not sent yet
        self._some = Allowance(SOME_PAUSE_S, time.monotonic(), SOME_AHEAD)
        self._missed = 0
        self._snapshot_due = 0.0  # monotonic seconds; before, none is asked for
        self._refusals = BackOff()
        self._sent_s = time.monotonic()

    # ---- what comes in ----

    def knows_conf(self, conf: Mapping[str, str]) -> None:
        """Takes the application's conf; to be called before the first fact."""
        self._translator.conf = conf

    def facts(self, told: Iterable[Fact]) -> None:
        """Facts, in the order of the stream."""
        with self._changed:
            self._tell(self._places.pass_on(told))

    def begin(self, key: object) -> None:
        """Something is being done in the scheduler's thread; its marker may come by before its result."""
        with self._changed:
            self._places.begin(key)

    def settle(self, key: object, done: Done, marker: str | None = None) -> None:
        """What came of it, and which marker stands at its place."""
        with self._changed:
            self._tell(self._places.settle(key, done, marker))

    def give_up(self, key: object) -> None:
        """Nothing came of it."""
        with self._changed:
            self._tell(self._places.give_up(key))

    def asks_to_write(self, app_shuffle: int) -> bool:
        """Whether a writer of it has asked for its generation, and was not answered yet."""
        with self._changed:
            return any(_asks_to_write(request, app_shuffle) for request in self._outbox.unanswered())

    def begin_late(self) -> None:
        """What was before is not known: a gap. Whoever knows what is so settles it; else it is to be asked for."""
        with self._changed:
            self._add([translate.gap(0, "attach")])
            self._is_resync_due = True
            self._snapshot_due = time.monotonic() + SNAPSHOT_PAUSE_S

    def refused(self, asked: str) -> None:
        """The coordinator will not have a fact: it is missing there, so the whole truth is told, each time later."""
        with self._changed:
            self._missed += 1
            if asked not in ("report_gap", "resync"):
                self._add([translate.gap(1, "refused")])
            self._is_resync_due = True
            self._snapshot_due = time.monotonic() + self._refusals.next_s()
            self._changed.notify_all()

    def missed(self) -> int:
        """How often something that was told may not have been heard; never falls, so that equal means nothing was."""
        with self._changed:
            return self._missed + self._outbox.dropped

    def tell(self, request: Request) -> None:
        """One more request, behind all that came before."""
        with self._changed:
            self._add([request])
            self._changed.notify_all()

    def _add(self, requests: Sequence[Request]) -> None:
        self._is_prompt = self._is_prompt or self._are_prompt(requests)
        end = [request for request in requests if request.HasField("end_application")]
        if end and self._outbox.is_open_gap:  # after which no truth is wanted
            self._close_gap(end)
        else:
            self._outbox.add(requests)

    def _are_prompt(self, requests: Sequence[Request]) -> bool:
        if not all(is_patient(request, self._prompt_bytes) for request in requests):
            return True
        are_some = not all(is_patient(request, self._prompt_bytes // HARDLY_ANY) for request in requests)
        now_s = time.monotonic()
        if not are_some or self._some.wait_s(now_s) > 0:
            return False
        self._some.spend(now_s)
        return True

    def tell_again(self, request: Request) -> None:
        """Tell it unless it is on its way, or waits for its place."""
        with self._changed:
            if not self._outbox.holds(request) and not self._places.awaits(request):
                self._add([request])
                self._changed.notify_all()

    def _tell(self, entries: list[Entry[Done]]) -> None:
        facts: list[Fact] = []
        for entry in entries:
            if isinstance(entry, Placed):
                self._translate(facts)
                facts = []
                self._place(entry)
            else:
                facts.append(entry)
        self._translate(facts)
        self._changed.notify_all()

    def _translate(self, facts: Sequence[Fact]) -> None:
        requests = self._translator.requests_of(facts)
        self._is_resync_due |= any(request.HasField("report_gap") for request in requests)
        self._add(requests)

    def _place(self, placed: Placed[Done]) -> None:
        """A snapshot that is perhaps older than what was dropped tells no truth: another one is due.

        Of several that were asked for while their places were long in coming the first one tells it.
        """
        if isinstance(placed.done, Request):
            if not self._outbox.holds(placed.done):  # each request has one number
                self._add([placed.done])
        elif placed.is_exact and self._is_truth_due:
            self._resync(placed.done)

    @property
    def _is_truth_due(self) -> bool:
        return self._is_resync_due or self._outbox.is_open_gap

    def _resync(self, snapshot: Snapshot) -> None:
        further = (request for request in self._further if not self._outbox.holds(request))
        truth = [*self._translator.resync(snapshot), *further]
        self._is_resync_due = False
        self._missed += 1
        if self._outbox.is_open_gap:
            dropped = [o for o in self.outcomes() if not self._places.awaits(o) and not self._outbox.holds(o)]
            self._is_prompt = True
            self._close_gap([*dropped, *truth])  # nobody asks for an outcome that was dropped
        else:
            self._add(truth)

    def _close_gap(self, requests: Sequence[Request]) -> None:
        """Tells that there was one, and what follows it."""
        self._missed += self._outbox.dropped  # which closing the gap sets back: `missed` never falls
        self._outbox.close_gap([translate.gap(self._outbox.dropped, "outbox"), *requests])

    # ---- the session's side ----

    def connected(self, unanswered_max: int, message_bytes_max: int = 0, *, lineage_ahead: bool = False) -> None:
        """A new connection, which takes so many requests ahead of their answers: what was not answered goes again."""
        with self._changed:
            self._translator.tells_ahead = lineage_ahead
            self._outbox.rewind(unanswered_max, message_bytes_max)
            self._is_prompt = True
            self._changed.notify_all()

    def begin_again(self, further: Iterable[Request] = ()) -> None:
        """The coordinator has lost what it confirmed: a new client begins, and tells the whole truth, and `further`.

        What waits for its place belongs to the log that is lost: its directives' numbers are others' in the new one.
        """
        with self._changed:
            self._further.extend(further)
            self._outbox.begin_again()
            self._places.forget()
            self._missed += 1

    def take(self, most: int, bytes_max: int, timeout_s: float, is_over: Callable[[], bool]) -> service_pb2.Batch:
        """Wait up to `timeout_s` seconds for something to send; an empty batch where nothing came."""
        with self._changed:
            self._ask_for_snapshot()
            self._break_silence()
            self._changed.wait_for(lambda: is_over() or self._outbox.can_send, timeout_s)
            if self._outbox.can_send:
                self._changed.wait_for(lambda: is_over() or self._is_prompt, GATHER_S)
            requests = [] if is_over() else self._next_batch(most, bytes_max)
            self._is_prompt &= self._outbox.is_unsent
            return service_pb2.Batch(requests=requests, confirmed=self._outbox.confirmed)

    def _next_batch(self, most: int, bytes_max: int) -> list[Request]:
        """What no message can hold opens a gap; where it is the truth itself, that is told ever more slowly."""
        was_open = self._outbox.is_open_gap
        batch = self._outbox.next_batch(most, bytes_max)
        self._sent_s = time.monotonic() if batch else self._sent_s
        if self._outbox.is_open_gap and not was_open:
            self._snapshot_due = time.monotonic() + self._refusals.next_s()
        return batch

    def answered(self, answer: service_pb2.NumberedAnswer) -> list[Request]:
        """An answer has come; gives the requests that it is for."""
        with self._changed:
            kind = answer.WhichOneof("answer")
            requests = self._outbox.answer(answer.number, answer.last or answer.number, kind == "rejection")
            for request in requests:
                if self._further:
                    self._further = [further for further in self._further if further is not request]
                if kind == "ready":
                    self._translator.learn(request.get_shuffle_id, answer.ready.shuffle_id)
                elif kind != "rejection" and request.HasField("resync"):
                    self._refusals.reset()
            self._changed.notify_all()
            return requests

    @property
    def confirmed(self) -> int:
        with self._changed:
            return self._outbox.confirmed

    @property
    def taken(self) -> int:
        """The highest number that the coordinator has taken, and so knows of as long as it has its log."""
        with self._changed:
            return self._outbox.taken

    def backlog(self) -> Backlog:
        with self._changed:
            return Backlog(len(self._outbox), self._outbox.dropped, self._outbox.is_open_gap)

    def wait_empty(self, timeout_s: float, is_over: Callable[[], bool]) -> bool:
        """Wait up to `timeout_s` seconds until all is answered, or nothing will be any more."""
        with self._changed:
            return self._changed.wait_for(lambda: not len(self._outbox) or is_over(), timeout_s)

    def wake(self) -> None:
        """Have `take` look again at whether it is over."""
        with self._changed:
            self._changed.notify_all()

    def _break_silence(self) -> None:
        """While one long stage runs there may be nothing to tell: a report of nothing keeps us known."""
        if time.monotonic() - self._sent_s >= QUIET_S and not (self._outbox.is_open_gap or self._outbox.is_unsent):
            self._outbox.add([Request(report_outputs=service_pb2.ReportOutputs())])

    def _ask_for_snapshot(self) -> None:
        """After a gap the whole truth has to be told; as long as it is not there, it is asked for again."""
        if self._is_truth_due and time.monotonic() >= self._snapshot_due:
            self._snapshot_due = time.monotonic() + SNAPSHOT_PAUSE_S
            self.on_gap()


def _asks_to_write(request: Request, app_shuffle: int) -> bool:
    asked = request.get_shuffle_id
    return request.HasField("get_shuffle_id") and asked.write and asked.app_shuffle == app_shuffle
