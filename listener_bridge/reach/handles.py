"""The program's half of a look: which JVM objects only dead handles hold, and the program's names for the rest.

Responsible for: `read`, the `Program` of a look.
Refuses to know: which names are dead (`liveness`), and what the JVM does with the answer.
Invariant: in doubt alive. A JVM object is reported dead only if every reference to its proxy is explained: by dead
names, by handles and containers that are dead themselves, or by the proxy's own members. Two readings, one after the
other, must agree on that, with no frame of the program moved in between. A look holds strong references to what it
looks at only while it looks.

Everything else that py4j binds is a root. So a handle that was missed, copied or wrapped costs a deletion, and never a
result. What is dead stays dead: whoever could still reach the object would need a reference, and that would have been
counted. There are two exceptions, and both count as alive. A weak reference is not counted and can bring its object
back: so a handle is alive if anybody but the registry has one to it. And a finaliser is called with its object when the
last dead name goes.

An object whose proxy is gone is dead too, although the JVM still holds it: py4j collects such objects in a list, and
tells the JVM up to a second later.
"""

from __future__ import annotations

import logging
import os
import platform
import sys
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from types import FrameType
from typing import Any, Protocol

from py4j.java_gateway import JavaObject

from listener_bridge.reach import liveness, stacks, whose
from listener_bridge.reach.containers import is_container
from listener_bridge.reach.counting import Census, Counts, Reading, attributes_of
from listener_bridge.reach.findings import Program, TargetId
from listener_bridge.reach.liveness import Dead, Name, Wanted
from listener_bridge.reach.registry import Kept, Registry, of_pyspark
from listener_bridge.reach.ways import leading, names_of

log = logging.getLogger("shuffle_lifecycle")

TRIES = 3
"""How often a look reads, until two readings of the program agree."""
NAMES_SHOWN = 3
OF_PY4J = 1
"""How many weak references py4j itself has to each proxy: by it py4j learns that the proxy is gone."""


class ReadNames(Protocol):
    """Which names are dead, and which live ones hold what."""

    def __call__(self, is_own: Callable[[FrameType], bool], wanted: Wanted | None = None) -> Dead: ...


class Handles:
    """The program's handles. `read` belongs to one thread at a time; `changed` may be asked by any."""

    def __init__(
        self,
        proxies: Callable[[], Iterable[Any]],
        registry: Registry | None = None,
        read_names: ReadNames = liveness.dead_references,
        counts: Counts = liveness.counts,
        released: Callable[[], frozenset[TargetId]] = frozenset,
    ) -> None:
        """`proxies` gives py4j's proxies that live now. `registry`: of the handles; by default one of PySpark's.

        `released` gives the objects whose proxies are gone, and of which the JVM has not been told yet.
        """
        self._read_names = read_names
        self._counts = counts
        self._proxies = proxies
        self._released = released
        self._registry = registry if registry is not None else of_pyspark()
        self._has_said = False  #: A warning was logged: there is only one.

    def watch(self) -> None:
        """Learn of every handle from now on, and of those that are there."""
        self._registry.watch()

    def unwatch(self) -> None:
        """Leave PySpark as it was found."""
        self._registry.unwatch()

    @property
    def changed(self) -> int:
        """A number that grows when a handle has died."""
        return self._registry.changed

    def read(self) -> Program:
        """What is proven dead now. Without exact counts, or while the program moves, only objects without a proxy."""
        found = self._proven() if counts_are_exact() else Program()
        return replace(found, dead=found.dead | self._released())

    def _proven(self) -> Program:
        try:
            tries = (self._read() for _ in range(TRIES))
            return next((found for found in tries if found is not None), Program())
        except Exception:  # noqa: BLE001 - an object of a kind that nobody thought of ends no later look
            self._say_once(traceback.format_exc())
            return Program()

    def _say_once(self, what: str) -> None:
        """Logs the traceback as text: a log record that kept its frames would keep the handles in them alive."""
        if not self._has_said:
            log.warning("the program's names could not be read, what only they let go is kept:\n%s", what)
        self._has_said = True

    def _read(self) -> Program | None:
        """None: a frame has moved meanwhile, or what was read has changed."""
        try:
            return self._read_once()
        except RuntimeError:  # a dictionary, or a set, changed its size
            return None

    def _read_once(self) -> Program | None:
        kept = self._registry.alive()
        sites = [reference for _, reference in kept]
        names, containers = self._first_names({id(handle) for handle, _ in kept})
        census = Census([handle for handle, _ in kept], list(self._proxies()), containers)
        del kept, containers
        first = self._reading(census, names)
        revived = _revived(census)  # before the second counting, which counts whoever has used a weak reference by then
        second = self._reading(census, names := self._read_names(whose.is_own))
        # The frames must stand where the names were read: a loop could be at another place whenever all was counted.
        if first is None or first != second or not liveness.are_still(whose.is_own, names):
            return None
        # What a live name holds is alive whatever the counts say: in a loop, a dead name may hold it whenever names are
        # read, and no longer whenever references are counted.
        reached = census.reached(first, revived | census.held(names, first))
        return Program(dead=_dead(census, reached), names=_names(census, reached, names, sites))

    def _first_names(self, handles: set[int]) -> tuple[Dead, list[Any]]:
        """The names, and the containers that lead to handles: from here on the census alone holds those."""
        names = self._read_names(whose.is_own, is_container)
        return replace(names, held=()), leading(names.held, handles)

    def _reading(self, census: Census, names: Dead) -> Reading | None:
        return None if names.moved else census.read(names, self._counts)


