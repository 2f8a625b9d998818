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

import operator
import sys
from collections.abc import Sequence
from itertools import chain, repeat
from types import FrameType

from listener_bridge.reach.liveness.counting import Nobody
from listener_bridge.reach.liveness.survey import namespace_of_main
from listener_bridge.reach.liveness.words import Dead, Stood
from listener_bridge.reach.stacks import other_frames, outwards, without_collections

_LAST = operator.attrgetter("f_lasti")
_MISSING = object()


def counts_there(objects: Sequence[object], names: Dead) -> list[int] | None:
    """As `counts`. None: the program does not stand where it stood when names were read, or they hold something else.

    Frames are in hand for as long as that takes.
    """
    with without_collections():
        frames = _frames(names.stands)
        if len(frames) != len(names.stands):
            return None
        found = _at_once(objects, frames, [name for name, _ in names.bound])
    *references, own = found[: len(objects) + 1]
    there = [*(stood.lasti for stood in names.stands), *(target for _, target in names.bound)]
    return [each - own - 1 for each in references] if found[len(objects) + 1 :] == there else None


def _at_once(objects: Sequence[object], frames: Sequence[FrameType], bound: Sequence[str]) -> list[int]:
    """References of each object, and of one that nobody has; then where frames stand, and the ids of what names hold.

    CPython lets another thread run at a call, a jump back, or the beginning of a function: the last line has none.
    """
    held = [*objects, Nobody()]
    holding = (namespace_of_main() or {}).get
    everything = chain(map(sys.getrefcount, held), map(_LAST, frames), map(id, map(holding, bound, repeat(_MISSING))))
    return [*everything]


def _frames(stands: Sequence[Stood]) -> list[FrameType]:
    """Those that are still there, in the same order."""
    wanted = {stood.frame for stood in stands}
    innermost = other_frames().values() if wanted else ()
    found = {id(frame): frame for each in innermost for frame in outwards(each) if id(frame) in wanted}
    return [found[stood.frame] for stood in stands if stood.frame in found]
