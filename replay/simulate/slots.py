"""How many tasks run at a time, as far as a master says so.

Responsible for the masters that name it. Refuses to guess. Invariant: at least one.
"""

from __future__ import annotations

import re

_LOCAL = re.compile(r"local\[(\d+|\*)(?:,\s*\d+)?\]")
_CLUSTER = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,")


def slots_of(master: str) -> int:
    """`local[4]` is 4, `local-cluster[2,3,1024]` is 6; whatever does not say is 1, so that costs are not overstated."""
    if found := _LOCAL.fullmatch(master):
        return max(1, int(found[1])) if found[1] != "*" else 1
    if found := _CLUSTER.match(master):
        return max(1, int(found[1]) * int(found[2]))
    return 1
