"""What a reading of the running program says: references that nothing will use, and names that still count.

Responsible for: the values that the package answers with.
Refuses to know: how they are found, and what the objects are.
Invariant: they hold numbers and text, never a frame or code object of the program; of its objects those alone of the
kinds that were asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from listener_bridge.reach.liveness.assigning import Assigned
from listener_bridge.reach.liveness.using import Use

Wanted: TypeAlias = Callable[[type], bool]
"""Whether objects of a class are asked for."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name that holds an object and may still be read. `line`: where its function, or module, begins."""

    name: str
    file: str
    line: int
    function: str


class Used(NamedTuple):
    """An object of which live names use parts alone: how many names, and which uses."""

    names: int
    uses: frozenset[Use]


class Stood(NamedTuple):
    """Where a frame of the program's stood, and what its names held: ids only."""

    frame: int
    code: int
    lasti: int
    is_module: bool
    held: list[tuple[str, int]]
    handed_on: str  #: of its variables, the one that has the arguments of the call that it stands in


@dataclass(frozen=True, slots=True)
class Dead:
    """What the program will never read again.

    `references`: id of an object -> how many references to it are names that are proven dead. `names`: id of an object
    -> the live names that hold it, for people. `moved`: frames moved while they were read; then nothing is said.
    `held`: what names hold, dead or alive, of the kinds that were asked for; it may have changed since.
    `used`: id of an object -> how the live names use it, where none of them uses all of it. `assigned`: attributes that
    the program gives to objects, so that their classes may not be what they are now; None: not known.
    `stands`: of which frames that is told, and where they stood. `bound`: the globals that are dead, or use parts
    alone, with the ids of what they held.
    """

    references: Mapping[int, int] = field(default_factory=dict)
    names: Mapping[int, tuple[Name, ...]] = field(default_factory=dict)
    moved: bool = False
    held: tuple[object, ...] = ()
    used: Mapping[int, Used] = field(default_factory=dict)
    assigned: Assigned | None = None
    stands: tuple[Stood, ...] = ()
    bound: tuple[tuple[str, int], ...] = ()
