"""Calls into the JVM that are under way: who called what, since when.

Responsible for: knowing for each Python thread the py4j call that it waits for, and when and from which line its
earlier ones were; marking the thread's Spark jobs, so that a job can be laid to a thread.
Refuses to know: which calls matter (`actions`), what their jobs write (`regions`).
Invariant: the program's calls are sent and answered as they would be; nothing here raises or waits, and a call costs
well under a microsecond more, one that took a millisecond some microseconds. What is noted is read later, by others:
texts are taken apart only then.

A job is laid to a thread by a local property of Spark, which a JVM thread's jobs carry. In PySpark's pinned thread mode
each Python thread has one JVM thread for itself, so the property is set once, with the first call that a thread makes,
and again where PySpark gives a thread other properties. Those may be of several threads at once: what wraps the tasks
of `CrossValidator`'s pool gives them all one Java object, in which the last mark is everybody's. So the mark names the
object there, and a job that carries it is of all threads that were given it. Without pinned threads nothing says whose
a job is.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import re
import sys
import threading
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeAlias

from listener_bridge.reach import naming
from listener_bridge.reach.stacks import is_called_back, other_frames, outwards

OUR_THREADS = "shuffle-lifecycle"
"""How the names of the driver part's own threads begin."""
PROPERTY = "spark.shuffleLifecycle.thread"
MILLISECOND = 0.001
PAST_CALLS = 256
"""Calls of a thread that are remembered after they returned: those long enough to have run a job."""
PAST_THREADS = 64
LONGEST_HEAD = 1000
"""A call's object and method stand in the first characters of its text."""
TRUE = "bTrue\n"
"""As py4j writes it."""
GIVES_BACK = "m\n"
"""How py4j gives an object back (`MEMORY_COMMAND_NAME`): one for each that the program has dropped. It runs no job, and
the thread that sends them has no line of its own, which would be looked for along every other thread's frames."""
STEPS = re.compile(r"\bend(?:\s|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)+for\b|\bcursor\b", re.IGNORECASE)
"""A SQL script with one of these reads a query's result bit by bit."""
SHORT_COMMAND = 100
"""No command that hands a thread its properties is longer."""

_THREADS = itertools.count(1)
"""Of the process: a JVM thread may carry its mark from one attachment to the next."""

Note: TypeAlias = "tuple[int, float, str, Note | None]"
"""A call as it is noted: number, start, py4j's text, the call of the same thread that it is nested in."""


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
        self.thread = thread
        self.ident = ident
        self.is_ours = is_ours
        self.is_marked = False
        self.is_called_back = False  #: By the JVM, as a function of `foreachBatch` is.
        self.began_before = False  #: All that we know is that it was in a call when we came.
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
        """Of the calls that have returned since and were under way at that moment."""
        past = list(self.past)
        first = bisect_left(past, at_ms - tolerance_ms, key=_ended_ms)  # those before it ended earlier
        return {call.method for call in past[first:] if call.was_at(at_ms, tolerance_ms)}

    def _call(self, note: Note) -> Call:
        number, started, command, _ = note
        target, method, arguments = _parts(command)
        at_once, in_steps = arguments.startswith(TRUE), method == "sql" and _reads_in_steps(command)
        return Call(number, self.thread, self.ident, started * 1000, target, method, at_once, in_steps)


