"""Reading the frames of all running threads: what their names hold, and which of them nothing will read again.

Responsible for: which frames are read; reading them twice; saying nothing where in doubt.
Refuses to know: what the objects are, and what is done with the answer.
Invariant: nothing of the program is changed, kept or imported; every doubt makes a name live.

Names die in frames of the program's own code alone, and never in the thread that reads. A frame that is not running (a
suspended generator's, a traceback's) is not reached: what it holds lives.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from listener_bridge.reach.liveness import codes, values
from listener_bridge.reach.liveness.codes import Analysis
from listener_bridge.reach.liveness.opcodes import KNOWN
from listener_bridge.reach.liveness.survey import (
    Namespace,
    Running,
    Survey,
    is_module_frame,
    namespace_of_main,
    surveyed,
)
from listener_bridge.reach.liveness.words import Dead, Name

IsOwn = Callable[[FrameType], bool]

MONITORING_TOOLS = 6

_read = values.reader()
_IS_KNOWN = (
    sys.implementation.name == "cpython"
    and sys.version_info[:2] in KNOWN
    and not sysconfig.get_config_var("Py_GIL_DISABLED")
)


@dataclass(frozen=True, slots=True)
class _Held:
    """A name, and the id of what it holds."""

    target: int
    name: Name
    is_dead: bool


@dataclass(frozen=True, slots=True)
class _Reading:
    """Where the program's frames stand, and what their names hold. Two that are equal were not torn."""

    positions: tuple[tuple[int, int, int], ...]
    held: tuple[_Held, ...]


def dead_references(is_own: IsOwn, is_interactive: bool = False) -> Dead:
    """References that the program will never use; `is_own` says which frames are of its own code.

    Whatever goes wrong, the answer is that nothing is known.
    """
    try:
        if not _IS_KNOWN or _is_watched():
            return Dead()
        namespace = namespace_of_main()
        running = _running_code(is_own, namespace)
        survey = surveyed(running, namespace, is_interactive or _is_interactive())
        if not survey.is_closed:
            return Dead()
        analyses = {id(each.code): codes.analysis_of(each.code) for each in running if each.is_own}
        first = _reading(is_own, survey, analyses, namespace)
        second = _reading(is_own, survey, analyses, namespace)
        if _is_watched():
            return Dead()
    except Exception:  # noqa: BLE001 - a look may never harm, whatever stands in the program's modules and frames
        return Dead(moved=True)
    return _told(second) if second is not None and first == second else Dead(moved=True)


def _is_watched() -> bool:
    """A debugger, tracer or profiler may read any variable at any time."""
    if sys.gettrace() or sys.getprofile() or threading.gettrace() or threading.getprofile():
        return True
    if any(frame.f_trace is not None for frame in _frames()):
        return True
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        return False
    # `settrace` and `setprofile` of other threads show as events of tools that have no number of their own.
    return any(map(monitoring.get_tool, range(MONITORING_TOOLS))) or bool(monitoring._all_events())  # noqa: SLF001


def _is_interactive() -> bool:
    return bool(
        hasattr(sys, "ps1")
        or sys.flags.interactive
        or sys.flags.inspect
        or os.environ.get("PYTHONINSPECT")
        or "IPython" in sys.modules
    )


def _frames() -> Iterator[FrameType]:
    """The frames of all threads but this one."""
    own = threading.get_ident()
    for thread, top in sys._current_frames().items():  # noqa: SLF001 - the one way to them, and documented
        frame: FrameType | None = None if thread == own else top
        while frame is not None:
            yield frame
            frame = frame.f_back


def _running_code(is_own: IsOwn, namespace: Namespace | None) -> list[Running]:
    """Without the frames: analyses take time, and nobody's variables are to be kept for it."""
    return [Running(frame.f_code, frame.f_globals is namespace, is_own(frame)) for frame in _frames()]


def _reading(
    is_own: IsOwn, survey: Survey, analyses: Mapping[int, Analysis], namespace: Namespace | None
) -> _Reading | None:
    """None: code runs that did not run at the survey."""
    positions: list[tuple[int, int, int]] = []
    held: list[_Held] = []
    for frame in _frames():
        if not is_own(frame):
            continue
        code, lasti = frame.f_code, frame.f_lasti
        positions.append((id(frame), id(code), lasti))
        analysis = analyses.get(id(code))
        if analysis is None:
            return None
        if is_module_frame(frame, namespace):
            held += _globals(frame, analysis, survey, lasti)
        elif analysis.is_optimized and not analysis.is_open:
            held += _locals(frame, analysis, lasti)
    return _Reading(tuple(positions), tuple(held))


def _locals(frame: FrameType, analysis: Analysis, lasti: int) -> Iterator[_Held]:
    later = analysis.lives.read_later(lasti) if analysis.lives is not None else None
    if later is None or analysis.lives is None or _read is None:
        return
    for name, target in _read(frame, analysis.lives.names):
        yield _held(frame, name, target, name not in later and name not in analysis.always)


def _globals(frame: FrameType, analysis: Analysis, survey: Survey, lasti: int) -> Iterator[_Held]:
    later = analysis.lives.read_later(lasti) if analysis.lives is not None else None
    alive = survey.globals_alive
    for name, target in [(name, id(value)) for name, value in list(frame.f_globals.items())]:
        is_dead = later is not None and alive is not None and name not in later and name not in alive
        yield _held(frame, name, target, is_dead and not name.startswith("__"))


def _held(frame: FrameType, name: str, target: int, is_dead: bool) -> _Held:
    code: Any = frame.f_code  # co_qualname: since 3.11
    return _Held(target, Name(name, code.co_filename, code.co_firstlineno, code.co_qualname), is_dead)


def _told(reading: _Reading) -> Dead:
    references: dict[int, int] = {}
    names: dict[int, list[Name]] = {}
    for held in reading.held:
        if held.is_dead:
            references[held.target] = references.get(held.target, 0) + 1
        else:
            names.setdefault(held.target, []).append(held.name)
    return Dead(references, {target: tuple(found) for target, found in names.items()})
