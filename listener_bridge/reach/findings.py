"""What the readings of a look give each other: the words between the program's side and the JVM's.

Responsible for: the values that a look is made of.
Refuses to know: how any of them is found, and what becomes of them.
Invariant: in doubt a value says more than is so, never less: a name that is left out of `dead` is a root.

A look has two halves. The program's half (Python: handles, names, calls under way) says what is proven dead, and what
people call the rest. The JVM's half takes that, and walks what is left down to intact outputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NewType

TargetId = NewType("TargetId", str)
"""What py4j calls a JVM object that it holds for Python, as `o12`; never used again for another one."""

NAME = "`"  #: How the names of a program begin, in words for people.


class Kind(Enum):
    """What a root is; the coordinator's words."""

    PLAN = "plan"
    HANDLE = "handle"
    OBJECT = "jvm object"
    PERSISTED = "persisted"
    ALGORITHM = "algorithm"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Program:
    """What the program can no longer use, and what it calls the rest.

    `dead`: JVM objects that nothing in Python will use again; everything else that py4j binds is a root. `names`: why
    a root is one, for people: "`ranks` in pagerank.py:41".
    """

    dead: frozenset[TargetId] = frozenset()
    names: Mapping[TargetId, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Region:
    """A call into the JVM that is under way and may read again what its jobs wrote.

    `name`: for people, "`ALS.fit`". `wrote`: the app shuffles of its jobs so far.
    """

    region: str
    name: str
    wrote: frozenset[int]


@dataclass(frozen=True, slots=True)
class Root:
    """One root and the app shuffles in its cut: intact ones where its walk stopped, unfinished ones on the way."""

    root: str
    kind: Kind
    needs: frozenset[int]
    why: str = ""

    @property
    def has_name(self) -> bool:
        """Whether people know it by a name. Objects of py4j that no name is known for are called by their class."""
        return self.kind not in (Kind.HANDLE, Kind.OBJECT) or self.why.startswith(NAME)


@dataclass(frozen=True, slots=True)
class Found:
    """What a reading found. `everything`: why nothing may be let go; None where it was whole.

    `jvm_s`: seconds of a processor that the JVM's half of it took.
    """

    roots: tuple[Root, ...]
    everything: str | None = None
    jvm_s: float = 0.0
