"""Names of packages that a program and we both use: its own `coordinator.py` beside it is the program's, not ours.

Responsible for letting a program that starts here import what it would under plain Python. Refuses to know who needs
our packages later: an embedded coordinator that cannot be imported any more is told as every one that does not answer.
Invariant: what already runs of ours runs on; only imports from here on find the program's.
"""

from __future__ import annotations

import logging
import sys
from importlib.machinery import PathFinder

log = logging.getLogger("shuffle_lifecycle")

#: What has been imported by now where `shufflectl run` starts the program, and a script may well be called.
OURS = ("coordinator", "replay", "state_backend")


def give_back(place: str) -> None:
    """Of these names, the ones that `place` (a folder or a zip file) has modules of its own for."""
    taken = [name for name in OURS if _has_its_own(place, name)]
    for module in [module for module in sys.modules if module.partition(".")[0] in taken]:
        del sys.modules[module]
    if taken:
        log.warning(
            "shuffle lifecycle: the program has modules of its own called %s, so no coordinator can be embedded in it; "
            "rename them, or nothing is deleted where no coordinators elsewhere are named (--address)",
            ", ".join(taken),
        )


def _has_its_own(place: str, name: str) -> bool:
    """A folder without `__init__.py` is none: ours comes before it, as under plain Python."""
    spec = PathFinder.find_spec(name, [place])
    ours = getattr(sys.modules.get(name), "__file__", None)
    return spec is not None and spec.origin is not None and spec.origin != ours
