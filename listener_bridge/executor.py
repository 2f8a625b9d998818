"""Carries out directives: fence, delete, invalidate; and takes snapshots.

Responsible for: one thread that calls the shuffle service; which generation of an app shuffle is the newest; and which
data the service still has to forget. If a fence says that its deletion follows, the data are freed at once, and the
delete directive is answered with the outcome of that. Refuses to know: why a generation goes, how a service works, how
outcomes travel, and what came of earlier directives (`outcomes`).
Invariant: a directive for a generation that is older than the newest known one is `Superseded`.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from shuffle_lifecycle.v1 import common_pb2

from listener_bridge import words
from listener_bridge.ahead import Ahead
from listener_bridge.outcomes import WAITING_MAX, Outcomes
from listener_bridge.reporter import Reporter
from listener_bridge.shuffle_services import api
from listener_bridge.tap.facts import Snapshot
from listener_bridge.words import Directive, Outcome, Request

log = logging.getLogger("shuffle_lifecycle")

FENCE_TIMEOUT_S = 5.0
FREE_TIMEOUT_S = 20.0
FORGET_PAUSE_S = 0.5
_TEXT_MAX = 300  # characters of an error's text: an exception of py4j has the JVM's stack trace in it
CLEANED_MAX = 4_096  # app shuffles that Spark has cleaned are remembered: directives for them end within seconds


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
        self._newest: dict[int, int] = {}  # app shuffle -> newest shuffle id that is known
        self._given_up: dict[int, tuple[int, api.Locator]] = {}  # invalidate directive -> fenced, and not yet freed
        self._cleaned: OrderedDict[int, None] = OrderedDict()  # the newest app shuffles that Spark has let go
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
            self._note_newest(directive.app_shuffle, max(directive.shuffle_id, directive.newest_shuffle_id))
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
            self._newest.clear()
            self._given_up.clear()
        self.ahead.forget_all()

    def generation_known(self, app_shuffle: int, shuffle_id: int) -> None:
        """A writer was told this generation: directives for older ones are superseded."""
        with self._lock:
            self._note_newest(app_shuffle, shuffle_id)
        if self._may_have_to_keep:
            self._tasks.put(_AskWhetherKept(app_shuffle))

    def shuffle_cleaned(self, app_shuffle: int) -> None:
        with self._lock:
            self._cleaned[app_shuffle] = None
            if len(self._cleaned) > CLEANED_MAX:
                self._cleaned.popitem(last=False)
            self._newest.pop(app_shuffle, None)
            for over in [one for one, (whose, _) in self._given_up.items() if whose == app_shuffle]:
                del self._given_up[over]
        self.ahead.forget(app_shuffle)

    def want_snapshot(self) -> None:
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

    def _note_newest(self, app_shuffle: int, shuffle_id: int) -> None:
        if app_shuffle not in self._cleaned:
            self._newest[app_shuffle] = max(shuffle_id, self._newest.get(app_shuffle, 0))

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
            self._invalidate(directive)
        else:
            self._report(directive, api.Failed(f"directives of kind {directive.kind} are not known to this driver"))

    def _is_done(self, directive: Directive) -> bool:
        """Whether it is the deletion of data that were freed ahead: its outcome is told even after `stop`."""
        locator = words.locator_of(directive.locator)
        is_deletion = directive.kind == common_pb2.DIRECTIVE_KIND_DELETE
        return is_deletion and locator is not None and self.ahead.has_done(locator)

    def _fence(self, directive: Directive) -> None:
        newest = self._newest.get(directive.app_shuffle, 0)
        if newest > directive.shuffle_id:
            self._report(directive, api.Superseded(f"generation {newest} of app shuffle {directive.app_shuffle}"))
            return
        self._reporter.begin(directive.directive)
        began = time.perf_counter()
        outcome = self._fenced(lambda: self._service.fence(directive.app_shuffle, FENCE_TIMEOUT_S))
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
            if is_awaited := app_shuffle not in self._cleaned:
                self.ahead.announce(locator, app_shuffle)
        if is_awaited:
            self._tasks.put(_FreeAhead(locator))
        elif not self._stopped:
            self._free(locator)

    def _free_ahead(self, locator: api.Locator) -> None:
        """Frees it, unless its deletion was asked for meanwhile."""
        if not self._stopped and self.ahead.is_due(locator):
            self.ahead.keep(locator, self._free(locator))

    def _fenced(self, verb: Callable[[], api.FenceOutcome]) -> api.FenceOutcome:
        """What the verb gives; an error that it raises is an outcome, too."""
        try:
            return verb()
        except Exception as error:  # noqa: BLE001 - as `_raised` says
            return _raised(error)

    def _delete(self, directive: Directive) -> None:
        locator = words.locator_of(directive.locator)
        if locator is None:
            self._report(directive, api.Failed("the directive names no generation; expected the locator of its fence"))
        else:
            done = self.ahead.take(locator)
            self._report(directive, self._free(locator) if done is None else done)

    def _free(self, locator: api.Locator) -> api.FreeOutcome:
        try:
            outcome = self._service.free(locator, FREE_TIMEOUT_S)
        except Exception as error:  # noqa: BLE001 - as `_raised` says
            return _raised(error)
        if isinstance(outcome, api.Freed) and self._forgets:
            self._to_forget.append(locator)
        return outcome

    def _invalidate(self, directive: Directive) -> None:
        locator = words.locator_of(directive.locator)
        _, fenced = self._given_up.get(directive.directive, (None, None))
        if fenced is not None:
            outcome = self._free_given_up(directive, fenced)
        elif locator is None:
            outcome = self._invalidate_unnamed(directive)
        else:
            outcome = self._give_up(directive, lambda: self._service.invalidate(locator, FENCE_TIMEOUT_S))
        self._report(directive, outcome)

    def _give_up(self, directive: Directive, verb: Callable[[], api.FenceOutcome]) -> Outcome:
        """Fences what is there of the app shuffle (`verb`), then frees it."""
        outcome = self._fenced(verb)
        if not isinstance(outcome, api.Fenced):
            return outcome
        self.on_gone(directive.app_shuffle)
        return self._free_given_up(directive, outcome.locator)

    def _free_given_up(self, directive: Directive, locator: api.Locator) -> Outcome:
        """Frees what was fenced. If that fails its locator is kept: the directive may come again without one."""
        outcome, app_shuffle = self._free(locator), directive.app_shuffle
        with self._lock:
            self._given_up.pop(directive.directive, None)
            is_awaited = self._outcomes.is_asked(directive) and app_shuffle not in self._cleaned
            if isinstance(outcome, api.Failed) and is_awaited:
                self._given_up[directive.directive] = app_shuffle, locator
        return outcome

    def _invalidate_unnamed(self, directive: Directive) -> Outcome:
        """Invalidates a generation that was never fenced, so that it has no locator: what is there now is meant.

        Unless that may be newer. It is newer if a later generation is known. It may be if a writer has asked to write
        and was not answered: then the directive is to come again. A coordinator of an older release does not tell the
        newest generation: then what is there is left alone.
        """
        app_shuffle = directive.app_shuffle
        if not directive.newest_shuffle_id:
            return api.Superseded(f"what is there of app shuffle {app_shuffle}, whose generation nobody named")
        if self._reporter.asks_to_write(app_shuffle):
            return api.Busy((f"a writer of app shuffle {app_shuffle} that was not told its generation yet",))
        newest = self._newest.get(app_shuffle, 0)
        if newest > directive.shuffle_id:
            return api.Superseded(f"generation {newest} of app shuffle {app_shuffle}")
        try:
            held = self._service.holds(app_shuffle)
        except Exception as error:  # noqa: BLE001 - as `_raised` says: whether there is something, too
            return _raised(error)
        if isinstance(held, api.NotHeld):
            return self._give_up_unseen(directive)
        return self._give_up(directive, lambda: self._service.invalidate(held.locator, FENCE_TIMEOUT_S))

    def _give_up_unseen(self, directive: Directive) -> Outcome:
        """Spark has no outputs of it. A fence finds files of failed tasks all the same."""
        outcome = self._give_up(directive, lambda: self._service.fence(directive.app_shuffle, FENCE_TIMEOUT_S))
        return api.Freed(0) if isinstance(outcome, api.Superseded) else outcome

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


def _raised(error: Exception) -> api.Failed:
    """The outcome of an adapter that raised: nobody knows what it has done."""
    return api.Failed(f"the shuffle service raised {type(error).__name__}: {str(error)[:_TEXT_MAX]}")
