"""The name of a call into the JVM for people, "`ALS.fit` at train.py:41", and the program's line that made it.

Responsible for: finding in a thread's stack which function of PySpark the program has called, and from which line.
Refuses to know: who asks for it.
Invariant: it asks types, never instances. It reads one argument of one function of a library, and leaves no trace in
that frame. Where a trace function is set, or this Python has no such way, the name is that of the function alone.

The innermost `fit` gives the name, since a pipeline's `fit` calls those of its stages; without one it is what the
program's own line called.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType

from listener_bridge.reach import stacks, whose
from listener_bridge.reach.liveness import values
from listener_bridge.reach.stacks import outwards

ALGORITHM = "fit"
_PYSPARK, _PY4J = (f"{os.sep}{package}{os.sep}" for package in ("pyspark", "py4j"))
TYPED = ("<stdin>", "<python-input", "<ipython-input")
"""How the file names of interactive input begin. It is the program's own code, though its names never count as dead."""
WRAPPERS = frozenset({"deco", "inner", "wrapped", "wrapper"})
"""Names of functions by which libraries wrap the function that the program has called."""


def of_call(innermost: FrameType | None, method: str) -> str:
    """A name for the call that a thread's stack ends in. `method`: what was called in the JVM."""
    library: list[FrameType] = []
    for frame in outwards(innermost):
        if whose.is_own(frame):
            return f"{_called(library, method)} at {Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
        library.append(frame)
    return _called(library, method)


def line_of(innermost: FrameType | None) -> str:
    """As Spark writes it of RDDs, `collect at /home/ann/etl.py:41`.

    Where no frame is the program's own, the line of whoever has called Spark, which may be a program that was
    installed; empty where there is none.
    """
    return _line_along(outwards(innermost))


def line_of_this_thread(innermost: FrameType) -> str:
    """The same, for the thread that asks: its frames do not end meanwhile."""
    return _line_along(stacks.outwards_here(innermost))


def own_line() -> str:
    """The program's line in which this thread stands, or for which it works; empty where nothing tells."""
    try:
        return line_of_this_thread(sys._getframe(1)) or line_in(stacks.other_frames(), None)  # noqa: SLF001 - documented
    except Exception:  # noqa: BLE001 - the program's call shall return as it would
        return ""


def line_in(frames: Mapping[int, FrameType], ident: int | None) -> str:
    """The program's line in which a thread stands. `ident` None: of a thread that stands in no line of the program.

    Such a thread works for the only thread of the program that waits in PySpark, if there is only one: `CrossValidator`
    has a pool of threads call `fit`.
    """
    own = line_of(frames.get(ident)) if ident is not None else ""
    if own:
        return own
    waiting = {line_of(frame) for frame in frames.values() if waits_in_pyspark(frame)} - {""}
    return waiting.pop() if len(waiting) == 1 else ""


def _line_along(frames: Iterator[FrameType]) -> str:
    """Runs after every call that took a millisecond; most frames are machinery, and cost next to nothing."""
    within: list[CodeType] = []
    installed = ""
    for frame in frames:
        code = frame.f_code
        kind = kind_of_file(code.co_filename)
        if kind is _OWN:
            return _line(_called_by(within, code), frame)
        if kind is _INSTALLED and not installed:
            installed = _line(_called_by(within, code), frame)
        within.append(code)
    return installed


def _called_by(within: list[CodeType], code: CodeType) -> str:
    """The library's function that a frame has called; its own name if it is the innermost frame."""
    for one in reversed(within):
        if not _is_wrapper(one.co_name):
            return one.co_name
    return (within[0] if within else code).co_name


class Kind(Enum):
    """Whose code a file is: the program's, an installed package's, or that of Python, Spark, py4j and us."""

    OWN = auto()
    INSTALLED = auto()
    MACHINERY = auto()


_OWN, _INSTALLED = Kind.OWN, Kind.INSTALLED


@lru_cache(maxsize=4096)
def kind_of_file(file: str) -> Kind:
    if file.startswith(TYPED):
        return Kind.OWN
    if whose.is_machinery_file(file):
        return Kind.MACHINERY
    return Kind.OWN if whose.is_own_file(file) else Kind.INSTALLED


def _line(called: str, frame: FrameType) -> str:
    return tellable(f"{called} at {frame.f_code.co_filename}:{frame.f_lineno}")


def tellable(text: str) -> str:
    """The text in valid UTF-8: a path may hold other bytes, which Python keeps as lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def waits_in_pyspark(innermost: FrameType) -> bool:
    """Whether a thread waits in a function of PySpark for other threads, those of a pool, and not for the JVM."""
    files = [frame.f_code.co_filename for frame in outwards(innermost)]
    is_in = any(_PYSPARK in file and whose.is_machinery_file(file) for file in files)
    return is_in and not any(_PY4J in file for file in files)


def _is_wrapper(name: str) -> bool:
    return name in WRAPPERS or name.startswith("__")


def _called(library: list[FrameType], method: str) -> str:
    for frame in library:
        if frame.f_code.co_name == ALGORITHM:
            return f"`{_name(frame)}`"
    called = next((frame for frame in reversed(library) if frame.f_code.co_name not in WRAPPERS), None)
    return f"`{_name(called or library[-1])}`" if library else f"`{method}`"


def _name(frame: FrameType) -> str:
    """As `ALS.fit`: the class of the object whose method the frame runs, else the function's own name."""
    name = frame.f_code.co_name
    kind = _class_of_self(frame)
    if kind is not None and _has(kind, name):
        return f"{kind.__name__}.{name}"
    return str(getattr(frame.f_code, "co_qualname", name))


def _class_of_self(frame: FrameType) -> type | None:
    code = frame.f_code
    if frame.f_trace is not None or not code.co_argcount or not code.co_flags & inspect.CO_OPTIMIZED:
        return None
    return values.kind_of(frame, code.co_varnames[0])


def _has(kind: type, name: str) -> bool:
    """Whether a class has a method, without asking it."""
    return any(name in owner.__dict__ for owner in kind.__mro__)