class Calls:
    """The calls of one gateway's client."""

    def __init__(self, client: Any, spark_context: str, is_pinned: bool) -> None:
        """`spark_context`: py4j's name of the Java Spark context, whose local properties are set."""
        self._client = client
        self._context = spark_context
        self._is_pinned = is_pinned
        self._local = threading.local()
        self._slots: dict[int, Slot] = {}  #: By themselves: a thread's identity is given to the next thread.
        self._over: deque[Slot] = deque(maxlen=PAST_THREADS)  #: Of threads that have ended, whose jobs may be told yet.
        self._numbers = itertools.count(1)
        self._send: Any = client.send_command
        self._ours: Callable[..., Any] | None = None
        self._was_replaced = "send_command" in vars(client)

    def watch(self) -> None:
        """Note every call from now on."""
        if self._ours is None:
            self._ours = self._noting()
            self._client.send_command = self._ours
            self._note_those_before()

    def unwatch(self) -> None:
        """Leave the client as it was found, unless somebody has wrapped it since: then it only goes on noting."""
        if self._ours is not None and vars(self._client).get("send_command") is self._ours:
            if self._was_replaced:
                self._client.send_command = self._send
            else:
                del self._client.send_command
            self._ours = None

    # ---- read by others ----

    def under_way(self) -> tuple[Call, ...]:
        """Every call that the program waits for, nested ones after those that they are nested in."""
        slots = list(self._slots.values())  # first: who makes its first call after the frames were read has none there
        frames = other_frames()
        here = threading.get_ident()
        found: list[Call] = []
        for slot in slots:
            frame = sys._getframe() if slot.ident == here else frames.get(slot.ident)  # noqa: SLF001 - documented
            depth = _depth(frame, self._code())
            if frame is None or (slot.began_before and not depth):
                self._end(slot)  # the thread has ended, or what it did before we came
            elif not slot.is_ours:
                found += slot.calls()[:depth]
            frame = None  # ours would stay with itself
        return tuple(found)

    def of_thread(self, thread: str | None, at_ms: float, tolerance_ms: float) -> tuple[Call, ...] | None:
        """The calls that a thread's job of that moment belongs to: none where they have returned. None: unknown.

        Of threads that share their properties all that are under way. A clock that was set back hides none: a call that
        began later than now counts, whatever the thread was doing at that moment when it came the first time.
        """
        slots = [slot for slot in list(self._slots.values()) if slot.thread == thread]
        latest_ms = at_ms + tolerance_ms if len(slots) == 1 else math.inf
        now_ms = time.time() * 1000 + tolerance_ms
        under_way = [call for slot in slots for call in slot.calls()]
        mine = tuple(call for call in under_way if call.started_ms <= latest_ms or call.started_ms > now_ms)
        if mine or any(slot.was_calling(at_ms, tolerance_ms) for slot in slots):
            return mine
        return None

    def methods_of(self, thread: str | None, at_ms: float, tolerance_ms: float) -> frozenset[str]:
        """What a thread was calling at that moment, also where it has returned or the thread has ended since.

        Of all threads where nothing says whose a job is; of those that began before us for a job that names none.
        """
        every = (*list(self._slots.values()), *self._over.copy())
        slots = [slot for slot in every if not slot.is_ours and (slot.thread == (thread or "") or not self._is_pinned)]
        now = {call.method for slot in slots for call in slot.calls() if call.started_ms <= at_ms + tolerance_ms}
        return frozenset(now.union(*(slot.methods_then(at_ms, tolerance_ms) for slot in slots)))

    def line_of(self, thread: str | None, method: str | None, at_ms: float, called_back: bool = False) -> str:
        """The program's line that had called into the JVM in that millisecond; empty where that is not known.

        Of one thread's calls the one that began first; of all threads' calls of a JVM method the only one. Of threads
        that share their properties the line that is the same for all.
        `called_back`: only of a thread that the JVM itself has called.
        """
        every = (*list(self._slots.values()), *self._over.copy())
        slots = [slot for slot in every if not slot.is_ours and (slot.is_called_back or not called_back)]
        if thread is not None:
            mine = [list(self._lines(slot, None, at_ms)) for slot in slots if slot.thread == thread]
            return _only({min(found)[1] for found in mine if found})
        found = {line for slot in slots for _, line in self._lines(slot, method, at_ms)} if method else set()
        return _only(found)

    def _lines(self, slot: Slot, method: str | None, at_ms: float) -> Iterator[tuple[float, str]]:
        """Of a thread's calls of that moment, with when they began. What returns meanwhile is among the past ones."""
        if (now := self._line_under_way(slot, method, at_ms)) is not None:
            yield now
        for past in reversed(list(slot.past)):
            if past.ended * 1000 < at_ms:
                break  # those before it ended earlier
            if past.started * 1000 < at_ms + 1 and method in (None, past.method):
                yield past.started, past.line

    def _line_under_way(self, slot: Slot, method: str | None, at_ms: float) -> tuple[float, str] | None:
        """Read from the thread's stack: it is the call's as long as that call is under way before and after."""
        note = slot.under_way
        if note is None or note[1] * 1000 >= at_ms + 1 or method not in (None, _parts(note[2])[1]):
            return None
        line = line_in(other_frames(), slot.ident)
        return (note[1], line) if slot.under_way is note and line else None

    def _end(self, slot: Slot) -> None:
        if self._slots.pop(id(slot), None) is not None:
            slot.under_way = None
            self._over.append(slot)

    def _code(self) -> Any:
        """Of py4j's own send: who stands in it waits for an answer."""
        return getattr(self._send, "__code__", None)

    # ---- the program's threads ----

    def _noting(self) -> Callable[..., Any]:
        """py4j's `send_command`, noted: with variables of its own and few calls, since each of the program's passes."""
        local, send, numbers, now = self._local, self._send, self._numbers, time.time
        enter, mark, returned, rename = self._enter, self._mark, self._returned, self._rename

        def send_command(command: str, retry: bool = True, binary: bool = False) -> Any:
            if command.startswith(GIVES_BACK):
                return send(command, retry, binary)
            try:
                slot = local.slot
            except AttributeError:
                slot = enter()
            if not slot.is_marked and command.startswith("c\n"):
                mark(slot)
            outer = slot.under_way
            started = now()
            try:
                slot.under_way = (next(numbers), started, command, outer)
                return send(command, retry, binary)
            finally:
                slot.under_way = outer
                ended = now()
                if ended - started > MILLISECOND:
                    returned(slot, command, started, ended)
                if len(command) < SHORT_COMMAND and "\nsetLocalProperties\n" in command:
                    rename(slot, command)

        return send_command

    def _returned(self, slot: Slot, command: str, started: float, ended: float) -> None:
        """A call that was long enough to have run a job."""
        line = "" if slot.is_ours else own_line()
        slot.past.append(Past(started, ended, _parts(command)[1], line))

    def _rename(self, slot: Slot, command: str) -> None:
        """The thread has been given other properties."""
        slot.thread = _named_after(_parts(command)[2])
        slot.is_marked = not self._is_pinned

    def _enter(self) -> Slot:
        """A thread's first call."""
        ident = threading.get_ident()
        slot = Slot(_new_mark(), ident, _is_ours(ident))
        slot.is_marked = slot.is_ours or not self._is_pinned
        slot.is_called_back = is_called_back(sys._getframe(1))  # noqa: SLF001 - documented
        self._local.slot = slot
        for before in list(self._slots.values()):
            if before.ident == ident:
                self._end(before)
        self._slots[id(slot)] = slot
        return slot

    def _note_those_before(self) -> None:
        """Calls that are under way already: of whatever they run nothing says whose it is."""
        for ident, frame in other_frames().items():
            if not _is_ours(ident) and _depth(frame, self._code()):
                slot = Slot("", ident)
                slot.began_before = True
                slot.under_way = (next(self._numbers), 0.0, "", None)
                self._slots[id(slot)] = slot

    def _mark(self, slot: Slot) -> None:
        """Have the jobs of this thread's JVM thread say whose they are."""
        slot.is_marked = True
        with contextlib.suppress(Exception):  # the program's own call will meet the same
            self._send(f"c\n{self._context}\nsetLocalProperty\ns{PROPERTY}\ns{slot.thread}\ne\n")


