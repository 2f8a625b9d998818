"""Is what liveness says so? `python -m tests.property.liveness_oracle --seed 1 --programs 300`, on any Python.

Responsible for: running random programs to their ends and catching each use of a thing that was said to be dead.
Refuses to know: bytecode. Invariant: it judges by what the program really read, never by an analysis of its own.

Every binding is of a new thing, so a thing that only a dead name holds can be met again only by reading that name. What
is shared has several: it is said to be dead where no reference is left that is not.
"""

from __future__ import annotations

import argparse
import functools
import random
import sys
import types
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.property.liveness_programs import program
from tests.support.liveness import Kept, in_a_thread, liveness, main_module, out_of_reach, run_as_python_does

STEPS_MAX = 400


class EnoughError(Exception):
    """The program has run long enough."""


@dataclass
class Found:
    """What a run has shown. `violations`: uses of what was said to be dead; references said dead that are not there."""

    violations: list[str] = field(default_factory=list)
    probes: int = 0
    moved: int = 0
    dead: int = 0
    dead_in_boxes: int = 0
    alive: int = 0
    ends: Counter[str] = field(default_factory=Counter)

    def add(self, other: Found) -> None:
        self.violations += other.violations
        self.probes += other.probes
        self.moved += other.moved
        self.dead += other.dead
        self.dead_in_boxes += other.dead_in_boxes
        self.alive += other.alive
        self.ends.update(other.ends)


class Bound:
    """What is bound: any use of one that is said to be dead is a violation."""

    world: World
    __match_args__ = ("inner",)

    def __init__(self, *read: object) -> None:
        self.is_said_dead = False
        self.is_shared = False
        self.world.made(self)

    @property
    def inner(self) -> object:
        return self._another()

    def chance(self) -> bool:
        self.world.used(self)
        return self.world.chance()

    def _another(self) -> object:
        self.world.used(self)
        return type(self)()

    def __iadd__(self, other: object) -> object:
        return self._another()

    def __enter__(self) -> object:
        return self._another()

    def __exit__(self, *error: object) -> bool:
        return self.world.chance()

    async def __aenter__(self) -> object:
        return self._another()

    async def __aexit__(self, *error: object) -> bool:
        return self.world.chance()

    def __lt__(self, other: object) -> bool:
        return self.world.chance()

    def __gt__(self, other: object) -> bool:
        return self.world.chance()


class Raised(Bound, Exception):  # noqa: N818 - what programs catch
    """An exception that is bound to a name, and watched as things are."""


def raised(kind: type[Raised]) -> None:
    raise kind


def shape(thing: type[Bound], form: int) -> object:
    """What `match` looks at."""
    if form == 0:
        return {"k": thing()}
    return thing() if form == 1 else tuple(thing() for _ in range(form))


class World:
    """What one program calls, and what it made."""

    def __init__(self, seed: int) -> None:
        self.file = f"/nowhere/random_{seed}.py"
        self.found = Found()
        self._chance = random.Random(seed)
        self._things: list[weakref.ref[Any]] = []
        self._steps = 0
        self._kept: list[object] = []
        self._seed = seed

    def names(self) -> dict[str, object]:
        """The globals of the program. Its classes are made for it, so that they know their world."""
        thing = type("Thing", (Bound,), {"world": self})
        boom = type("Boom", (Raised,), {"world": self})
        return {
            "Boom": boom,
            "Thing": thing,
            "Box": type("Box", (Box,), {"__module__": "__main__"}),
            "Mapped": type("Mapped", (Mapped,), {"__module__": "__main__"}),
            "OrderedDict": OrderedDict,
            "Pair": type("Pair", (Pair,), {"__module__": "__main__"}),
            "Space": types.SimpleNamespace,
            "boom": lambda: raised(boom) if self.chance() else None,
            "coro": waiting,
            "defaultdict": defaultdict,
            "deque": deque,
            "partial": functools.partial,
            "ring": ring,
            "sharing": sharing,
            "view": view,
            "weak": weak,
            "cached_property": functools.cached_property,
            "called": lambda *things, **more: self.step(),
            "chance": self.chance,
            "driven": driven,
            "first": lambda box: next(iter(flat(box)), None),
            "flat": flat,
            "keep": self.keep,
            "new": thing,
            "pairs": lambda *read: Both((thing(), thing()) for _ in range(self.few())),
            "passed": passed,
            "probe": self.probe,
            "r": self.used,
            "rounds": lambda *read: iter(range(1, self.few() + 1)),
            "share": self.share,
            "shape": lambda *read: shape(thing, self.few()),
            "things": lambda *read: Both(thing() for _ in range(self.few())),
            "threaded": threaded,
        }

    # --- chance, within bounds

    def step(self) -> None:
        self._steps += 1
        if self._steps > STEPS_MAX:
            raise EnoughError

    def chance(self, *read: object) -> bool:
        self.step()
        return self._chance.random() < 0.35

    def few(self) -> int:
        self.step()
        return self._chance.randint(0, 3)

    # --- things

    def made(self, thing: object) -> None:
        self._things.append(Kept(thing))

    def used(self, thing: Any) -> Any:
        """The program has the thing in hand."""
        if getattr(thing, "is_said_dead", False):
            caller: Any = sys._getframe(1)
            line = caller.f_lineno
            self.found.violations.append(f"seed {self._seed}: line {line} uses what was said to be dead")
        return thing

    def share(self, *things: Any) -> None:
        """These will have several names."""
        for thing in things:
            self.used(thing).is_shared = True

    def keep(self, function: object) -> object:
        """A decorator that knows what it has decorated, and gives it back."""
        self._kept.append(function)
        return function

    def probe(self, *read: object) -> None:
        self.step()
        in_a_thread(self._look_at_names)
        in_a_thread(self._look_into_boxes)

    def _look_at_names(self) -> None:
        said = liveness.dead_references(self.is_own)
        things = self._alive()
        counts = liveness.counts(things, liveness.Dead())
        assert counts is not None  # no name says where anybody stands
        self._things[:] = map(Kept, things)
        self.found.probes += 1
        self.found.moved += said.moved
        for thing, references in zip(things, counts, strict=True):
            dead = said.references.get(id(thing), 0)
            self.found.dead += dead
            self.found.alive += len(said.names.get(id(thing), ()))
            if dead > references:
                self.found.violations.append(f"seed {self._seed}: {dead} of {references} references said to be dead")
            if dead and (dead == references or not thing.is_shared):
                thing.is_said_dead = True

    def _alive(self) -> list[Any]:
        return list(filter(None, map(_referent, self._things)))

    def _look_into_boxes(self) -> None:
        """As a look does: what every reference of comes from dead names, or from what these alone hold."""
        for thing in out_of_reach(self._alive, self.is_own):
            self.found.dead_in_boxes += not thing.is_said_dead
            thing.is_said_dead = True

    def is_own(self, frame: types.FrameType) -> bool:
        return frame.f_code.co_filename == self.file