def counts_are_exact() -> bool:
    """Whether a reference count says who holds an object: CPython with its global lock."""
    has_lock: Callable[[], bool] = getattr(sys, "_is_gil_enabled", lambda: True)
    return platform.python_implementation() == "CPython" and has_lock()


def proxies_of(client: Any) -> Callable[[], list[Any]]:
    """py4j's proxies of JVM objects that live now, of one gateway's client."""
    from py4j.finalizer import ThreadSafeFinalizer

    def proxies() -> list[Any]:
        found = [reference() for reference in _values(ThreadSafeFinalizer.finalizers)]
        return [proxy for proxy in found if getattr(type(proxy), "_detach", None) and proxy._gateway_client is client]  # noqa: SLF001

    return proxies


def released_of(client: Any) -> Callable[[], frozenset[TargetId]]:
    """py4j's names of objects whose proxies are gone and which the JVM still holds, of one gateway's client.

    A client whose calls are made by one thread each has them wait for a thread of py4j's, which sleeps for a second
    between looks (py4j 0.10.9, `clientserver.FinalizerWorker`); others tell the JVM at once.
    """
    waiting = getattr(client, "finalizer_deque", None)

    def released() -> frozenset[TargetId]:
        is_answering = _is_answering()
        entries = waiting.copy() if isinstance(waiting, deque) else ()  # in one step: others add and take meanwhile
        if is_answering or _is_answering():
            return frozenset()  # what the JVM waits for may be named in an answer, and have lost its proxy
        pairs = (entry for entry in entries if isinstance(entry, tuple) and len(entry) == 2)
        return frozenset(TargetId(str(target)) for owner, target in pairs if owner is client)

    return released


def _is_answering() -> bool:
    """Whether the JVM has called a function of the program's, as `foreachBatch` and `transform` of streams do."""
    return stacks.are_answering(stacks.seen())


def _values(table: Mapping[Any, Any]) -> list[Any]:
    """A table's values, read without py4j's lock, which a thread of the program may hold while it waits for us."""
    for _ in range(TRIES):
        try:
            return list(table.values())
        except RuntimeError:  # it changed its size
            continue
    return []


def _revived(census: Census) -> set[int]:
    """Places of the nodes that can be used again without a reference: through a weak reference, or by a finaliser."""
    holders = ((place, census.node(place)) for place in (*range(census.handles), *census.containers))
    found = {place for place, holder in holders if _is_weakly_known(holder) or _has_finaliser(type(holder))}
    proxies = range(census.handles, census.handles + census.proxies)
    return found.union(at for at in proxies if weakref.getweakrefcount(census.node(at)) > OF_PY4J)


def _is_weakly_known(handle: object) -> bool:
    """Whether anybody but the registry has a weak reference to it, as a `WeakValueDictionary` has."""
    return any(type(reference) is not Kept for reference in weakref.getweakrefs(handle))


def _has_finaliser(kind: type) -> bool:
    return any("__del__" in owner.__dict__ for owner in kind.__mro__)


def _dead(census: Census, reached: set[int]) -> frozenset[TargetId]:
    first = census.handles
    return frozenset(target(census.proxy(at)) for at in range(census.proxies) if first + at not in reached)


def _names(census: Census, reached: set[int], names: Dead, sites: list[Kept]) -> dict[TargetId, str]:
    """For each JVM object, which handle holds it: rather one with a name than one without."""
    handles = {id(census.node(place)) for place in range(census.handles)}
    in_containers = names_of([census.node(place) for place in census.containers], handles, names.names)
    named: dict[TargetId, str] = {}
    nameless: dict[TargetId, str] = {}
    for place, kept in enumerate(sites):
        if place in reached:
            handle = census.node(place)
            known = names.names.get(id(handle)) or in_containers.get(id(handle), ())
            why, told = _why(known, kept.site), named if known else nameless
            for value in list(attributes_of(handle).values()):
                if is_proxy(value):
                    told.setdefault(target(value), why)
    return {**nameless, **named}


def _why(names: tuple[Name, ...], made_at: str) -> str:
    """The names that hold a handle, and where: the line that made it if that is in the same file, else the function."""
    if names:
        return ", ".join(f"`{name.name}` {_place(name, made_at)}".strip() for name in names[:NAMES_SHOWN])
    what = f"what was made at {made_at}" if made_at else "something"
    return f"{what}, held by an attribute, a container or a library"


def _place(name: Name, made_at: str) -> str:
    """A name of an interactive session has no file: then it is told where the handle was made that it holds."""
    if not name.file:
        return f"made at {made_at}" if made_at else ""
    file = _base(name.file)
    return f"in {made_at}" if made_at.startswith(f"{file}:") else f"in {file}:{name.line}"


_base = lru_cache(maxsize=256)(os.path.basename)  #: Of the program's files, asked for at every look.


def is_proxy(thing: object) -> bool:
    return JavaObject in type(thing).__mro__


def target(proxy: Any) -> TargetId:
    """What py4j calls the object behind a proxy."""
    return TargetId(str(object.__getattribute__(proxy, "_target_id")))
