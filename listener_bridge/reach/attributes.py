"""What names say of the objects that a look counts: which they hold, which they never read, of which a part alone.

    job.clean()         # `clean` reads `self.events`, so nothing reads `job.raw` any more

Responsible for: of an object that names use by its attributes alone, which attributes these may be.
Refuses to know: where names are read (`liveness`), who else refers to the object (`counting`).
Invariant: only of objects whose classes are all the program's own; of any other, and in doubt, a name holds the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from listener_bridge.reach.containers import is_of_the_program
from listener_bridge.reach.liveness import Dead, attributes_read


@dataclass(frozen=True, slots=True)
class Named:
    """By ids of objects. `dead`: references that do not count, those of the names in `parts` among them.

    `whole`: what live names hold; `parts`: of what they hold otherwise, the attributes that may be read.
    """

    dead: Mapping[int, int]
    whole: frozenset[int]
    parts: Mapping[int, frozenset[str]]


def named(names: Dead, containers: Iterable[Any]) -> Named:
    """What is said of any object, and of these containers in particular."""
    parts = dict(_parts(names, containers))
    dead = {**names.references, **{one: names.references.get(one, 0) + names.used[one].names for one in parts}}
    return Named(dead, frozenset(names.names.keys() - parts.keys()), parts)


def _parts(names: Dead, containers: Iterable[Any]) -> Iterable[tuple[int, frozenset[str]]]:
    if names.assigned is None:
        return
    for one in containers:
        used = names.used.get(id(one))
        if used is not None and is_of_the_program(type(one)):
            attributes = attributes_read(type(one), used.uses, names.assigned)
            if attributes is not None:
                yield id(one), attributes
