"""What all code of the program could read, beside what its frames will read by their next instructions.

Responsible for: the code that runs, the main module's code, and the code of modules in its folder; which globals of the
main module any of it could name, and which functions could be called to do so; whether any of it may read variables of
other code.
Refuses to know: values, and where frames stand.
Invariant: nothing is imported, called or loaded: modules are read through their dictionaries, as they are.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from listener_bridge.reach.liveness import bypasses, codes
from listener_bridge.reach.liveness.assigning import Assigned, together
from listener_bridge.reach.liveness.codes import Analysis
from listener_bridge.reach.liveness.dataflow import making
from listener_bridge.reach.liveness.namespaces import values_in
from listener_bridge.reach.liveness.passing import RUNNERS

Namespace = dict[str, Any]

#: Libraries may lie below the program's folder, and so may Spark, Python itself, and what this file is part of.
_LIBRARY_FOLDERS = ("site-packages", "dist-packages")
_SPARKS_AND_OURS = frozenset(
    {"coordinator", "listener_bridge", "py4j", "pyspark", "replay", "shuffle_lifecycle", "state_backend"}
)

#: What is made of functions, with the attributes that lead to them.
_WRAPPERS: Mapping[type, tuple[str, ...]] = {
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset", "fdel"),
    functools.cached_property: ("func",),
    functools.partial: ("func",),
    functools.partialmethod: ("func",),
    functools.singledispatchmethod: ("func",),
    type(functools.cache(int)): ("__wrapped__",),
}

_FINALISER = "__del__"
_CLASS_DICTIONARY = type.__dict__["__dict__"]


@dataclass(frozen=True, slots=True)
class Running:
    """The code of a frame. `is_main`: its globals are the main module's; `is_own`: it is the program's.

    `is_whole`: it is the main module's own code, begun as a program is. `taken`: names of builtins (`passing.RUNNERS`,
    `using`) that are something else in its module.
    """

    code: CodeType
    is_main: bool
    is_own: bool
    is_whole: bool
    taken: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Survey:
    """`is_closed`: no code reads variables of other code. The rest is about the main module.

    `globals_alive`: what any code but that of its functions and classes could name; None is all of them. `nested`: the
    words of that code, by its id. `assigned`: attributes that code of the program gives to objects; None: not known.
    """

    is_closed: bool
    globals_alive: frozenset[str] | None
    nested: Mapping[int, frozenset[str]] = field(default_factory=dict)
    assigned: Assigned | None = None

    def named(self, later: frozenset[str], by_name: Mapping[int, frozenset[str]]) -> frozenset[str] | None:
        """The globals that other code may still read, where the module's own code may still read `later`. None: all.

        `by_name`: the functions that only their names could call, as `functions` has found them. One that may be made
        again is called by what is made then.
        """
        if self.globals_alive is None:
            return None
        waiting = {code: by_name[code] for code in self.nested if code in by_name and making(code) not in later}
        called_by: dict[str, list[int]] = {}
        for code, names in waiting.items():
            for name in names:
                called_by.setdefault(name, []).append(code)
        others = (words for code, words in self.nested.items() if code not in waiting)
        named = set[str](self.globals_alive.union(*others))
        more = [*later, *named]
        while more:
            for code in called_by.pop(more.pop(), ()):
                more += self.nested[code] - named
                named |= self.nested[code]
        return frozenset(named)


def namespace_of_main() -> Namespace | None:
    """None in interactive use, where every name may be read: a main module without a file."""
    main = sys.modules.get("__main__")
    if not issubclass(type(main), ModuleType):
        return None
    namespace = _dictionary(main)
    return namespace if isinstance(namespace.get("__file__"), str) else None


def is_module_frame(frame: FrameType, namespace: Namespace | None) -> bool:
    """Does it run the main module's own code?"""
    return frame.f_globals is namespace and is_module_code(frame.f_code)


def is_module_code(code: CodeType) -> bool:
    """Is it a module's own code?"""
    return code.co_name == "<module>"


def is_begun_as_a_program(outer: CodeType | None) -> bool:
    """Whether a module's code was begun by the interpreter, `runpy` or `shufflectl run`, which begin all of it.

    `outer`: the code that has begun it.

    Who else calls `exec` may be a notebook's kernel of its own kind, or a console that runs a file: another piece may
    come, and read any name. One that gives its pieces the main module's file looks like a program otherwise.
    """
    return outer is None or outer.co_filename in _starters()


@functools.lru_cache(maxsize=1)
def _starters() -> frozenset[str]:
    ours = os.path.join(os.path.dirname(__file__), "..", "..", "running", "program.py")  # noqa: PTH118, PTH120
    runpys = os.path.join(sysconfig.get_paths()["stdlib"], "runpy.py")  # noqa: PTH118
    return frozenset({"<frozen runpy>", runpys, os.path.normpath(ours)})