class Box:
    """An object that holds things."""

    def __init__(self, *held: object) -> None:
        self.held = held
        self.first = held[0]


def passed(method: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that puts a function of its own in the place of a method."""
    return lambda *args: method(*args)


def flat(box: Any) -> list[Any]:
    """The things in a box, and in boxes within it."""
    if isinstance(box, Bound):
        return [box]
    if isinstance(box, Box | types.SimpleNamespace):
        return flat(list(vars(box).values()))
    if isinstance(box, dict):
        return flat([*box, *box.values()])
    return [one for inner in box if inner is not box for one in flat(inner)] if isinstance(box, Iterable) else []


class Mapped(dict[str, object]):
    """Its attributes are what is in it."""

    def __init__(self, **held: object) -> None:
        super().__init__(held)
        self.__dict__ = self


class Pair(NamedTuple):
    """As people return several things."""

    one: object
    two: object


def sharing(box: Box) -> list[Box]:
    """Two objects with the same attributes."""
    other = object.__new__(type(box))
    other.__dict__ = vars(box)
    return [box, other]


def ring(box: list[object]) -> list[object]:
    box.append(box)
    return box


def view(box: Any) -> Any:
    """Something that leads to what is in a box."""
    if isinstance(box, dict):
        return box.values()
    return vars(box) if isinstance(box, Box | types.SimpleNamespace) else iter(box)


def weak(box: Any) -> Callable[[], Any]:
    """A box that is known so, where that is possible; a thing has to have a name."""
    try:
        return (lambda: box) if isinstance(box, Bound) else weakref.ref(box)
    except TypeError:
        return lambda: box


async def waiting(box: object) -> object:
    return box


class Both:
    """To be iterated either way."""

    def __init__(self, things: Iterator[object]) -> None:
        self._things = things

    def __iter__(self) -> Iterator[object]:
        return self._things

    def keys(self) -> list[str]:
        return []

    def __aiter__(self) -> Both:
        return self

    async def __anext__(self) -> object:
        for thing in self._things:
            return thing
        raise StopAsyncIteration


def _referent(reference: weakref.ref[Any]) -> Any:
    return reference()


def driven(coroutine: Any) -> object:
    """Runs a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits")


def threaded(act: Callable[[object], object], argument: object) -> object:
    """Runs a function in another thread while this one waits."""
    answers: list[object] = []
    handed = [argument]
    del argument
    in_a_thread(lambda: answers.append(act(handed.pop())))
    return answers.pop()


def run(text: str, seed: int) -> Found:
    """Runs a program to its end, however it ends."""
    world = World(seed)
    main = types.ModuleType("__main__")
    main.__file__ = world.file
    main.__dict__.update(world.names())
    code = compile(text, world.file, "exec", dont_inherit=True)
    with main_module(main):
        world.found.ends[_end(lambda: run_as_python_does(code, main.__dict__))] += 1
    return world.found


def _end(program: Callable[[], None]) -> str:
    """A random program may raise anything."""
    try:
        program()
    except Exception as error:  # noqa: BLE001 - it is counted, and told
        return type(error).__name__
    return "its end"


def judged(seeds: range, favoured: str = "") -> Found:
    found = Found()
    for seed in seeds:
        found.add(run(program(seed, favoured), seed))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=int, default=100)
    forms = "a form of which there are many: comprehension, handed, boxed, boxed_in_objects, defined, "
    forms += "by_attributes, by_items"
    parser.add_argument("--favoured", default="", metavar="FORM", help=forms)
    asked = parser.parse_args()
    found = judged(range(asked.seed, asked.seed + asked.programs), asked.favoured)
    names = found.dead + found.alive
    sys.stdout.write(
        f"{asked.programs} programs, {found.probes} probes ({found.moved} moved), {found.dead} of {names} names dead "
        f"({found.dead / max(1, names):.0%}), {found.dead_in_boxes} more in boxes, {len(found.violations)} violations\n"
    )
    sys.stdout.write(", ".join(f"{end}: {count}" for end, count in found.ends.most_common()) + "\n")
    sys.stdout.writelines(line + "\n" for line in found.violations[:20])
    return 1 if found.violations or not found.dead else 0


if __name__ == "__main__":
    sys.exit(main())
