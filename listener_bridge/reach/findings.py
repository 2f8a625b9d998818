"""The values of a look: what its halves, the program's and the JVM's, tell each other and the looker.

Responsible for: these values and what they mean.
Refuses to know: how any of them is found, and what becomes of them.
Invariant: in doubt a value stands for more roots and more needed app shuffles than there are, never for fewer: an
object that is missing in `dead` is a root.

A look has two halves. The program's half (Python: handles, names, calls under way) says what is proven dead, and what
people call the rest. The JVM's half takes that, and walks what is left down to intact outputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NewType

TargetId = NewType("TargetId", str)
"""py4j's name of a JVM object that it holds for Python, as `o12`; never given to another object."""

NAME = "`"  #: How the text of a root begins that the program has a name for.


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
    """What the program can no longer use, and its names for the rest.

    `dead`: JVM objects that nothing in Python will use again; everything else that py4j binds is a root. `names`: text
    for people that says what holds a JVM object: "`ranks` in pagerank.py:41".
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
        """Whether people know it by a name. `why` of a JVM object without a known name begins with its class."""
        return self.kind not in (Kind.HANDLE, Kind.OBJECT) or self.why.startswith(NAME)


@dataclass(frozen=True, slots=True)
class Found:
    """What a look has found. `everything`: why all app shuffles count as needed; None if the look is complete.

    `jvm_s`: the processor time that the JVM's half took, in seconds.
    """

    roots: tuple[Root, ...]
    everything: str | None = None
    jvm_s: float = 0.0
