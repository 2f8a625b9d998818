"""Looks at the program: the thread that takes them, one at a time, while there is a candidate.

Responsible for: when a look is called for, and taking it between its two marks in the stream of facts.
Refuses to know: how the program and the JVM are read (`sight`), what is told at the marks (`reports`), and what the
coordinator concludes.
Invariant: nothing is read before the look's first mark has passed, and with it every fact from before it: so what is
read knows at least the jobs that there were at the mark. A look that failed reports nothing, which keeps everything.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from listener_bridge.allowance import HARDLY_ANY, MUCH_BYTES
from listener_bridge.reach.candidates import Candidates
from listener_bridge.reach.cycles import Cycles, collect
from listener_bridge.reach.findings import Found, Root
from listener_bridge.reach.pace import Pace, Worth
from listener_bridge.reach.reports import Reports, is_mark
from listener_bridge.tap.facts import Fact, MarkerPassed, Snapshot
from listener_bridge.words import Request

log = logging.getLogger("shuffle_lifecycle")

MARK_LIMIT_S = 30.0  # how long the listener's queue may take to come to our mark
CHANGES_POLL_S = 0.1  # how often the sight is asked whether the program has dropped something


class Sight(Protocol):
    """What reads the program and its JVM at a look."""

    def warm(self) -> None:
        """Load what the first look would have to load."""

    def read(self) -> Found:
        """All roots, or why it cannot be told which there are."""

    def changes(self) -> int:
        """A number that has grown if the program has dropped something since it was asked last."""

    def line_of(self, thread: str | None, method: str | None, at_ms: float, called_back: bool = False) -> str:
        """The program's line that was calling into the JVM at a time, of a thread or to a method; empty: not known."""

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
        """`mark`, `settle` and `missed` are as for `Reports`.

        `prompt_bytes`: where the candidates take less, looks are in no hurry. `collect` drops what only cycles hold.
        """
        self.candidates = Candidates()
        self.looks = 0  #: How many could tell what there is, so far.
        self.looking_s = 0.0  #: Processor time that looks took so far; what they waited does not count.
        self.on_found: Callable[[Sequence[Root]], None] = lambda _: None  #: Hears of what every look has found.
        self._sight = sight
        self._reports = Reports(mark, settle, missed)
        self._prompt_bytes = prompt_bytes
        self._collect = collect
        self._cycles = Cycles(prompt_bytes, time.monotonic())
        self._taken = 0  # looks begun so far: the number of the newest one
        self._changed = threading.Condition()
        self._called_s: float | None = None  # when the look was first called for that is not taken yet
        self._called_last_s = time.monotonic()
        self._changes = 0  # what the sight's `changes` gave last
        self._let_go = 0  # how many shuffles of hardly any bytes were fenced since `_wait` came by last
        self._passed = ""  # the newest mark of a look that has passed
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="shuffle-lifecycle-look", daemon=True)

    # ---- called by others ----

    def start(self, present: Snapshot | None = None) -> None:
        if present is not None:
            self.resync(present)
        self._thread.start()

    def resync(self, present: Snapshot) -> None:
        """What there is now: at the beginning, and after facts were missed. An error ends the looks alone."""
        if self._stopped:
            return
        try:
            self._sight.resync(present)
            self.candidates.known(present)
            self._reports.outdate()
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
        """Facts, in the order of the stream. An error ends the looks, not the listening."""
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
                self._reports.outdate()
            elif is_mark(fact.name):
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
                self._changed.wait(min(max(wait_s, 0.001), CHANGES_POLL_S) if self.candidates.bytes else None)
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
        is_change = self._report(found)
        spent_s = time.thread_time() - began_s + found.jvm_s
        self.looking_s += spent_s
        pace.took(time.monotonic(), spent_s, is_change)
        if found.everything is None and self._cycles.are_worth_it(time.monotonic(), found.roots, self.candidates.bytes):
            self._drop_cycles()

    def _drop_cycles(self) -> None:
        before, began_s = self._sight.changes(), time.thread_time()
        self._collect()
        cost_s = time.thread_time() - began_s
        self._cycles.collected(time.monotonic(), cost_s, self._sight.changes() != before)

    def _begin(self) -> bool:
        """Post the first mark, and wait until it has passed; answers False where it does not."""
        mark = self._reports.begin(self._taken)
        with self._changed:
            self._changed.wait_for(lambda: self._passed == mark or self._stopped, MARK_LIMIT_S)
            return self._passed == mark and not self._stopped

    def _report(self, found: Found) -> bool:
        """Tell what is new; answers whether any root has changed."""
        if found.everything is not None:
            log.debug("look %d told nothing: %s", self._taken, found.everything)
            return False
        is_change = self._reports.report(self._taken, found.roots)
        self.looks += 1
        self.on_found(found.roots)
        return is_change

    def _pass(self, name: str) -> None:
        with self._changed:
            self._reports.passed(name)
            self._passed = name
            self._changed.notify_all()
