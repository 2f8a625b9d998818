"""Reading the frames of all running threads: what their names hold, and which of them nothing will read again.

Responsible for: which frames are read; reading them twice; saying nothing where in doubt.
Refuses to know: what the objects are, and what is done with the answer.
Invariant: nothing of the program is changed, kept or imported; every doubt makes a name live.

Only names in frames of the program's own code can be dead, and none in the thread that reads. A frame that is not
running (a suspended generator's, a traceback's) is not read: what it holds counts as alive.
"""

from __future__ import annotations

import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import CodeType, FrameType, FunctionType
from typing import Any

from listener_bridge.reach.liveness import codes, shells, values
from listener_bridge.reach.liveness.codes import Analysis
from listener_bridge.reach.liveness.functions import called_by_name
from listener_bridge.reach.liveness.namespaces import ids_in, values_in
from listener_bridge.reach.liveness.opcodes import KNOWN
from listener_bridge.reach.liveness.passing import RUNNERS
from listener_bridge.reach.liveness.session import names_of_main, together, without_module
from listener_bridge.reach.liveness.standing import counts
from listener_bridge.reach.liveness.survey import (
    Namespace,
    Running,
    Survey,
    is_begun_as_a_program,
    is_module_code,
    is_module_frame,
    namespace_of_main,
    surveyed,
)
from listener_bridge.reach.liveness.using import SUPER, TYPE, Use
from listener_bridge.reach.liveness.words import Dead, Name, Stood, Used, Wanted
from listener_bridge.reach.stacks import Seen, are_traced, other_frames, outwards, seen

IsOwn = Callable[[Any], bool]  #: Of a frame, or of what was seen of one: it has an `f_code`.

MONITORING_TOOLS = 6


def _compiles() -> bool:
    """Whether machine code made at run time may run (since 3.14), which may borrow more than its bytecode says."""
    jit: Any = getattr(sys, "_jit", None)
    return jit is not None and bool(jit.is_enabled())


_KEEPS_ARGUMENTS = sys.version_info < (3, 12)
_reader = values.reader()
_IS_KNOWN = (
    sys.implementation.name == "cpython"
    and sys.version_info[:2] in KNOWN
    and not sysconfig.get_config_var("Py_GIL_DISABLED")
    and not _compiles()
)


def dead_references(is_own: IsOwn, wanted: Wanted | None = None) -> Dead:
    """References that the program will never use; `is_own` says which frames are of its own code.

    `wanted`: the classes of what is to be given in `held`. Whatever goes wrong, the answer is that nothing is known.
    """
    try:
        if not _IS_KNOWN or _is_watched():
            return Dead()
        namespace = namespace_of_main()
        running = _running_code(is_own, namespace)
        survey = surveyed(running, namespace, is_session := shells.is_interactive())
        if not survey.is_closed:
            return Dead(names=names_of_main(is_session))
        analyses = {id(each.code): codes.analysis_of(each.code) for each in running if each.is_own}
        first = _reading(is_own, lambda code: analyses.get(id(code)), namespace)
        second = _reading(is_own, lambda code: analyses.get(id(code)), namespace)
        if _is_watched():
            return Dead()
        # Names and what they hold are compared too, since a loop comes back to the same place.
        if second is None or first != second:
            return Dead(moved=True)
        by_name = _called_by_name(namespace, running, second) if survey.globals_alive is not None else {}
        told = _named(_told(second, analyses, survey, by_name), is_session)
        return told if wanted is None else replace(told, held=tuple(_picked(is_own, namespace, wanted)))
    except Exception:  # noqa: BLE001 - a look may never harm, whatever stands in the program's modules and frames
        return Dead(moved=True)


def are_still(is_own: IsOwn, told: Dead) -> bool:
    """Whether the program stands where it stood when that was told, and its names hold what they held.

    Code is not surveyed again: what was dead then is dead for ever.
    """
    if not told.stands:
        return True
    try:
        known = {stood.code for stood in told.stands}
        now = _reading(is_own, lambda code: codes.analysis_of(code) if id(code) in known else None, namespace_of_main())
        return now == [*told.stands]
    except Exception:  # noqa: BLE001 - as above
        return False


