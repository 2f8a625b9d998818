"""Programs whose names are watched: each is run as a main module, and says at its probes what must be dead there.

Responsible for: running the source of a program as `__main__`, the things that its names hold, and the reading from
another thread. Refuses to know: what a program is to prove. Standard library alone: it runs on Pythons without pytest.

A program gets `thing(label)`, `use(...)`, and `probe("labels", "labels")`, which says what nothing but dead names may
hold there, and what nothing but dead arguments.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import itertools
import runpy
import shutil
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LENDS = sys.version_info >= (3, 14)  #: What callers' variables hold to the arguments of what they call.
VERSIONS = ("3.11", "3.12", "3.13", "3.14")

_numbers = itertools.count()


def package() -> Any:
    """`listener_bridge.reach.liveness`, also where what the rest of the bridge needs is not installed."""
    try:
        return importlib.import_module("listener_bridge.reach.liveness")
    except ImportError:
        for name in ("listener_bridge", "listener_bridge.reach"):
            module = types.ModuleType(name)
            module.__path__ = [str(ROOT / name.replace(".", "/"))]
            module.__file__ = str(ROOT / name.replace(".", "/") / "__init__.py")
            sys.modules[name] = module
        return importlib.import_module("listener_bridge.reach.liveness")


liveness = package()


def _looking() -> tuple[Any, ...]:
    """Of a look `Census`, `is_container`, `leading`, `_revived` and `Kept`, with or without py4j."""
    if importlib.util.find_spec("py4j") is None:
        package, gateway = types.ModuleType("py4j"), types.ModuleType("py4j.java_gateway")
        package.__file__ = "/nowhere/py4j/__init__.py"
        vars(gateway).update(JavaMember=type("Member", (), {}), JavaObject=type("Object", (), {}))
        sys.modules |= {"py4j": package, "py4j.java_gateway": gateway}
    counting = importlib.import_module("listener_bridge.reach.counting")
    containers = importlib.import_module("listener_bridge.reach.containers")
    ways = importlib.import_module("listener_bridge.reach.ways")
    handles = importlib.import_module("listener_bridge.reach.handles")
    return counting.Census, containers.is_container, ways.leading, handles._revived, handles.Kept


Census, is_container, leading, revived, Kept = _looking()


def out_of_reach(alive: Callable[[], list[Any]], is_own: Callable[[types.FrameType], bool]) -> list[Any]:
    """As a look does: those to which nothing leads but dead names, and what these alone hold. None where names move."""
    census, names = _census(alive, is_own)
    first = census.read(names, liveness.counts)
    also = revived(census)
    again = liveness.dead_references(is_own)
    if first is None or names.moved or again.moved or first != census.read(again, liveness.counts):
        return []
    if not liveness.are_still(is_own, again):
        return []
    reached = census.reached(first, also | census.held(again, first))
    return [census.node(place) for place in range(census.handles) if place not in reached]


def _census(alive: Callable[[], list[Any]], is_own: Callable[[types.FrameType], bool]) -> tuple[Any, Any]:
    """It alone holds what it counts."""
    things = alive()
    names = liveness.dead_references(is_own, is_container)
    return Census(things, [], leading(names.held, set(map(id, things)))), replace(names, held=())


def pythons() -> dict[str, str | None]:
    """An interpreter for each version that bytecode is read of; None where this machine has none."""
    return {version: _python(version) for version in VERSIONS}


def _python(version: str) -> str | None:
    installed = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}*/bin/python{version}"))
    return str(installed[-1]) if installed else shutil.which(f"python{version}")


class Thing:
    """What a name holds."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.inner: object = None

    def __enter__(self) -> Thing:
        return self

    def __exit__(self, *error: object) -> None:
        return None


class Program:
    """One program, what it made, and what its probes found."""

    def __init__(self, source: str, is_file: bool = True) -> None:
        self.file = f"/nowhere/program_{next(_numbers)}.py"
        self.main = types.ModuleType("__main__")
        if is_file:
            self.main.__file__ = self.file
        self.main.__dict__.update(thing=self.thing, probe=self.probe, use=lambda *things: None, Thing=Thing)
        self.failures: list[str] = []
        self.probes = 0
        self.last: Any = None
        self._things: list[weakref.ref[Thing]] = []
        self._code = compile(source, self.file, "exec", dont_inherit=True)

    def run(self) -> Program:
        with main_module(self.main):
            run_as_python_does(self._code, self.main.__dict__)
        return self

    def thing(self, label: str) -> Thing:
        made = Thing(label)
        self._things.append(Kept(made))
        return made

    def probe(self, expected: str, unless_lent: str = "") -> None:
        """The labels of the things that the program can no longer use, in any order; last those of arguments."""
        found = self.unused()
        self.probes += 1
        unused = {*expected.split(), *(() if LENDS else unless_lent.split())}
        if found != unused:
            self.failures.append(f"probe {self.probes}: {found} are unused, not {unused}")

    def unused(self) -> set[str]:
        """Read in a thread of its own, as a bridge does."""
        found: set[str] = set()
        in_a_thread(lambda: found.update(self._unused()))
        return found

    def _unused(self) -> Iterator[str]:
        self.last = liveness.dead_references(self.is_own)
        things = list(filter(None, map(_referent, self._things)))
        counts = liveness.counts(things, liveness.Dead())
        assert counts is not None  # no name says where anybody stands
        for thing, references in zip(things, counts, strict=True):
            left = references - self.last.references.get(id(thing), 0)
            if left < 0:
                self.failures.append(f"{thing.label} has {references} references, and more are said to be dead")
            if left == 0:
                yield thing.label

    def is_own(self, frame: types.FrameType) -> bool:
        return frame.f_code.co_filename == self.file


class Looking(Program):
    """One whose objects are looked into."""

    def _unused(self) -> Iterator[str]:
        def alive() -> list[Any]:
            return list(filter(None, map(_referent, self._things)))

        for thing in out_of_reach(alive, self.is_own):
            yield thing.label


def run_as_python_does(code: types.CodeType, namespace: dict[str, Any]) -> None:
    """A whole program, as `python -m` begins it: who calls `exec` himself may have another piece to come."""
    runpy._run_code(code, namespace, mod_name="__main__", script_name=namespace.get("__file__"))  # type: ignore[attr-defined]


@contextlib.contextmanager
def main_module(module: types.ModuleType) -> Iterator[None]:
    """Takes the place of the main module meanwhile."""
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        yield
    finally:
        sys.modules["__main__"] = before
        if sys.modules.get("__mp_main__") is module:  # `multiprocessing` gives it a second name
            del sys.modules["__mp_main__"]


def _referent(reference: weakref.ref[Thing]) -> Thing | None:
    return reference()


def in_a_thread(act: Callable[[], None]) -> None:
    failed: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - raised again where somebody waits
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
