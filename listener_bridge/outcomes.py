"""What came of each directive.

Responsible for: which directives wait to be carried out, the outcome of each until the coordinator has acknowledged it,
and whether one that comes again is meant again. Refuses to know: how anything is carried out, and how outcomes travel.
Invariant: under one number a directive is handed out at most once, but for one that has failed and is asked for again.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict

from shuffle_lifecycle.v1 import common_pb2

from listener_bridge.words import Directive, Request

WAITING_MAX = 10_000  # directives: a coordinator sends 1,024 ahead of our answers; beyond this they are left out
OVER_MAX = 4_096  # acknowledged outcomes that are remembered: their directives may still be on their way to us


class Outcomes:
    """One application's. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[int, Request | Directive] = {}  # directive -> its outcome; itself: not carried out yet
        self._settling: set[int] = set()  # their outcomes are being placed among the facts
        self._again: dict[int, Directive] = {}  # asked for once more while a failure of it was not acknowledged yet
        self._over: OrderedDict[int, str] = OrderedDict()  # what the newest acknowledged outcomes were: "freed", …

    def has_room_for(self, directive: Directive) -> bool:
        """Whether it is known, or few enough others are."""
        with self._lock:
            return directive.directive in self._known or len(self._known) < WAITING_MAX

    def ask(self, directive: Directive) -> bool:
        """It is asked for: whether it is to be carried out now."""
        with self._lock:
            known = self._known.get(directive.directive)
            if known is None:
                over = self._over.get(directive.directive)
                if over is not None and _is_final(directive, over):
                    return False
                self._known[directive.directive] = directive
                return True
            if isinstance(known, Request) and not _is_final(directive, _came(known)):
                self._again[directive.directive] = directive  # perhaps because it has failed: then nobody asks again
            return False

    def is_asked(self, directive: Directive) -> bool:
        """Whether this very one waits to be carried out: one of a log that is lost does not."""
        with self._lock:
            return self._known.get(directive.directive) is directive

    def came_of(self, directive: int) -> Request | None:
        """The outcome that can be told again; None where there is none, or it is just being told."""
        with self._lock:
            known = None if directive in self._settling else self._known.get(directive)
            return known if isinstance(known, Request) else None

    def begin_settling(self, directive: Directive, told: Request) -> bool:
        """What came of it, and it is being placed among the facts. False: nobody asks for it any more."""
        with self._lock:
            is_asked = self._known.get(directive.directive) is directive
            if is_asked:
                self._known[directive.directive] = told
                self._settling.add(directive.directive)
            return is_asked

    def end_settling(self, directive: Directive) -> None:
        """It has its place."""
        with self._lock:
            self._settling.discard(directive.directive)

    def acknowledge(self, directive: int) -> Directive | None:
        """The coordinator has the outcome: a directive of this number is not meant any more, unless it has failed.

        It may come all the same: a new session tells all that are outstanding, while outcomes of some are on their way.
        Gives the one that is to be carried out once more, since it was asked for again after it had failed.
        """
        with self._lock:
            known = self._known.get(directive)
            if not isinstance(known, Request):
                return None
            del self._known[directive]
            self._over[directive] = _came(known)
            if len(self._over) > OVER_MAX:
                self._over.popitem(last=False)
            again = self._again.pop(directive, None)
            if again is not None:
                self._known[directive] = again
            return again

    def unacknowledged(self) -> list[Request]:
        """All that the coordinator has not acknowledged, but for those that are just being told."""
        with self._lock:
            settled = [told for number, told in self._known.items() if number not in self._settling]
            return [told for told in settled if isinstance(told, Request)]

    def clear(self) -> None:
        """The coordinator has lost its log: its directives are no longer those of the new one."""
        with self._lock:
            self._known.clear()
            self._again.clear()
            self._over.clear()


def _came(outcome: Request) -> str:
    """Which outcome it is. Of one that is over that alone is kept: a message weighs 0.7 KB, and 4,096 are known."""
    return sys.intern(outcome.report_outcome.WhichOneof("outcome") or "")


def _is_final(directive: Directive, came: str) -> bool:
    """Whether the coordinator asks no more for it under its number: what has failed it asks for again."""
    if directive.kind == common_pb2.DIRECTIVE_KIND_FENCE:
        return True  # another fence has a number of its own
    return came in ("freed", "superseded") or (
        came == "cannot" and directive.kind == common_pb2.DIRECTIVE_KIND_INVALIDATE
    )