def surveyed(running: Sequence[Running], namespace: Namespace | None, is_interactive: bool) -> Survey:
    """Takes milliseconds for code that is new."""
    defined = tuple(_defined_in(namespace or {}))
    around = [codes.analysis_of(each.code) for each in running if each.is_own or each.is_main]
    around += [codes.analysis_of(code) for code in defined if _is_made_by_dataclasses(code)]
    beside = [codes.analysis_of(code) for code in _beside(namespace or {})]
    ways = bypasses.together(analysis.bypasses for analysis in (*around, *beside))
    begins_shell = ways.embeds and (ways.imports_shell or is_interactive)
    if ways.inspects or begins_shell or _gives_finalisers((*around, *beside)):
        return Survey(False, None)
    if any(map(_runs_another, running)) or _takes_runners(around):
        return Survey(False, None)
    if namespace is None or is_interactive:
        return Survey(True, None)
    modules = [each for each in running if each.is_main and each.code.co_name == "<module>"]
    if len(modules) != 1 or not modules[0].is_whole:
        return Survey(True, None)
    module = codes.analysis_of(modules[0].code)
    if not _is_all_there_is(module, running, defined):
        return Survey(True, None)
    alive = _globals_alive(module, around, beside)
    assigned = _assigned((module, *around, *beside), _folders(namespace["__file__"])) if alive is not None else None
    if alive is not None and (ways.unpickles or module.bypasses.unpickles):
        return Survey(True, alive.union(*module.staying_words.values()), assigned=assigned)
    return Survey(True, alive, module.staying_words, assigned)


def _runs_another(each: Running) -> bool:
    """Does it call something else by a builtin's name? Asked where such names are taken: that takes an analysis."""
    return bool(each.taken) and not each.taken.isdisjoint(codes.analysis_of(each.code).builtins)


def _gives_finalisers(code: Sequence[Analysis]) -> bool:
    """Does it give a class what is called when the last name of an object is gone, which reads what that holds?"""
    return any(_FINALISER in analysis.assigned.names for analysis in code)


def _takes_runners(code: Sequence[Analysis]) -> bool:
    """Does it make a builtin's name a global which other code of it takes for the builtin, perhaps for a while only?"""
    builtins = frozenset[str]().union(*(analysis.builtins for analysis in code))
    return any(RUNNERS & builtins & analysis.assigned.rebound for analysis in code)


def _is_all_there_is(module: Analysis, running: Sequence[Running], defined: Sequence[CodeType]) -> bool:
    """Is all code that has the main module's globals nested in the main module's code, or made for a class in it?"""
    members = [*(each.code for each in running if each.is_main), *defined]
    return {id(code) for code in members if not _is_made_by_dataclasses(code)} <= module.nested


def _is_made_by_dataclasses(code: CodeType) -> bool:
    """They compile methods from a text, with the globals of the class's module. The text names fields and types."""
    return code.co_filename == "<string>" and _qualified(code).startswith("__create_fn__.<locals>.")


def _qualified(code: CodeType) -> str:
    return getattr(code, "co_qualname", "")  # from 3.11 on, as all that is read here


def _globals_alive(module: Analysis, around: Sequence[Analysis], beside: Sequence[Analysis]) -> frozenset[str] | None:
    others = [analysis for analysis in (*around, *beside) if analysis is not module]
    if module.bypasses.reaches_own or any(analysis.bypasses.reaches_modules for analysis in (module, *others)):
        return None
    return module.passing_words.union(module.always, *(analysis.words for analysis in others))


def _assigned(code: Sequence[Analysis], folders: tuple[str, ...]) -> Assigned | None:
    """None: what a module of the program's does to classes is not known before it is imported."""
    searched = _searched(folders)
    if any(_imports_later(analysis, searched) for analysis in code):
        return None
    return together(analysis.assigned for analysis in code)


def _searched(folders: tuple[str, ...]) -> tuple[str, ...]:
    """These, and those below them in which Python looks for modules: `sys.path.insert(0, "/app/lib")`."""
    told: list[object] = [*sys.path]  # a program may put anything there
    names = (path for path in told if isinstance(path, str))
    paths = (_known_folder(path) if os.path.isabs(path) else _folder(path) for path in names)  # noqa: PTH117
    return (*folders, *(path for path in paths if path.startswith(folders) and not _is_of_library(path)))


def _folder(path: str) -> str:
    """As it begins the paths of what is in it."""
    return os.path.join(os.path.abspath(path), "")  # noqa: PTH100, PTH118


_known_folder = functools.lru_cache(maxsize=256)(_folder)  #: Of absolute paths, which say the same at every look.


