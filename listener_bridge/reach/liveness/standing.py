"""References, counted while the program stands where its names were read.

    while True:
        ranks = next(parts)     # nothing reads `ranks`, and the generator has the same object
        save()
        ranks = None
        save()

Responsible for: that what names are said to hold that do not count, they hold at the moment of the counting.
Refuses to know: why a name is dead, what is counted.
Invariant: counts, where the program's frames stand, and what such globals hold are of one moment: all is asked from
within one instruction, by functions written in C, with no collection meanwhile.

Threads take turns, and each turn of such a loop ends at the same places. Whoever reads names in one turn and counts in
the next finds `ranks` bound whenever names are read, and unbound whenever references are counted, however often both
are done: one dead name, one reference, and the generator is nobody. What a frame's own variables hold is not asked
again. A frame that stands where it stood holds in them what it held, but for loops that come there with two things in
turn.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import chain, repeat
from typing import Any

from listener_bridge.reach.liveness.survey import namespace_of_main
from listener_bridge.reach.liveness.words import Dead
from listener_bridge.reach.stacks import answered, asking, without_collections

_MISSING = object()


class Nobody:
    """An object that nothing else refers to."""


def counts(objects: Sequence[object], names: Dead) -> list[int] | None:
    """For each object its references, less the one of `objects` itself (of each place in it, the others count).

    An object that only this sequence holds has none. What counting costs is seen on an object that is counted along.
    None: the program stands elsewhere than when names were read, or they hold something else.
    """
    with without_collections():
        found = _at_once(objects, [name for name, _ in names.bound])
    *references, own = found[: len(objects) + 1]
    bound, told = found[len(objects) + 1 :][: len(names.bound)], found[len(objects) + 1 + len(names.bound) :]
    frames, _, answers = answered(told)
    stands = {frame: lasti for frame, (_, lasti, _, _) in zip(frames, answers, strict=True)}
    is_there = all(stands.get(stood.frame) == stood.lasti for stood in names.stands)
    is_bound = bound == [target for _, target in names.bound]
    return [each - own - 1 for each in references] if is_there and is_bound else None


def _at_once(objects: Sequence[object], bound: Sequence[str]) -> list[Any]:
    """References of each object, and of one that nobody has; the ids of what names hold; then what frames answer.

    CPython lets another thread run at a call, a jump back, or the beginning of a function: the last line has none.
    """
    held = [*objects, Nobody()]
    holding = (namespace_of_main() or {}).get
    everything = chain(map(sys.getrefcount, held), map(id, map(holding, bound, repeat(_MISSING))), asking())
    return [*everything]
