"""The eyes of a look: the program's half and the JVM's half, read in the one order that is sound.

Responsible for: what is read first, and for making roots of calls under way.
Refuses to know: how each half is read, and when (`looker`).
Invariant: what moves from one half to the other while they are read is seen by at least one of them.

Calls first, handles then, the JVM's objects last. A call that returns after it was read still counts as a root; one
that returned before has handed its result to py4j, whose table is read later. A handle that dies after it was read is
still a root; an object that comes into being after that was not said to be dead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from listener_bridge.reach.announced import Announced
from listener_bridge.reach.findings import Found, Kind, Program, Region, Root
from listener_bridge.tap.facts import Fact, Snapshot


class Handles(Protocol):
    """The program's handles."""

    @property
    def changed(self) -> int: ...
    def watch(self) -> None: ...
    def unwatch(self) -> None: ...
    def read(self) -> Program: ...


class Calls(Protocol):
    """The program's calls into the JVM."""

    def watch(self) -> None: ...
    def unwatch(self) -> None: ...
    def line_of(self, thread: str | None, method: str | None, at_ms: float, called_back: bool = False) -> str: ...


class Regions(Protocol):
    """Calls under way whose jobs' shuffles may be read again."""

    def hear(self, fact: Fact) -> None: ...
    def resync(self, present: Snapshot) -> None: ...
    def read(self) -> tuple[Region, ...]: ...


class Walker(Protocol):
    """The JVM's half."""

    def warm(self) -> None: ...
    def walk(self, program: Program, announced: frozenset[int]) -> Found: ...
    def close(self) -> None: ...


class ProgramSight:
    """One application's eyes."""

    def __init__(self, calls: Calls, regions: Regions, handles: Handles, walker: Walker) -> None:
        self._calls = calls
        self._regions = regions
        self._handles = handles
        self._walker = walker
        self._announced = Announced()

    def open(self) -> None:
        """Begin to watch the program. In the program's own thread, before its next line."""
        self._calls.watch()
        self._handles.watch()

    def close(self) -> None:
        """Leave the program as it was."""
        self._handles.unwatch()
        self._calls.unwatch()
        self._walker.close()

    def warm(self) -> None:
        """Do what only a first look has to do: the program's code is analysed, the JVM loads its classes."""
        self._handles.read()
        self._walker.warm()

    def changes(self) -> int:
        """A number that grows when the program has dropped something."""
        return self._handles.changed

    def line_of(self, thread: str | None, method: str | None, at_ms: float, called_back: bool = False) -> str:
        """The program's line that had called into the JVM then."""
        return self._calls.line_of(thread, method, at_ms, called_back)

    def hear(self, fact: Fact) -> None:
        self._announced.hear(fact)
        self._regions.hear(fact)

    def resync(self, present: Snapshot) -> None:
        self._announced.resync(present)
        self._regions.resync(present)

    def read(self) -> Found:
        """All roots there are; or why that cannot be told."""
        announced = self._announced.read()
        under_way = self._regions.read()
        program = self._handles.read()
        walked = self._walker.walk(program, announced)
        return replace(walked, roots=(*walked.roots, *(_root(region) for region in under_way)))


def _root(region: Region) -> Root:
    return Root(region.region, Kind.ALGORITHM, region.wrote, f"{region.name} is running")
