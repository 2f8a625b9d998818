"""Which handles there are: the program's RDD and DataFrame objects, known weakly.

Responsible for: taking a weak reference to each handle when it is made, and where in the program that was; finding
those made before; keeping the handle of a half-consumed iterator as long as the iterator lives.
Refuses to know: which of them the program can still use (`handles`).
Invariant: the program notices nothing. A handle dies when it would have died, unless a half-consumed iterator over it
goes on submitting jobs. When a handle dies only one append runs, and when an iterator dies only an append and a pop,
without a lock. A handle that is not known here makes looks keep more, and nothing else.
"""

from __future__ import annotations

import functools
import gc
import importlib
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, GeneratorType
from typing import Any, TypeAlias

from listener_bridge.reach import naming

Handle: TypeAlias = Any
"""An RDD or a DataFrame: this module knows no more of it than its class."""

SITE_FRAMES = 40
"""In so many frames, from the innermost outwards, the program's own line is looked for."""
TIDY_ABOVE = 1000
"""When more dead references than that wait, the next handle that is made has them removed."""


class Kept(weakref.ref):  # type: ignore[type-arg]
    """A weak reference that remembers where its handle was made, as code and instruction: the line costs more."""

    __slots__ = ("_site", "at", "code")
    code: CodeType | None
    at: int

    @property
    def site(self) -> str:
        """As "pagerank.py:41"; empty where it is not known. Worked out once, since every look asks."""
        try:
            return self._site
        except AttributeError:
            self._site: str = self._worked_out()
            return self._site

    def _worked_out(self) -> str:
        if self.code is None:
            return ""
        lines = (line for start, end, line in self.code.co_lines() if start <= self.at < end and line)
        return f"{Path(self.code.co_filename).name}:{next(lines, self.code.co_firstlineno)}"


