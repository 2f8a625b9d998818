"""The globals of the main module, for people, where none of its own code stands in a frame that is read.

    >>> ranks = links.partitionBy(8)      # at a prompt, or in a cell: between two of them no frame has this name

Responsible for: which of them hold what, and in which file they stand.
Refuses to know: which names are dead: none of these is said to be.
Invariant: the main module is read through its dictionary, as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType

from listener_bridge.reach.liveness.namespaces import ids_in
from listener_bridge.reach.liveness.words import Name

_MODULE = "<module>"

Names = Mapping[int, tuple[Name, ...]]


def names_of_main(is_session: bool) -> Names:
    """By the id of what they hold. `is_session`: people type, so that a name stands in no file of its own."""
    main = sys.modules.get("__main__")
    if not issubclass(type(main), ModuleType):
        return {}
    namespace = object.__getattribute__(main, "__dict__")
    file = namespace.get("__file__")
    where = file if isinstance(file, str) and not is_session else ""
    found: dict[int, tuple[Name, ...]] = {}
    for name, held in sorted(ids_in(namespace), key=_is_hidden):
        if name.strip("_"):  # `_` of a shell is the last output, and another one at each prompt
            found[held] = (*found.get(held, ()), Name(name, where, 1, _MODULE))
    return found


def together(first: Names, second: Names) -> Names:
    """What both say of an object."""
    return {**first, **{held: (*first.get(held, ()), *names) for held, names in second.items()}}


def without_module(names: Names) -> Names:
    """Those of functions alone."""
    return {held: tuple(name for name in told if name.function != _MODULE) for held, told in names.items()}


def _is_hidden(bound: tuple[str, int]) -> bool:
    return bound[0].startswith("_")
