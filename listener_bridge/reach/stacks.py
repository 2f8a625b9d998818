"""Where the threads of this process stand.

Responsible for asking the interpreter for frames, for following them outwards, and for recognising threads that the JVM
has called. Refuses to know what else stands in frames.
Invariant: whoever looks at the frames of other threads waits for nobody, and harms nobody.

On CPython 3.11 two things could. A garbage collection can begin wherever an object is made, also where a frame
(`_current_frames`, `f_back`) or its variables (`f_locals`) become one. It lets other threads run, and if one of these
frames ends meanwhile the object is made of freed memory: the process crashes. And up to 3.11.8 the frames are made
under the interpreter's lock of its list of threads; a thread that runs meanwhile may wait for that lock with the GIL in
hand: the process hangs (python/cpython#106883). So no collection begins while frames are looked at
(`without_collections`).

A reference to a frame keeps its variables alive after its function has returned. The file that `json.dump(rows,
open(path, "w"))` has written would be closed, and complete, only when the frame is dropped. So unless variables are
read, frames are asked within one instruction, during which no other thread runs, and no reference outlives it
(`asking`).
"""

from __future__ import annotations

import gc
import operator
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain, islice
from types import CodeType, FrameType
from typing import Any, NamedTuple

_LOOP = "wait_for_commands"  # of a thread that py4j has begun for what the JVM calls (py4j 0.10.9, `clientserver`)
COLLECTS = sys.version_info[:2] == (3, 11)


class _Pause:
    """Switches collections off while anybody looks at frames, and on again after the last one if they were on."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # held for a few steps, in which no object is made
        self._looking: set[object] = set()
        self._were_on = True

    def begin(self, who: object) -> None:
        with self._lock:
            if not self._looking:
                self._were_on = gc.isenabled()
            self._looking.add(who)
            gc.disable()

    def end(self, who: object) -> None:
        """Also for one that was interrupted in `begin`."""
        with self._lock:
            self._looking.discard(who)
            if not self._looking and self._were_on:
                gc.enable()

    def forget(self) -> None:
        """In a child process: whoever looked is not in it, and may have held the lock."""
        if self._looking and self._were_on:
            gc.enable()
        self._looking = set()
        self._lock = threading.RLock()


_pause = _Pause()
if COLLECTS and hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pause.forget)


class _Paused:
    """A class and no generator: on Python 3.10 a generator that is closed early leaves what it holds in a cycle."""

    def __enter__(self) -> None:
        try:
            _pause.begin(self)
        except BaseException:
            _pause.end(self)
            raise

    def __exit__(self, *_: object) -> None:
        _pause.end(self)


def without_collections() -> AbstractContextManager[None]:
    """No collection begins by itself until the block is left: around everything that goes along others' frames."""
    return _Paused() if COLLECTS else nullcontext()


def current_frames() -> dict[int, FrameType]:
    """The frame of each thread, by its identifier."""
    with without_collections():
        return sys._current_frames()  # noqa: SLF001 - documented, and the only way


def other_frames() -> dict[int, FrameType]:
    """Where all threads but this one stand.

    The caller's own frame is left out: a variable of the caller that held it would make a cycle, and then all these
    frames, with everything that their variables hold, would stay until the next collection.
    """
    frames = current_frames()
    frames.pop(threading.get_ident(), None)
    return frames


class Seen(NamedTuple):
    """What was read from a frame: attributes by their names; `frame` is its id, `back` that of its caller."""

    frame: int
    back: int
    f_code: CodeType
    f_lasti: int
    f_trace: object
    f_globals: dict[str, Any]


_BACK = operator.attrgetter("f_back")
_ANSWERS = operator.attrgetter("f_code", "f_lasti", "f_trace", "f_globals")


def seen() -> list[Seen]:
    """The frames of all threads but this one, all at one moment; a thread's frames from the innermost outwards."""
    with without_collections():
        found = [*asking()]
    ours = set(map(id, outwards_here(sys._getframe())))  # noqa: SLF001 - documented
    each = zip(*answered(found), strict=True)
    return [Seen(frame, back, *told) for frame, back, told in each if frame not in ours]


def are_traced() -> bool:
    """Whether some frame has a trace function, as under a debugger."""
    with without_collections():
        found = [*asking()]
    return any(trace is not None for _, _, trace, _ in answered(found)[2])


def asking() -> Iterator[Any]:
    """Reads the frames of all threads, also this one's; `answered` takes the result apart.

    Use it as `[*asking()]`, with no collection meanwhile. All of it is done by functions written in C, between which no
    other thread runs; the last one drops the references to the frames.
    """
    frames: list[Any] = []
    return chain(
        map(frames.extend, map(dict.values, islice(iter(sys._current_frames, None), 1))),  # noqa: SLF001 - as above
        map(frames.extend, [map(_BACK, filter(None, frames))]),  # grows while it is gone through, to the outermost
        map(id, filter(None, frames)),
        map(id, map(_BACK, filter(None, frames))),
        map(_ANSWERS, filter(None, frames)),
        map(list.clear, [frames]),
    )


def answered(found: Sequence[Any]) -> tuple[Sequence[int], Sequence[int], Sequence[Any]]:
    """Of each frame, in three sequences: its id; its caller's id; its code, instruction, trace function and globals."""
    count = len(found) // 3 - 1
    ids, backs, answers = (found[2 + at * count : 2 + (at + 1) * count] for at in range(3))
    return ids, backs, answers


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """A thread's frames, the innermost first."""
    with without_collections():
        while frame is not None:
            yield frame
            frame = frame.f_back


def outwards_here(frame: FrameType | None) -> Iterator[FrameType]:
    """The same for the thread that asks. Its frames do not end meanwhile: a collection may begin."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def is_called_back(frame: FrameType | None) -> bool:
    """Whether py4j has started the thread, for calls of the JVM into Python."""
    return any(each.f_code.co_name == _LOOP for each in outwards(frame))


def are_answering(frames: Sequence[Seen]) -> bool:
    """Whether the JVM waits for the answer of one of these threads.

    A thread whose innermost frame is py4j's loop may be sending it just now; if it waited for the JVM it would stand in
    a read of Python's own library.
    """
    outer = {frame.back for frame in frames}
    innermost = {frame.f_code.co_name for frame in frames if frame.frame not in outer}
    return _LOOP in innermost or any(frame.f_code.co_name == "_call_proxy" for frame in frames)
