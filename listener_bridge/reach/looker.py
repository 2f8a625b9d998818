"""Looks at the program: when one is taken, and its two marks among the facts.

Responsible for: one thread that takes one look at a time while there is a candidate, and reports what it found between
its marks.
Refuses to know: how the program and the JVM are read (`sight`), and what the coordinator concludes.
Invariant: a report stands behind all that was told before the look ended, and speaks only about what was complete where
the look began; a look that failed reports nothing, which keeps everything.

A beginning and a report are a commit each, and most looks find what the last one found. As long as no fact has come
since a look was told to begin, the next ones speak from that place too; one that has nothing new to say from there is
silent.

The first mark has passed, and with it every fact from before it, before anything is read: so what the readings know of
jobs is at least what was so at the mark.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from listener_bridge.allowance import HARDLY_ANY, MUCH_BYTES
from listener_bridge.reach import telling
from listener_bridge.reach.candidates import Candidates
from listener_bridge.reach.cycles import Cycles, collect
from listener_bridge.reach.findings import Found, Root
from listener_bridge.reach.pace import Pace, Worth
from listener_bridge.tap.facts import Fact, MarkerPassed, Snapshot
from listener_bridge.words import Request

log = logging.getLogger("shuffle_lifecycle")

MARK = "look-"
MARK_LIMIT_S = 30.0  # for the listener's queue to come to our mark
DIED_POLL_S = 0.1


class Sight(Protocol):
    """The eyes: what is read at a look."""

    def warm(self) -> None:
        """Load what the first look would have to load."""

    def read(self) -> Found:
        """All roots there are; or why that cannot be told."""

    def changes(self) -> int:
        """A number that differs when the program has dropped something since."""

    def line_of(self, thread: str | None, method: str | None, at_ms: float, called_back: bool = False) -> str:
        """The program's line that had called into the JVM then, in a thread, or a method; empty: not known."""

    def hear(self, fact: Fact) -> None:
        """A fact, in its order."""

    def resync(self, present: Snapshot) -> None:
        """What there is, where facts were missed or nobody had listened yet."""

    def close(self) -> None:
        """Leave the program as it was."""