def _is_watched() -> bool:
    """A debugger, tracer or profiler may read any variable at any time.

    What another thread has set shows in its frames (a debugger follows those that it stops in), since 3.12 always.
    """
    if sys.gettrace() or sys.getprofile() or threading.gettrace() or threading.getprofile():
        return True
    if are_traced():
        return True
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        return False
    # `settrace` and `setprofile` of other threads show as events of tools that have no number of their own.
    return any(map(monitoring.get_tool, range(MONITORING_TOOLS))) or bool(monitoring._all_events())  # noqa: SLF001


def _frames() -> Iterator[FrameType]:
    """The frames of all threads but this one, with as few references held at a time as possible."""
    frames = other_frames()
    while frames:
        yield from outwards(frames.popitem()[1])


def _running_code(is_own: IsOwn, namespace: Namespace | None) -> list[Running]:
    """The code that runs which is the program's, or has its main module's globals.

    Code and no frames: analysing takes time, for which no frame's variables are to be kept alive.
    """
    there = seen()
    codes_of = {frame.frame: frame.f_code for frame in there}
    theirs = ((frame, is_own(frame), frame.f_globals is namespace) for frame in there)
    return [_running(frame, codes_of.get(frame.back), own, main) for frame, own, main in theirs if own or main]


def _running(frame: Seen, outer: CodeType | None, is_own: bool, is_main: bool) -> Running:
    is_whole = is_main and is_module_code(frame.f_code) and is_begun_as_a_program(outer)
    taken = frozenset(name for name in (*RUNNERS, SUPER, TYPE) if name in frame.f_globals) if is_own else frozenset()
    return Running(frame.f_code, is_main, is_own, is_whole, taken)


def _reading(
    is_own: IsOwn, known: Callable[[CodeType], Analysis | None], namespace: Namespace | None
) -> list[Stood] | None:
    """Where the program's frames stand, and what their names hold. None: code runs that was not analysed."""
    stands: list[Stood] = []
    for inner, frame in _with_inner():
        if not is_own(frame):
            continue
        analysis = known(frame.f_code)
        if analysis is None:
            return None
        lasti = frame.f_lasti
        is_module = is_module_frame(frame, namespace)
        held, handed_on = _held(frame, analysis, lasti, is_module), _handed_on(frame, analysis, lasti, inner)
        stands.append(Stood(id(frame), id(frame.f_code), lasti, is_module, held, handed_on))
    return stands


def _with_inner() -> Iterator[tuple[CodeType | None, FrameType]]:
    """The frames of all threads but this one, each with the code of the frame that it has called."""
    frames = other_frames()
    while frames:
        inner: CodeType | None = None
        for frame in outwards(frames.popitem()[1]):
            yield inner, frame
            inner = frame.f_code


def _handed_on(frame: FrameType, analysis: Analysis, lasti: int, inner: CodeType | None) -> str:
    """The variable of `*args`, if a call under way passes them on: the stack has a second reference to the tuple.

    That one is never read again: the function takes the arguments out of the tuple when it begins. Since 3.12 the stack
    drops it then (`_PyEvalFramePushAndInit_Ex`), before that only when the function has returned.
    """
    call = analysis.forwarded.get(lasti) if _KEEPS_ARGUMENTS else None
    if call is None or inner is None or not _is_readable(analysis, lasti):
        return ""
    called = [one.__code__ for one in values.value_of(frame, call.function) if type(one) is FunctionType]
    return call.arguments if any(code is inner for code in called) else ""


def _held(frame: FrameType, analysis: Analysis, lasti: int, is_module: bool) -> list[tuple[str, int]]:
    if is_module:
        return ids_in(frame.f_globals)
    return _reader.ids(frame, analysis.variables) if _reader is not None and _is_readable(analysis, lasti) else []