def _parts(command: str) -> tuple[str, str, str]:
    """What a call is made to, its method, and its arguments; no method where it is no call."""
    kind, target, method, arguments = [*command[:LONGEST_HEAD].split("\n", 3), "", "", ""][:4]
    return target, method if kind == "c" else "", arguments


def _reads_in_steps(command: str) -> bool:
    from py4j.protocol import unescape_new_line  # a coordinator's machine has no PySpark

    return STEPS.search(unescape_new_line(command)) is not None


def _new_mark() -> str:
    return f"t{next(_THREADS)}"


def _named_after(arguments: str) -> str:
    """The mark of a thread that was given properties, by py4j's name of them; its own where they have none."""
    name = arguments.split("\n", 1)[0]
    return f"p-{name[1:]}" if name.startswith("r") else _new_mark()


def _only(found: set[str]) -> str:
    return found.pop() if len(found) == 1 else ""


def own_line() -> str:
    """The program's line that this thread stands in, or works for; empty where nothing tells."""
    try:
        return naming.line_of_this_thread(sys._getframe(1)) or line_in(other_frames(), None)  # noqa: SLF001 - documented
    except Exception:  # noqa: BLE001 - the program's call shall return as it would
        return ""


def line_in(frames: Mapping[int, FrameType], ident: int | None) -> str:
    """The program's line that a thread stands in. None: of a thread that has none of its own.

    Where it has none it works for the program's only thread that waits in PySpark: `CrossValidator` has a pool fit.
    """
    own = naming.line_of(frames.get(ident)) if ident is not None else ""
    if own:
        return own
    waiting = {naming.line_of(frame) for frame in frames.values() if naming.waits_in_pyspark(frame)} - {""}
    return waiting.pop() if len(waiting) == 1 else ""


def of_gateway(gateway: Any, java_context: Any) -> Calls:
    """The calls of a program's gateway; `java_context` is PySpark's `_jsc`."""
    from py4j.clientserver import JavaClient

    client = gateway._gateway_client  # noqa: SLF001 - py4j has no public way
    return Calls(client, str(java_context._get_object_id()), isinstance(client, JavaClient))  # noqa: SLF001


def _is_ours(ident: int) -> bool:
    """Looks where `threading` keeps its threads: to ask it would take its lock, and add threads that it has not."""
    thread = getattr(threading, "_active", {}).get(ident)
    return str(getattr(thread, "name", "")).startswith(OUR_THREADS)


def _depth(frame: FrameType | None, code: Any) -> int:
    """How many sends a thread stands in. A note without one was left behind by an interrupt."""
    return sum(each.f_code is code for each in outwards(frame))
