"""Which object each local variable of a running frame holds, without a trace left in the frame.

Responsible for: reading the variables of a frame of `CO_OPTIMIZED` code, by the ids of what they hold; and getting the
objects themselves, of the wanted classes alone. There is one way for each version of Python.
Refuses to know: which variables are dead, and whose frame it is.
Invariant: the frame, its variables, what `locals()` would give, and how long objects live stay as they are.

From 3.13 on there is a view that reads through (PEP 667), 3.12 has `PyFrame_GetVar`. 3.11 has neither: `f_locals`
copies the variables into a dictionary that stays with the frame, references included, so what was copied is taken out
again at once. It is taken out only where the frame and this reading alone have that dictionary, with no other thread in
between.

From 3.12 on none is asked for a cell: 3.12 and 3.13.0 take what a comprehension's variable hides for one, and crash
(gh-128396). 3.11 may be.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from types import FrameType
from typing import NamedTuple

from listener_bridge.reach.liveness.words import Wanted
from listener_bridge.reach.stacks import without_collections

try:
    import ctypes
except ImportError:  # a Python built without it reads no variables on 3.12
    ctypes = None  # type: ignore[assignment]

_WITH_VIEW = frozenset({(3, 13), (3, 14)})


class Reader(NamedTuple):
    """How variables of frames are read, of those of some names that are bound.

    `ids`: frame and names -> names, and the ids of what they hold. `picked`: frame, names, and which classes are wanted
    -> what they hold of these; no object of another class is in hand where other threads may run, but on 3.11.
    """

    ids: Callable[[FrameType, Sequence[str]], list[tuple[str, int]]]
    picked: Callable[[FrameType, Sequence[str], Wanted], list[object]]


def reader() -> Reader | None:
    """None where this Python has no way that leaves no trace: then no local variable is known to be dead."""
    version = sys.version_info[:2]
    if version in _WITH_VIEW:
        return Reader(_through_the_view, _picked_through_the_view)
    if version == (3, 12) and ctypes is not None:
        return _by_variable()
    if version == (3, 11):
        return _taken_back(_own_references())
    return None


def _through_the_view(frame: FrameType, names: Sequence[str]) -> list[tuple[str, int]]:
    view = frame.f_locals
    return [(name, id(view[name])) for name in names if name in view]


def _picked_through_the_view(frame: FrameType, names: Sequence[str], wanted: Wanted) -> list[object]:
    view = frame.f_locals
    return [view[name] for name in names if name in view and wanted(type(view[name]))]


def _get_variable() -> Callable[[FrameType, str], object]:
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object)(("PyFrame_GetVar", ctypes.pythonapi))


def _variable(frame: FrameType, name: str) -> Iterator[object]:
    try:
        yield _get_variable()(frame, name)
    except NameError:  # not bound
        return


def _by_variable() -> Reader:
    variable_of = _get_variable()

    def bound(frame: FrameType, names: Sequence[str]) -> Iterator[tuple[str, int]]:
        for name in names:
            try:
                yield name, id(variable_of(frame, name))
            except NameError:  # not bound
                continue

    def picked(frame: FrameType, names: Sequence[str], wanted: Wanted) -> Iterator[object]:
        for name in names:
            try:
                if wanted(type(variable_of(frame, name))):
                    yield variable_of(frame, name)
            except NameError:
                continue

    return Reader(lambda *of: list(bound(*of)), lambda *of: list(picked(*of)))


def kind_of(frame: FrameType, name: str) -> type | None:
    """The class of a variable's value, or the value itself where it is one; None where that cannot be told.

    Of one name, in a frame of anybody's: without a trace, too.
    """
    if name in frame.f_code.co_cellvars:
        return None
    values = value_of(frame, name)
    return None if not values else values[0] if isinstance(values[0], type) else type(values[0])


def value_of(frame: FrameType, name: str) -> list[object]:
    """What a variable holds, in a list; nothing where that cannot be told, or it is not bound."""
    version = sys.version_info[:2]
    if version in _WITH_VIEW:
        seen = frame.f_locals  # read by name alone: among all of them are cells that a comprehension hides (gh-128396)
        return [seen[name]] if name in seen else []
    if version == (3, 12) and ctypes is not None:
        return list(_variable(frame, name))
    code = frame.f_code
    if version != (3, 11) or not _HOLDERS.isdisjoint(code.co_names):
        return []
    others = (*code.co_varnames, *code.co_cellvars, *code.co_freevars)  # what must not stay there
    with without_collections():
        references, values = _snapshot(frame, (name, *others), _own_references())
    return [] if references != _own_references() or values[0] is _MISSING else values[:1]


#: A function that calls one of these may have its frame's dictionary, and would see what is copied into it.
_HOLDERS = frozenset({"locals", "vars", "dir", "eval", "exec"})
_MISSING = object()


def _taken_back(own_references: int) -> Reader:
    def ids(frame: FrameType, names: Sequence[str]) -> list[tuple[str, int]]:
        return [(name, id(value)) for name, value in _taken(frame, names, own_references)]

    def picked(frame: FrameType, names: Sequence[str], wanted: Wanted) -> list[object]:
        return [value for _, value in _taken(frame, names, own_references) if wanted(type(value))]

    return Reader(ids, picked)


def _taken(frame: FrameType, names: Sequence[str], own_references: int) -> list[tuple[str, object]]:
    code = frame.f_code
    copied = (*names, *code.co_cellvars, *code.co_freevars)  # what must not stay there
    with without_collections():
        references, values = _snapshot(frame, copied, own_references)
    if references != own_references:
        return []
    return [(name, value) for name, value in zip(names, values, strict=False) if value is not _MISSING]


def _snapshot(frame: FrameType, names: Sequence[str], own_references: int) -> tuple[int, list[object]]:
    """How many references there are to the frame's dictionary, and what was taken out of it if these are all our own.

    CPython 3.11 lets another thread run, or a finaliser, after a call, at a jump back and where a container is made.
    From the first of the marked lines to the second there is none of these: a test holds the bytecode to it.
    """
    values: list[object] = []
    snapshot = frame.f_locals
    counting = map(sys.getrefcount, (snapshot,))
    taking = map(snapshot.pop, names, repeat(_MISSING))
    (references,) = counting  # the first
    if references == own_references:
        values += taking  # the second
    return references, values


def _own_references() -> int:
    """What `_snapshot` counts where nobody else has the dictionary: its own references, and the frame's."""
    return _snapshot(sys._getframe(), (), -1)[0]  # noqa: SLF001 - the one way to a frame, and documented