def _is_readable(analysis: Analysis, lasti: int) -> bool:
    return not analysis.is_open and analysis.is_optimized and _later(analysis, lasti) is not None


def _picked(is_own: IsOwn, namespace: Namespace | None, wanted: Wanted) -> Iterator[object]:
    """The objects of the wanted classes that names hold now."""
    for frame in _frames():
        if not is_own(frame):
            continue
        analysis = codes.analysis_of(frame.f_code)
        if is_module_frame(frame, namespace):
            yield from values_in(frame.f_globals, wanted)
        elif _reader is not None and _is_readable(analysis, frame.f_lasti):
            yield from _reader.picked(frame, analysis.variables, wanted)


def _later(analysis: Analysis, lasti: int) -> frozenset[str] | None:
    return analysis.lives.read_later(lasti) if analysis.lives is not None else None


def _called_by_name(
    namespace: Namespace | None, running: list[Running], stands: list[Stood]
) -> Mapping[int, frozenset[str]]:
    """Functions that only their names can call. Asked after the readings: another way would show as a reference."""
    module = next((each.code for each in running if each.is_main and each.code.co_name == "<module>"), None)
    held = next((stand.held for stand in stands if stand.is_module), None)
    if namespace is None or module is None or held is None:
        return {}
    there = Dead(stands=tuple(stands), bound=tuple(held))
    return called_by_name(namespace, module, held, lambda objects: counts(objects, there))


def _told(
    stands: list[Stood], analyses: Mapping[int, Analysis], survey: Survey, by_name: Mapping[int, frozenset[str]]
) -> Dead:
    references: dict[int, int] = {}
    names: dict[int, list[Name]] = {}
    uses: dict[int, list[frozenset[Use] | None]] = {}
    bound: list[tuple[str, int]] = []
    for stand in stands:
        analysis = analyses[stand.code]
        how = _how_read(stand, analysis, survey, by_name)
        for name, target in stand.held:
            used = how(name)
            bound += [(name, target)] if stand.is_module and used is not None else []
            if used == _NEVER:
                references[target] = references.get(target, 0) + 1 + (name == stand.handed_on)
                continue
            names.setdefault(target, []).append(Name(name, analysis.file, analysis.line, analysis.function))
            uses.setdefault(target, []).append(used)
    used_in_parts = {target: _used(each) for target, each in uses.items()}
    return Dead(
        references,
        {target: tuple(found) for target, found in names.items()},
        used={target: used for target, used in used_in_parts.items() if used is not None},
        assigned=survey.assigned,
        stands=tuple(stands),
        bound=tuple(bound),
    )


def _used(uses: list[frozenset[Use] | None]) -> Used | None:
    known = [use for use in uses if use is not None]
    return Used(len(uses), frozenset[Use]().union(*known)) if len(known) == len(uses) else None


def _named(told: Dead, is_session: bool) -> Dead:
    """With the main module's names, for people, if no frame of its code runs.

    In an interactive session they replace those of a running cell, whose file is another one each time.
    """
    if not is_session and any(stand.is_module for stand in told.stands):
        return told
    return replace(told, names=together(without_module(told.names), names_of_main(is_session)))


_NEVER: frozenset[Use] = frozenset()


def _how_read(
    stand: Stood, analysis: Analysis, survey: Survey, by_name: Mapping[int, frozenset[str]]
) -> Callable[[str], frozenset[Use] | None]:
    """Tells of a name how it may still be used: never (no uses), in parts alone (these uses), or in any way (None)."""
    later = _later(analysis, stand.lasti)
    if later is None or analysis.lives is None:
        return lambda _: None
    others = survey.named(later, by_name) if stand.is_module else analysis.always
    if others is None:
        return lambda _: None
    uses = analysis.lives.used_later(stand.lasti)

    def used(name: str) -> frozenset[Use] | None:
        if name in others or name.startswith("__"):
            return None
        return uses.get(name) if name in later else _NEVER

    return used
