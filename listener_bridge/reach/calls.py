"""The program's calls into the JVM: which thread called what, and when.

Responsible for: noting for each Python thread the py4j call that it waits for, and when and from which line its earlier
calls were made; marking the thread's Spark jobs, so that it is known which thread has run a job.
Refuses to know: which calls matter (`actions`), and what their jobs write (`regions`).
Invariant: the program's calls are sent and answered as without us; nothing here raises or waits. A call costs well
under a microsecond more, and one that took a millisecond some microseconds.

The mark is a local property of Spark (`PROPERTY`), which every job of a JVM thread carries. In PySpark's pinned thread
mode each Python thread has a JVM thread of its own. So the mark is set once, with the first call that a thread makes,
and again when PySpark gives the thread other properties. Several threads may be given the same properties: PySpark
hands one Java object to all threads of `CrossValidator`'s pool, and a mark that one of them sets in it is everybody's.
There the mark is the object's name, and a job that carries it belongs to all threads that were given the object.
Without pinned threads nothing tells which thread has run a job.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from listener_bridge.reach.naming import line_in, own_line
from listener_bridge.reach.slots import Call, Past, Slot, parts
from listener_bridge.reach.stacks import is_called_back, other_frames, outwards

OUR_THREADS = "shuffle-lifecycle"
"""How the names of the driver part's own threads begin."""
PROPERTY = "spark.shuffleLifecycle.thread"
MILLISECOND = 0.001
PAST_THREADS = 64
"""Threads whose calls are remembered after they have ended."""
GIVES_BACK = "m\n"
"""How py4j gives an object back (`MEMORY_COMMAND_NAME`): one for each that the program has dropped. It runs no job, and
the thread that sends them has no line of its own, which would be looked for along every other thread's frames."""
SHORT_COMMAND = 100
"""No command that hands a thread its properties is longer."""

_THREADS = itertools.count(1)
"""Of the process: a JVM thread may carry its mark from one attachment to the next."""


class Calls:
    """The calls of one gateway's client."""

    def __init__(self, client: Any, spark_context: str, is_pinned: bool) -> None:
        """`spark_context`: py4j's name of the Java Spark context, whose local properties are set."""
        self._client = client
        self._context = spark_context
        self._is_pinned = is_pinned
        self._local = threading.local()
        self._slots: dict[int, Slot] = {}  #: By `id` of the slot: the identifier of an ended thread is used again.
        self._over: deque[Slot] = deque(maxlen=PAST_THREADS)  #: Of ended threads: facts of their jobs may still come.
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
        """Every call that the program waits for; a nested one stands behind the one in which it is nested."""
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
        """The calls under way to which a job that the thread ran at that moment may belong. None: not known.

        Empty where the call that ran the job has returned. Where threads share their properties, all their calls that
        are under way. If the clock was set back, a call may seem to begin in the future: such a call counts, too.
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
        """The methods that a thread was calling at that moment, also if they have returned or it has ended since.

        Those of all threads without pinned threads, where nothing tells whose a job is. A job without a mark may be
        of any thread that was in a call already when we began to watch.
        """
        every = (*list(self._slots.values()), *self._over.copy())
        slots = [slot for slot in every if not slot.is_ours and (slot.thread == (thread or "") or not self._is_pinned)]
        now = {call.method for slot in slots for call in slot.calls() if call.started_ms <= at_ms + tolerance_ms}
        return frozenset(now.union(*(slot.methods_then(at_ms, tolerance_ms) for slot in slots)))

    def line_of(self, thread: str | None, method: str | None, at_ms: float, called_back: bool = False) -> str:
        """The program's line that was calling into the JVM in that millisecond; empty where that is not known.

        Of a thread, the line of the call that began first; where threads share their properties, only if it is the same
        for all. Without a thread, the line of all calls of a JVM method, if there is only one.
        `called_back`: only threads that the JVM itself has called.
        """
        every = (*list(self._slots.values()), *self._over.copy())
        slots = [slot for slot in every if not slot.is_ours and (slot.is_called_back or not called_back)]
        if thread is not None:
            mine = [list(self._lines(slot, None, at_ms)) for slot in slots if slot.thread == thread]
            return _only({min(found)[1] for found in mine if found})
        found = {line for slot in slots for _, line in self._lines(slot, method, at_ms)} if method else set()
        return _only(found)

    def _lines(self, slot: Slot, method: str | None, at_ms: float) -> Iterator[tuple[float, str]]:
        """Start and line of each call of a thread at that moment. One that returns meanwhile is among the past."""
        if (now := self._line_under_way(slot, method, at_ms)) is not None:
            yield now
        for past in reversed(list(slot.past)):
            if past.ended * 1000 < at_ms:
                break  # those before it ended earlier
            if past.started * 1000 < at_ms + 1 and method in (None, past.method):
                yield past.started, past.line

    def _line_under_way(self, slot: Slot, method: str | None, at_ms: float) -> tuple[float, str] | None:
        """Read from the thread's stack: it is the call's line if the same call is under way before and after."""
        note = slot.under_way
        if note is None or note[1] * 1000 >= at_ms + 1 or method not in (None, parts(note[2])[1]):
            return None
        line = line_in(other_frames(), slot.ident)
        return (note[1], line) if slot.under_way is note and line else None

    def _end(self, slot: Slot) -> None:
        if self._slots.pop(id(slot), None) is not None:
            slot.under_way = None
            self._over.append(slot)

    def _code(self) -> Any:
        """The code of py4j's own `send_command`: a thread that stands in it waits for an answer."""
        return getattr(self._send, "__code__", None)

    # ---- the program's threads ----

    def _noting(self) -> Callable[..., Any]:
        """A `send_command` that notes the call. Every call of the program passes here: hence few lookups and calls."""
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
        """Remembers a call that took long enough to have run a job."""
        line = "" if slot.is_ours else own_line()
        slot.past.append(Past(started, ended, parts(command)[1], line))

    def _rename(self, slot: Slot, command: str) -> None:
        """The thread has been given other properties."""
        slot.thread = _named_after(parts(command)[2])
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
        """Notes the calls that are under way already. Their threads have no mark: nothing tells which jobs they run."""
        for ident, frame in other_frames().items():
            if not _is_ours(ident) and _depth(frame, self._code()):
                slot = Slot("", ident)
                slot.began_before = True
                slot.under_way = (next(self._numbers), 0.0, "", None)
                self._slots[id(slot)] = slot

    def _mark(self, slot: Slot) -> None:
        """Sets the mark in this thread's JVM thread, whose jobs carry it from now on."""
        slot.is_marked = True
        with contextlib.suppress(Exception):  # the program's own call will meet the same
            self._send(f"c\n{self._context}\nsetLocalProperty\ns{PROPERTY}\ns{slot.thread}\ne\n")


def _new_mark() -> str:
    return f"t{next(_THREADS)}"


def _named_after(arguments: str) -> str:
    """The mark of a thread that was given properties, by py4j's name of them; its own where they have none."""
    name = arguments.split("\n", 1)[0]
    return f"p-{name[1:]}" if name.startswith("r") else _new_mark()


def _only(found: set[str]) -> str:
    return found.pop() if len(found) == 1 else ""


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
    """In how many nested sends a thread stands. Notes beyond that number were left behind by an interrupt."""
    return sum(each.f_code is code for each in outwards(frame))