class Looker:
    """One application's looks. `hear` belongs to the tap's thread."""

    def __init__(
        self,
        sight: Sight,
        mark: Callable[[str], None],
        settle: Callable[[object, Request, str], None],
        missed: Callable[[], int],
        prompt_bytes: int = MUCH_BYTES,
        collect: Callable[[], None] = collect,
    ) -> None:
        """`mark` posts a mark; `settle` has a request stand at one; `missed` counts how often reports were lost.

        `prompt_bytes`: where less can go, looks are in no hurry. `collect` drops what only cycles hold.
        """
        self.candidates = Candidates()
        self.looks = 0  #: Reported so far.
        self.looking_s = 0.0  #: Of a processor: a look that waits for one takes nothing from the program.
        self.on_found: Callable[[Sequence[Root]], None] = lambda _: None  #: Hears of what every look has found.
        self._sight = sight
        self._mark = mark
        self._settle = settle
        self._missed = missed
        self._missed_seen = missed()  # at the beginning of a look that has told what was missed until then
        self._missed_begun = self._missed_seen  # at the beginning of the last look
        self._prompt_bytes = prompt_bytes
        self._collect = collect
        self._cycles = Cycles(prompt_bytes, time.monotonic())
        self._told = telling.Told()
        self._taken = 0
        self._number = 0  # of the look that was told to begin last: later ones may speak from its place
        self._ended = 0  # of the last one that has told everything
        self._begins = ""  # the mark where the look of that number begins
        self._is_stale = True  # something has come since
        self._changed = threading.Condition()
        self._called_s: float | None = None  # when a look was called for that is not taken yet
        self._called_last_s = time.monotonic()
        self._changes = 0  # as the sight had counted when it was read last
        self._let_go = 0  # shuffles that took hardly any room, deleted since the last look
        self._passed = ""
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="shuffle-lifecycle-look", daemon=True)

    # ---- called by others ----

    def start(self, present: Snapshot | None = None) -> None:
        if present is not None:
            self.resync(present)
        self._thread.start()

    def resync(self, present: Snapshot) -> None:
        """What there is now: at the beginning, and after facts were missed. What goes wrong ends the looks alone."""
        if self._stopped:
            return
        try:
            self._sight.resync(present)
            self.candidates.known(present)
            self._is_stale = True
            self._call_for_one()
        except Exception as error:  # noqa: BLE001 - as in `hear`: the snapshot is the coordinator's too
            self._give_up(error)

    def stop(self, timeout_s: float) -> None:
        """Take no more looks, and leave the program as it was. A look under way is not waited for any longer."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        try:
            if self._thread.is_alive() and threading.current_thread() is not self._thread:
                self._thread.join(timeout_s)
        finally:  # also where somebody has interrupted the program meanwhile
            self._sight.close()

    def hear(self, facts: Sequence[Fact]) -> None:
        """Facts, in the order of the stream. Whatever goes wrong here ends the looks, not the listening."""
        if self._stopped:
            return
        try:
            self._take_note(facts)
        except Exception as error:  # noqa: BLE001 - whatever it is, the stream of facts goes on without it
            self._give_up(error)

    def _take_note(self, facts: Sequence[Fact]) -> None:
        calls = False
        for fact in facts:
            self._sight.hear(fact)
            calls |= self.candidates.hear(fact)
            if not isinstance(fact, MarkerPassed):
                self._is_stale = True
            elif fact.name.startswith(MARK):
                self._pass(fact.name)
        if calls:
            self._call_for_one()

    def gone(self, app_shuffle: int) -> None:
        """No longer a candidate: it was fenced."""
        with self._changed:
            self._let_go += self.candidates.is_less(app_shuffle, self._prompt_bytes // HARDLY_ANY)
        self.candidates.gone(app_shuffle)

    def _give_up(self, error: Exception) -> None:
        if not self._stopped:
            log.warning("looks at the program have ended, what only they let go is kept", exc_info=error)
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _call_for_one(self) -> None:
        with self._changed:
            self._note_call()
            self._changed.notify_all()

    def _note_call(self) -> None:
        self._called_last_s = time.monotonic()
        if self._called_s is None:
            self._called_s = self._called_last_s

    # ---- the thread ----

    def _run(self) -> None:
        try:
            self._sight.warm()
            pace = Pace(time.monotonic())
            while self._wait(pace):
                self._look(pace)
        except Exception as error:  # noqa: BLE001 - a program that we cannot look at keeps what it has
            self._give_up(error)

    def _wait(self, pace: Pace) -> bool:
        """Wait for the next look's time; answers False where there will be none."""
        while not self._stopped:
            with self._changed:
                now_s = time.monotonic()
                if (changes := self._sight.changes()) != self._changes:
                    self._changes = changes
                    self._note_call()
                if self._called_s is not None:
                    pace.happened()
                pace.let_go(now_s, self._taken_let_go())
                wait_s = pace.wait_s(now_s, self._called_s, self._worth(), self._called_last_s)
                if wait_s <= 0 and self.candidates.bytes:
                    self._called_s = None
                    return True
                self._changed.wait(min(max(wait_s, 0.001), DIED_POLL_S) if self.candidates.bytes else None)
        return False

    def _worth(self) -> Worth:
        """What a look could let go."""
        if self.candidates.are_at_least(self._prompt_bytes):
            return Worth.MUCH
        return Worth.SOME if self.candidates.are_at_least(self._prompt_bytes // HARDLY_ANY) else Worth.HARDLY_ANY

    def _taken_let_go(self) -> int:
        let_go, self._let_go = self._let_go, 0
        return let_go

    def _look(self, pace: Pace) -> None:
        self._taken += 1
        if not self._begin():
            return
        self._changes = self._sight.changes()
        began_s = time.thread_time()
        found = self._sight.read()
        was_new = self._report(found)
        spent_s = time.thread_time() - began_s + found.jvm_s
        self.looking_s += spent_s
        pace.took(time.monotonic(), spent_s, was_new)
        if found.everything is None and self._cycles.are_worth_it(time.monotonic(), found.roots, self.candidates.bytes):
            self._drop_cycles()

    def _drop_cycles(self) -> None:
        before, began_s = self._sight.changes(), time.thread_time()
        self._collect()
        cost_s = time.thread_time() - began_s
        self._cycles.collected(time.monotonic(), cost_s, self._sight.changes() != before)

    def _begin(self) -> bool:
        """Put the first mark, and wait until it has passed."""
        mark = f"{MARK}{self._taken}-begins"
        self._missed_begun = self._missed()
        if self._is_stale or self._missed_begun != self._missed_seen:
            self._number, self._begins = self._taken, mark
            self._settle(("look", self._taken, "begins"), telling.begin(self._number), mark)
        self._mark(mark)
        with self._changed:
            self._changed.wait_for(lambda: self._passed == mark or self._stopped, MARK_LIMIT_S)
            return self._passed == mark and not self._stopped

    def _report(self, found: Found) -> bool:
        """Tell what is new; answers whether anything has changed."""
        if found.everything is not None:
            log.debug("look %d told nothing: %s", self._taken, found.everything)
            return False
        if self._missed() != self._missed_seen:
            self._missed_seen = self._missed_begun  # what was missed since may be where this look began: again, then
            self._is_stale = True  # a gap may stand behind the place where this look began
            self._told.missed()
        report = self._told.report(self._number, found.roots)
        is_change = bool(report.report_cut.roots or report.report_cut.gone)
        if is_change or self._ended != self._number:
            self._tell(report)
        self.looks += 1
        self.on_found(found.roots)
        return is_change

    def _tell(self, report: Request) -> None:
        mark = f"{MARK}{self._taken}-ends"
        self._settle(("look", self._taken, "ends"), report, mark)
        self._mark(mark)
        self._ended = self._number

    def _pass(self, name: str) -> None:
        with self._changed:
            if name == self._begins:
                self._is_stale = False
            self._passed = name
            self._changed.notify_all()
