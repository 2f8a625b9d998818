"""One thread's calls into the JVM: those under way, and those that have returned.

Responsible for: how a call is noted, and what a note says: py4j's text of a call is taken apart only when somebody
reads it.
Refuses to know: who notes calls, and the other threads (`calls`).
Invariant: a slot is written by its own thread alone, one attribute at a time, and read by any.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass
from typing import TypeAlias

PAST_CALLS = 256
"""Calls of a thread that are remembered after they returned: those long enough to have run a job."""
LONGEST_HEAD = 1000
"""A call's object and method stand in the first characters of its text."""
TRUE = "bTrue\n"
"""As py4j writes it."""
STEPS = re.compile(r"\bend(?:\s|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)+for\b|\bcursor\b", re.IGNORECASE)
"""A SQL script with one of these reads a query's result bit by bit."""

Note: TypeAlias = "tuple[int, float, str, Note | None]"
"""A call as it is noted: number, start in seconds, py4j's text, the call of the same thread in which it is nested."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call under way. `target`: py4j's name of an object, or `z:` and a class. Times are the wall clock's.

    `at_once`: its first argument is true, as of checkpoints that are not to wait for an action. `in_steps`: it runs a
    SQL script that reads a query's result bit by bit.
    """

    number: int
    thread: str
    ident: int
    started_ms: float
    target: str
    method: str
    at_once: bool = False
    in_steps: bool = False


@dataclass(frozen=True, slots=True)
class Past:
    """A call that has returned: of which method, and from which line of the program. Times are seconds."""

    started: float
    ended: float
    method: str
    line: str

    def was_at(self, at_ms: float, tolerance_ms: float) -> bool:
        return self.started * 1000 - tolerance_ms <= at_ms <= self.ended * 1000 + tolerance_ms


def _ended_ms(past: Past) -> float:
    return past.ended * 1000


class Slot:
    """What one thread is doing. Written by that thread alone."""

    __slots__ = ("began_before", "ident", "is_called_back", "is_marked", "is_ours", "past", "thread", "under_way")

    def __init__(self, thread: str, ident: int, is_ours: bool = False) -> None:
        self.thread = thread  #: The mark that its jobs carry; threads that share their properties have the same.
        self.ident = ident
        self.is_ours = is_ours
        self.is_marked = False  #: Its JVM thread carries the mark, or needs none.
        self.is_called_back = False  #: By the JVM, as a function of `foreachBatch` is.
        self.began_before = False  #: It was in a call already when we began to watch: no more is known of it.
        self.under_way: Note | None = None
        self.past: deque[Past] = deque(maxlen=PAST_CALLS)

    def calls(self) -> list[Call]:
        """Calls under way, the outermost first."""
        found: list[Call] = []
        note = self.under_way
        while note is not None:
            found.append(self._call(note))
            note = note[3]
        return found[::-1]

    def was_calling(self, at_ms: float, tolerance_ms: float) -> bool:
        """Whether a call that has returned since was under way at that moment."""
        return bool(self.methods_then(at_ms, tolerance_ms))

    def methods_then(self, at_ms: float, tolerance_ms: float) -> set[str]:
        """The methods of the calls that were under way at that moment and have returned since."""
        past = list(self.past)
        first = bisect_left(past, at_ms - tolerance_ms, key=_ended_ms)  # those before it ended earlier
        return {call.method for call in past[first:] if call.was_at(at_ms, tolerance_ms)}

    def _call(self, note: Note) -> Call:
        number, started, command, _ = note
        target, method, arguments = parts(command)
        at_once, in_steps = arguments.startswith(TRUE), method == "sql" and _reads_in_steps(command)
        return Call(number, self.thread, self.ident, started * 1000, target, method, at_once, in_steps)


def parts(command: str) -> tuple[str, str, str]:
    """Of py4j's text of a call: the object or class, the method and the arguments; no method where it is no call."""
    kind, target, method, arguments = [*command[:LONGEST_HEAD].split("\n", 3), "", "", ""][:4]
    return target, method if kind == "c" else "", arguments


def _reads_in_steps(command: str) -> bool:
    from py4j.protocol import unescape_new_line  # a coordinator's machine has no PySpark

    return STEPS.search(unescape_new_line(command)) is not None