def _imports_later(analysis: Analysis, folders: tuple[str, ...]) -> bool:
    """Does it name a module of the program's that is not there yet?"""
    beside = (os.path.join(os.path.dirname(analysis.file), ""),)  # noqa: PTH118, PTH120
    return any(
        _may_be_own(beside, name[1:]) and not _is_there(name) if name.startswith(".") else _may_be_own(folders, name)
        for name in analysis.imported
        if name not in sys.modules
    )


def _is_there(relative: str) -> bool:
    """Whether a module's name ends so."""
    return any(name.endswith(relative) for name in sys.modules.copy())


@functools.lru_cache(maxsize=4096)
def _may_be_own(folders: tuple[str, ...], name: str) -> bool:
    """Whether a module of that name lies in one of these folders."""
    path = name.replace(".", os.sep)
    places = (f"{folder}{path}{end}" for folder in folders for end in (".py", "/__init__.py"))
    return any(map(os.path.exists, places))


class _Passed:
    """The modules at the last look: a thousand and more, of which few are the program's. No reference is kept."""

    def __init__(self) -> None:
        self._last: tuple[tuple[tuple[str, ...], list[str], list[int]], list[str]] = ((), [], []), []

    def own(self, folders: tuple[str, ...]) -> list[Namespace]:
        """Those of the modules that lie in the program's folders, or below."""
        modules = sys.modules.copy()
        here = (folders, list(modules), list(map(id, modules.values())))
        seen, own = self._last
        if here != seen:
            own = [name for name, module in modules.items() if _is_in(folders, name, module)]
            self._last = here, own
        return [_dictionary(modules[name]) for name in own]


_passed = _Passed()


def _beside(namespace: Namespace) -> Iterator[CodeType]:
    """The code of the modules that lie in the main module's folder, or below."""
    if not namespace:
        return
    for own in _passed.own(_folders(namespace["__file__"])):
        if own is not namespace:
            yield from _defined_in(own)


@functools.lru_cache(maxsize=8)
def _folders(file: str) -> tuple[str, ...]:
    """That of the file as it is named, and that where it leads: a program that is a link imports what lies there.

    Asked once: each part of the path is a call to the system, and our turn may be gone at each.
    """
    files = (os.path.abspath(file), os.path.realpath(file))  # noqa: PTH100
    return tuple(os.path.join(os.path.dirname(each), "") for each in files)  # noqa: PTH118, PTH120


def _is_in(folders: tuple[str, ...], name: str, module: object) -> bool:
    """Is a module the program's?"""
    if not issubclass(type(module), ModuleType) or name.partition(".")[0] in _SPARKS_AND_OURS:
        return False
    file = _dictionary(module).get("__file__")
    return isinstance(file, str) and file.startswith(folders) and not _is_of_library(file)


def _is_of_library(file: str) -> bool:
    return file.startswith(_standard_library()) or any(part in file for part in _LIBRARY_FOLDERS)


@functools.lru_cache(maxsize=1)
def _standard_library() -> tuple[str, ...]:
    """A Python that somebody keeps in a home folder has its library below the programs that lie there."""
    paths = sysconfig.get_paths()
    folders = {paths["stdlib"], paths["platstdlib"]}
    return tuple(folder + os.sep for folder in {*folders, *map(os.path.realpath, folders)})


def _dictionary(module: object) -> Namespace:
    """Not by attribute: a module that is loaded at its first use would be loaded."""
    found: Namespace = object.__getattribute__(module, "__dict__")
    return found


def _defined_in(namespace: Namespace) -> Iterator[CodeType]:
    """The code of the functions and classes of a module that are its own."""
    seen: set[int] = set()
    todo = [*values_in(namespace, _may_have_code)]
    while todo:
        value = todo.pop()
        if type(value) is CodeType:
            yield value
        elif _may_have_code(type(value)) and id(value) not in seen:
            seen.add(id(value))
            todo += _members(value, namespace)


def _may_have_code(kind: type) -> bool:
    return kind is FunctionType or kind in _WRAPPERS or issubclass(kind, type)


def _members(value: object, namespace: Namespace) -> Iterator[object]:
    if type(value) is FunctionType:
        if value.__globals__ is namespace:
            yield value.__code__
        yield value.__dict__.get("__wrapped__")
        yield from (cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell))
    elif type(value) in _WRAPPERS:
        yield from (getattr(value, name) for name in _WRAPPERS[type(value)])
    elif issubclass(type(value), type):
        own = _CLASS_DICTIONARY.__get__(value)
        if own.get("__module__") == namespace.get("__name__"):
            yield from list(own.values())


def _is_filled(cell: Any) -> bool:
    try:
        return type(cell.cell_contents) in (FunctionType, type)
    except ValueError:  # an empty cell
        return False
