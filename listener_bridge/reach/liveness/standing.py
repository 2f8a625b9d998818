"""References, counted while the program stands where its names were read.

    while True:
        ranks = next(parts)     # nothing reads `ranks`, and the generator has the same object
        save()
        ranks = None
        save()

Responsible for counting references, and for making sure that at that moment the dead names still hold what they held
when they were read.
Refuses to know: why a name is dead, and what is counted.
Invariant: the counts, where the program's frames stand, and what its dead globals hold are of one moment: all is read
within one instruction, by functions written in C, with no collection meanwhile.

Threads take turns, and each turn of a loop like the one above may end at the same places. Then `ranks` may be bound
whenever names are read, and unbound whenever references are counted, however often both are done. One reference would
be counted, the generator's, and it would be explained by the dead name. A frame's own variables are not read again: a
frame that stands where it stood holds what it held, except in a loop that comes there with two objects in turn.
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
    """For each object the number of its references, without the one that its place in `objects` is.

    So an object that only this sequence holds has none. References that counting itself makes are deducted: an object
    that nobody has is counted along. None: the program, or what its names hold, is not as it was when they were read.
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
    """Reference counts of these objects and of one that nobody has; ids of what names hold; what `asking` gives.

    CPython lets another thread run at a call, a jump back, or the beginning of a function: the last line has none.
    """
    held = [*objects, Nobody()]
    holding = (namespace_of_main() or {}).get
    everything = chain(map(sys.getrefcount, held), map(id, map(holding, bound, repeat(_MISSING))), asking())
    return [*everything]
