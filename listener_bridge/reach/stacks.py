"""Where the threads of this process stand.

Responsible for asking the interpreter, for going along frames, and for telling threads that the JVM has called. Refuses
to know what else stands in frames.
Invariant: whoever looks at the frames of other threads waits for nobody, and harms nobody. On CPython 3.11 a garbage
collection can begin wherever an object is made, also a frame's (`_current_frames`, `f_back`) or that of its variables
(`f_locals`), and let other threads run, whose frames end meanwhile: the object is then made of what is no frame any
more, and the process crashes. And up to 3.11.8 the frames are made under the interpreter's lock of threads, for which
one of those may wait and hold the GIL: the process stands still for ever (python/cpython#106883). So none begins there.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_LOOP = "wait_for_commands"  # of a thread that py4j has begun for what the JVM calls (py4j 0.10.9, `clientserver`)
COLLECTS = sys.version_info[:2] == (3, 11)
_bookkeeping = threading.RLock()  # held for a few steps, in which no object is made
_looking: set[object] = set()  # who looks at frames now
_paused: set[bool] = set()  # whether the program had collections when the first of them came


@contextmanager
def without_collections() -> Iterator[None]:
    """No collection begins by itself until the block is left: around everything that goes along others' frames."""
    me = object()
    try:
        if COLLECTS:
            _pause(me)
        yield
    finally:
        if COLLECTS:
            _resume(me)


def _pause(me: object) -> None:
    with _bookkeeping:
        if not _looking:
            _paused.add(gc.isenabled())
        _looking.add(me)
        gc.disable()


def _resume(me: object) -> None:
    with _bookkeeping:
        _looking.discard(me)
        if not _looking and _paused and _paused.pop():
            gc.enable()


def current_frames() -> dict[int, FrameType]:
    """The frame of each thread, by its identifier."""
    with without_collections():
        return sys._current_frames()  # noqa: SLF001 - documented, and the only way


def other_frames() -> dict[int, FrameType]:
    """Where all threads but this one stand.

    Without this one's frame: whoever held that in a variable would be in a cycle with it, and every frame of the others
    would stay, with all that its variables hold, until the collector comes by.
    """
    frames = current_frames()
    frames.pop(threading.get_ident(), None)
    return frames


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """A thread's frames, the innermost first."""
    with without_collections():
        while frame is not None:
            yield frame
            frame = frame.f_back


def is_called_back(frame: FrameType | None) -> bool:
    """Whether a thread has been begun by py4j for what the JVM calls in Python."""
    return any(each.f_code.co_name == _LOOP for each in outwards(frame))


def is_answering(frame: FrameType | None) -> bool:
    """Whether the JVM waits for a thread's answer. One that stands in py4j's own loop may just be sending it."""
    if frame is not None and frame.f_code.co_name == _LOOP:  # who waits for the JVM stands in a read of Python's own
        return True
    return any(each.f_code.co_name == "_call_proxy" for each in outwards(frame))
