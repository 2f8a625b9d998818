"""Where the threads of this process stand.

Responsible for asking the interpreter. Refuses to know what stands in frames.
Invariant: asking waits for nobody. CPython 3.11 before 3.11.9 makes the frames while it holds its lock of threads; a
garbage collection that begins there may let another thread run, which then waits for that lock and holds the GIL: the
process stands still for ever (python/cpython#106883). So none begins there.
"""

from __future__ import annotations

import gc
import sys
from types import FrameType

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
