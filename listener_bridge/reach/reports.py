"""Where looks stand in the stream of facts: the beginning of each, and its report, at marks of the stream.

Responsible for: posting a look's two marks, what is told at them, and whether anything has to be.
Refuses to know: when looks are taken (`looker`), and how a report differs from the last one (`telling`).
Invariant: a report stands behind everything that was told before the look ended, and speaks only about what was
complete at the beginning that was told last.

A beginning and a report cost the coordinator a commit each, and most looks find what the last one found. So a look
tells a beginning only if facts have come, or may have been lost, since the last one that was told; otherwise it speaks
from that same place. And a look that has nothing new to say from a place where one has already reported tells nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from listener_bridge.reach import telling
from listener_bridge.reach.findings import Root
from listener_bridge.words import Request

_MARK = "look-"


def is_mark(name: str) -> bool:
    """Whether a mark that has passed is one of a look's."""
    return name.startswith(_MARK)


class Reports:
    """One application's. `outdate` and `passed` belong to the thread that hears facts, the rest to the look's."""

    def __init__(
        self,
        mark: Callable[[str], None],
        settle: Callable[[object, Request, str], None],
        missed: Callable[[], int],
    ) -> None:
        """`mark` posts a mark; `settle` has a request stand at one; `missed` counts how often reports were lost."""
        self._mark = mark
        self._settle = settle
        self._missed = missed
        self._missed_known = missed()  # what `missed` gave when a look began after which all was told anew
        self._missed_begun = self._missed_known  # what it gave when the newest look began
        self._told = telling.Told()
        self._number = 0  # of the look whose beginning was told last
        self._begins = ""  # the mark of that beginning
        self._is_outdated = True  # facts have come since that beginning
        self._reported = 0  # the number under which a report was told last

    def outdate(self) -> None:
        """A fact has come: the next look tells a beginning of its own."""
        self._is_outdated = True

    def passed(self, mark: str) -> None:
        """A look's mark has passed in the stream, and every fact from before it."""
        if mark == self._begins:
            self._is_outdated = False

    def begin(self, look: int) -> str:
        """Post the mark where a look begins, with its beginning if that has to be told; answers the mark."""
        mark = f"{_MARK}{look}-begins"
        self._missed_begun = self._missed()
        if self._is_outdated or self._missed_begun != self._missed_known:
            self._number, self._begins = look, mark
            self._settle(("look", look, "begins"), telling.begin(look), mark)
        self._mark(mark)
        return mark

    def report(self, look: int, roots: Sequence[Root]) -> bool:
        """Tell what a look has found, where that is new; answers whether any root has changed."""
        self._note_missed()
        report = self._told.report(self._number, roots)
        is_change = bool(report.report_cut.roots or report.report_cut.gone)
        if is_change or self._reported != self._number:
            mark = f"{_MARK}{look}-ends"
            self._settle(("look", look, "ends"), report, mark)
            self._mark(mark)
            self._reported = self._number
        return is_change

    def _note_missed(self) -> None:
        """If reports were lost all roots are told anew, and the next look tells a beginning.

        What was lost since this look began counts once more at the next one: it may have been this beginning.
        """
        if self._missed() != self._missed_known:
            self._missed_known = self._missed_begun
            self._is_outdated = True
            self._told.missed()
