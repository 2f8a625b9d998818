"""The thread that carries out directives, one after the other, and that takes snapshots.

Responsible for: the one thread that calls the shuffle service; fences and deletions; and which data the service still
has to forget. If a fence says that its deletion follows, the data are freed at once, and the delete directive is
answered with the outcome of that (`ahead`).
Refuses to know: why a generation goes, how a service works, how outcomes travel, what came of earlier directives
(`outcomes`), which generation is the newest (`newest`), and how one is given up (`invalidating`).
Invariant: whatever a task of the thread raises, the thread goes on with the next one; a directive that is still asked
for gets an outcome.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from shuffle_lifecycle.v1 import common_pb2

from listener_bridge import words
from listener_bridge.ahead import Ahead
from listener_bridge.invalidating import FENCE_TIMEOUT_S, Invalidating
from listener_bridge.newest import Newest
from listener_bridge.outcomes import WAITING_MAX, Outcomes
from listener_bridge.reporter import Reporter
from listener_bridge.shuffle_services import api
from listener_bridge.tap.facts import Snapshot
from listener_bridge.words import Directive, Outcome, Request

log = logging.getLogger("shuffle_lifecycle")

FREE_TIMEOUT_S = 20.0
FORGET_PAUSE_S = 0.5


@dataclass(slots=True)
class Counts:
    """What was done so far."""

    fenced: int = 0
    busy: int = 0
    refused: int = 0
    deleted: int = 0
    freed_bytes: int = 0
    failed: int = 0
    fence_ms: deque[float] = field(default_factory=lambda: deque(maxlen=1000))


class _Errand(Enum):
    """Tasks of the thread that answer no directive."""

    STOP = "stop"
    SNAPSHOT = "snapshot"
    FORGET = "forget"


@dataclass(frozen=True, slots=True)
class _FreeAhead:
    """Free a fenced generation whose deletion is certain, before the delete directive comes."""

    locator: api.Locator


@dataclass(frozen=True, slots=True)
class _AskWhetherKept:
    """Ask the service whether it has to keep a generation that has begun."""

    app_shuffle: int


_Task: TypeAlias = Directive | _Errand | _FreeAhead | _AskWhetherKept


class Executor:
    """Carries out one application's directives. Any thread may call its methods; its own alone calls the service."""

    def __init__(
        self, service: api.ShuffleService, snapshot: Callable[[], Snapshot | None], reporter: Reporter
    ) -> None:
        self.counts = Counts()
        self.ahead = Ahead()
        self.on_gone: Callable[[int], None] = lambda _: None  #: Called with every app shuffle that has no outputs now.
        self._service = service
        self._snapshot = snapshot
        self._reporter = reporter
        self._forgets = service.probe().forget_is_separate
        self._may_have_to_keep = service.probe().may_have_to_keep
        self._tasks: queue.SimpleQueue[_Task] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._outcomes = Outcomes()
        self._newest = Newest()
        self._invalidating = Invalidating(
            service, reporter, self._outcomes, self._newest, free=self._free, on_gone=lambda gone: self.on_gone(gone)
        )
        self._to_forget: deque[api.Locator] = deque(maxlen=WAITING_MAX)
        self._forget_due_s = 0.0  # by the monotonic clock
        self._forget_is_put_off = False  # some is left to forget, later; for the executor's thread alone
        self._stopped = ""
        self._thread = threading.Thread(target=self._run, name="shuffle-lifecycle-executor", daemon=True)

    # ---- called by others ----

    def start(self) -> None:
        self._thread.start()

    def submit(self, directive: Directive) -> None:
        """Carry out a directive, once. If it was carried out before, its outcome is told again."""
        with self._lock:
            if not self._outcomes.has_room_for(directive):
                return
            self._newest.note(directive.app_shuffle, max(directive.shuffle_id, directive.newest_shuffle_id))
            came = self._outcomes.came_of(directive.directive)
            if self._outcomes.ask(directive):
                self._tasks.put(directive)
        if came is not None:
            self._reporter.tell_again(came)

    def acknowledged(self, directive: int) -> None:
        """The coordinator has the outcome."""
        with self._lock:
            again = self._outcomes.acknowledge(directive)
            if again is not None:
                self._tasks.put(again)

    def outcomes(self) -> list[Request]:
        """All that the coordinator has not acknowledged."""
        return self._outcomes.unacknowledged()

    def begin_again(self) -> None:
        """The coordinator has lost its log: its directives and shuffle ids are no longer those of the new one."""
        with self._lock:
            self._outcomes.clear()
            self._newest.forget_all()
            self._invalidating.forget_all()
        self.ahead.forget_all()

    def generation_known(self, app_shuffle: int, shuffle_id: int) -> None:
        """A writer was told this generation: directives for older ones are superseded."""
        self._newest.note(app_shuffle, shuffle_id)
        if self._may_have_to_keep:
            self._tasks.put(_AskWhetherKept(app_shuffle))

    def shuffle_cleaned(self, app_shuffle: int) -> None:
        """Spark's cleaner has let the app shuffle go: forgets it. What comes all the same was on its way to us."""
        with self._lock:
            self._newest.clean(app_shuffle)
            self._invalidating.forget(app_shuffle)
        self.ahead.forget(app_shuffle)

    def want_snapshot(self) -> None:
        """Take a snapshot behind the directives that wait, and report it."""
        self._tasks.put(_Errand.SNAPSHOT)

    def tasks_ended(self) -> None:
        """A stage or job has ended: data that had to be kept for its tasks may be forgotten."""
        if self._to_forget:
            self._tasks.put(_Errand.FORGET)

    def stop(self, why: str, timeout_s: float) -> None:
        """Carry out nothing more: what waits is revoked. Waits up to `timeout_s` seconds for what is under way."""
        self._stopped = why
        self._tasks.put(_Errand.STOP)
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    # ---- the thread ----

    def _run(self) -> None:
        while True:
            task = self._next()
            if task is _Errand.STOP:
                return
            try:
                self._do(task)
            except Exception as error:  # the driver must not hear of it, and the next task is another one
                log.exception("a task of the executor failed and is left out: %s", task)
                if isinstance(task, Directive):
                    self._give_word(task, error)

    def _next(self) -> _Task:
        """The next task. A `forget` that was put off comes by itself: after the last task no event asks for it."""
        if not self._forget_is_put_off:
            return self._tasks.get()
        try:
            return self._tasks.get(timeout=max(0.0, self._forget_due_s - time.monotonic()))
        except queue.Empty:
            return _Errand.FORGET

    def _do(self, task: _Task) -> None:
        if isinstance(task, Directive):
            self._carry_out(task)
        elif isinstance(task, _AskWhetherKept):
            self._look_whether_it_is_kept(task.app_shuffle)
        elif isinstance(task, _FreeAhead):
            self._free_ahead(task.locator)
        elif task is _Errand.SNAPSHOT:
            self._take_snapshot()
        elif task is _Errand.FORGET:
            self._forget_is_put_off = time.monotonic() < self._forget_due_s or not self._forget_some()

    def _look_whether_it_is_kept(self, app_shuffle: int) -> None:
        """Tells the coordinator if the service keeps the app shuffle, before it could expire."""
        why = self._service.keeps(app_shuffle)
        if why:
            log.info("app shuffle %d is not deleted early: %s", app_shuffle, why)
            self._reporter.tell(words.kept(app_shuffle, why))

    def _carry_out(self, directive: Directive) -> None:
        if not self._outcomes.is_asked(directive):
            return  # of a log that is lost
        if self._stopped and not self._is_done(directive):
            self._settle(directive, words.revoked(directive.directive, self._stopped), None)
        elif directive.kind == common_pb2.DIRECTIVE_KIND_FENCE:
            self._fence(directive)
        elif directive.kind == common_pb2.DIRECTIVE_KIND_DELETE:
            self._delete(directive)
        elif directive.kind == common_pb2.DIRECTIVE_KIND_INVALIDATE:
            self._report(directive, self._invalidating.carry_out(directive))
        else:
            self._report(directive, api.Failed(f"directives of kind {directive.kind} are not known to this driver"))

    def _is_done(self, directive: Directive) -> bool:
        """Whether it is the deletion of data that were freed ahead: its outcome is told even after `stop`."""
        locator = words.locator_of(directive.locator)
        is_deletion = directive.kind == common_pb2.DIRECTIVE_KIND_DELETE
        return is_deletion and locator is not None and self.ahead.has_done(locator)

    def _fence(self, directive: Directive) -> None:
        superseded = self._newest.superseded(directive)
        if superseded is not None:
            self._report(directive, superseded)
            return
        self._reporter.begin(directive.directive)
        began = time.perf_counter()
        outcome = api.outcome_of(lambda: self._service.fence(directive.app_shuffle, FENCE_TIMEOUT_S))
        self.counts.fence_ms.append((time.perf_counter() - began) * 1000)
        if isinstance(outcome, (api.Fenced, api.Superseded)):
            self.on_gone(directive.app_shuffle)
        self._report(directive, outcome)
        if isinstance(outcome, api.Fenced) and directive.delete_follows:
            self._announce(directive.app_shuffle, outcome.locator)

    def _announce(self, app_shuffle: int, locator: api.Locator) -> None:
        """A fenced generation's deletion will follow: have it freed behind the fences that wait.

        If Spark has cleaned the app shuffle meanwhile no delete directive will come, and it is freed here and now.
        """
        with self._lock:
            if is_awaited := not self._newest.is_cleaned(app_shuffle):
                self.ahead.announce(locator, app_shuffle)
        if is_awaited:
            self._tasks.put(_FreeAhead(locator))
        elif not self._stopped:
            self._free(locator)

    def _free_ahead(self, locator: api.Locator) -> None:
        """Frees it, unless its deletion was asked for meanwhile."""
        if not self._stopped and self.ahead.is_due(locator):
            self.ahead.keep(locator, self._free(locator))

    def _delete(self, directive: Directive) -> None:
        locator = words.locator_of(directive.locator)
        if locator is None:
            self._report(directive, api.Failed("the directive names no generation; expected the locator of its fence"))
        else:
            done = self.ahead.take(locator)
            self._report(directive, self._free(locator) if done is None else done)

    def _free(self, locator: api.Locator) -> api.FreeOutcome:
        outcome = api.outcome_of(lambda: self._service.free(locator, FREE_TIMEOUT_S))
        if isinstance(outcome, api.Freed) and self._forgets:
            self._to_forget.append(locator)
        return outcome

    # ---- outcomes ----

    def _report(self, directive: Directive, outcome: Outcome) -> None:
        self._count(directive, outcome)
        marker = outcome.marker if isinstance(outcome, api.Fenced) else None
        self._settle(directive, words.outcome(directive.directive, outcome), marker)

    def _settle(self, directive: Directive, told: Request, marker: str | None) -> None:
        if not self._outcomes.begin_settling(directive, told):
            self._reporter.give_up(directive.directive)
            return
        try:
            self._reporter.settle(directive.directive, told, marker)
        finally:
            self._outcomes.end_settling(directive)

    def _give_word(self, directive: Directive, error: Exception) -> None:
        """Reports a directive whose outcome is not known as failed, so that the facts behind it need not wait."""
        try:
            self._settle(directive, words.outcome(directive.directive, api.Failed(type(error).__name__)), None)
        except Exception:
            log.exception("directive %d has no outcome", directive.directive)
            self._reporter.give_up(directive.directive)

    def _count(self, directive: Directive, outcome: Outcome) -> None:
        if isinstance(outcome, api.Fenced):
            self.counts.fenced += 1
        elif isinstance(outcome, api.Busy):
            self.counts.busy += 1
        elif isinstance(outcome, api.Freed):
            self.counts.deleted += directive.kind == common_pb2.DIRECTIVE_KIND_DELETE
            self.counts.freed_bytes += outcome.bytes
        elif isinstance(outcome, api.Failed):
            self.counts.failed += 1
        else:
            self.counts.refused += 1

    # ---- the rest ----

    def _forget_some(self) -> bool:
        """Forgets data of late writers, oldest fence first: a task older than one fence is older than all later ones.

        False: it has stopped in between, since other tasks wait, and those go first.
        """
        for _ in range(len(self._to_forget)):
            if not self._tasks.empty() or self._stopped:
                return False
            locator = self._to_forget.popleft()
            outcome = self._service.forget(locator, FREE_TIMEOUT_S)
            if isinstance(outcome, api.Busy):
                self._to_forget.appendleft(locator)
                break
            if isinstance(outcome, api.Failed):
                self._to_forget.append(locator)
        self._forget_due_s = time.monotonic() + FORGET_PAUSE_S
        return True

    def _take_snapshot(self) -> None:
        self._reporter.begin("snapshot")
        try:
            taken = self._snapshot()
        except Exception:
            self._reporter.give_up("snapshot")
            raise
        if taken is None:
            self._reporter.give_up("snapshot")
        else:
            self._reporter.settle("snapshot", taken, taken.marker)
