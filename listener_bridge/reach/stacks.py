"""Where the threads of this process stand.

Responsible for asking the interpreter, and for telling threads that the JVM has called. Refuses to know what else
stands in frames.
Invariant: asking waits for nobody. CPython 3.11 before 3.11.9 makes the frames while it holds its lock of threads; a
garbage collection that begins there may let another thread run, which then waits for that lock and holds the GIL: the
process stands still for ever (python/cpython#106883). So none begins there.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from types import FrameType

_LOOP = "wait_for_commands"  # of a thread that py4j has begun for what the JVM calls (py4j 0.10.9, `clientserver`)
COLLECTS = (3, 11) <= sys.version_info < (3, 11, 9)


def current_frames() -> dict[int, FrameType]:
    """The frame of each thread, by its identifier."""
    if not COLLECTS or not gc.isenabled():
        return sys._current_frames()  # noqa: SLF001 - documented, and the only way
    gc.disable()
    try:
        return sys._current_frames()  # noqa: SLF001
    finally:
        gc.enable()


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