class Registry:
    """The handles of one process. `alive` belongs to one thread; everything else may happen in any."""

    def __init__(self, classes: tuple[type, ...], iterating: tuple[type, ...] = ()) -> None:
        """`classes` are handles; those of `iterating` have a `toLocalIterator`."""
        self._classes = classes
        self._iterating = iterating
        self._kept: dict[int, Kept] = {}
        self._gone: deque[weakref.ref[Any]] = deque()
        self._read_out: dict[int, tuple[weakref.ref[Any], Handle]] = {}
        self._finished: deque[weakref.ref[Any]] = deque()
        self._tidied = 0
        self._undo: list[Callable[[], None]] = []
        self._is_on = False

    def watch(self) -> None:
        """Learn of every handle from now on, and of those that are there."""
        self._is_on = True
        for owner in self._classes:
            if "__init__" in owner.__dict__:
                self._replace(owner, "__init__", self._noting(owner.__dict__["__init__"]))
        for owner in self._iterating:
            self._replace(owner, "toLocalIterator", self._rooting(owner.__dict__["toLocalIterator"]))
        for handle in self._made_before():
            self._note(handle, None)

    def unwatch(self) -> None:
        """Leave the classes as they were found."""
        self._is_on = False
        while self._undo:
            self._undo.pop()()
        self._read_out.clear()

    def alive(self) -> list[tuple[Handle, Kept]]:
        """Every handle that lives now, once, with where it was made."""
        self._tidy()
        self._forget_read_out()
        found = {id(handle): (handle, kept) for kept in list(self._kept.values()) if (handle := kept()) is not None}
        return list(found.values())

    @property
    def changed(self) -> int:
        """A number that grows when a handle or an iterator has died."""
        return self._tidied + len(self._gone) + len(self._finished)

    # ---- when a handle is made ----

    def _noting(self, init: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(init)
        def __init__(self: Handle, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - stands in for one
            init(self, *args, **kwargs)
            note(self, sys._getframe(1))  # noqa: SLF001 - documented, and the only cheap way

        note = self._note
        return __init__

    def _note(self, handle: Handle, frame: FrameType | None) -> None:
        if not self._is_on:
            return
        try:
            kept = Kept(handle, self._gone.append)
            own = _own_frame(frame)
            kept.code, kept.at = (own.f_code, own.f_lasti) if own is not None else (None, 0)
            self._kept[id(kept)] = kept
            if len(self._gone) > TIDY_ABOVE:
                self._tidy()
        except Exception:  # noqa: BLE001 - a handle that we do not know is kept; the program goes on
            pass

    def _made_before(self) -> Iterator[Handle]:
        """Handles among everything that the collector tracks. Asks types only: an instance may answer with code."""
        known: dict[type, bool] = {}
        for thing in gc.get_objects():
            kind = type(thing)
            if kind not in known:
                known[kind] = any(owner in kind.__mro__ for owner in self._classes)
            if known[kind]:
                yield thing

    # ---- half-consumed iterators ----

    def _rooting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def rooting(self: Handle, *args: Any, **kwargs: Any) -> Any:
            iterator = method(self, *args, **kwargs)
            root(self, iterator)
            return iterator

        root = self._root
        _name_as(rooting, method)
        return rooting

    def _root(self, handle: Handle, iterator: Any) -> None:
        if not self._is_on:
            return
        try:
            reference = weakref.ref(iterator, self._let_go)
            self._read_out[id(reference)] = (reference, handle)
        except Exception:  # noqa: BLE001 - no weak reference to such an iterator: it is the program's own
            pass

    def _let_go(self, finished: weakref.ref[Any]) -> None:
        """Drops the handle of an iterator that has died, at once: without a candidate no look would come to do it."""
        self._finished.append(finished)
        self._read_out.pop(id(finished), None)

    def _forget_read_out(self) -> None:
        """Drops the handles of iterators that are exhausted, though somebody may still hold them."""
        for key, (reference, _) in list(self._read_out.items()):
            if _is_at_its_end(reference()):
                self._read_out.pop(key, None)

    # ---- order ----

    def _replace(self, owner: type, name: str, ours: Callable[..., Any]) -> None:
        found = owner.__dict__[name]
        setattr(owner, name, ours)

        def undo() -> None:
            if owner.__dict__.get(name) is ours:  # else somebody has wrapped us: we only stop noting
                setattr(owner, name, found)

        self._undo.append(undo)

    def _tidy(self) -> None:
        """Removes what has died. Any thread may call it: each entry is taken by one of them."""
        for dead, table in ((self._gone, self._kept), (self._finished, self._read_out)):
            while dead:
                try:
                    reference = dead.popleft()
                except IndexError:
                    break
                self._tidied += 1
                table.pop(id(reference), None)


def _is_at_its_end(iterator: Any) -> bool:
    return isinstance(iterator, GeneratorType) and iterator.gi_frame is None


def of_pyspark() -> Registry:
    """A registry of PySpark's handles, of whichever version is installed."""
    from pyspark import RDD

    rdds = importlib.import_module(RDD.__module__)
    try:
        frames = importlib.import_module("pyspark.sql.classic.dataframe")  # from 4.0 on
    except ImportError:
        frames = importlib.import_module("pyspark.sql.dataframe")
    return Registry((RDD, rdds.PipelinedRDD, frames.DataFrame), (RDD, frames.DataFrame))


def _own_frame(frame: FrameType | None) -> FrameType | None:
    for _ in range(SITE_FRAMES):
        if frame is None or naming.kind_of_file(frame.f_code.co_filename) is naming.Kind.OWN:
            return frame
        frame = frame.f_back
    return None


def _name_as(ours: Any, method: Any) -> None:
    """Code that stands for a method of PySpark says so.

    PySpark calls a job after the last frame before its own files; with our file in between, the job's call site would
    be ours.
    """
    theirs: CodeType | None = getattr(method, "__code__", None)
    if theirs is not None:
        ours.__code__ = ours.__code__.replace(co_filename=theirs.co_filename, co_name=theirs.co_name)
