"""What objects that names hold are used for, where that is a part of them alone.

    job.clean()         # `clean` reads `self.events`, so nothing reads `job.raw` any more
    state["events"]     # nor `state["raw"]`, where nothing else is done with `state`

Responsible for: of an object that names use by its attributes alone, or of a dictionary that they use by keys alone,
which of them these may be.
Refuses to know: where names are read (`liveness`), who else refers to the object (`counting`).
Invariant: only of objects whose classes are all the program's own, and of dictionaries of Python's own class; of any
other, and in doubt, a name holds the whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from listener_bridge.reach import whose
from listener_bridge.reach.containers import has_plain_keys, is_of_the_program
from listener_bridge.reach.liveness import Dead, attributes_read, items_read


def parts(names: Dead, containers: Iterable[Any]) -> dict[int, frozenset[str]]:
    """By the ids of those of these that names use in parts alone: the attributes, or keys, that may be read."""
    found = {id(one): _parts_of(names, one) for one in containers if id(one) in names.used}
    return {one: attributes for one, attributes in found.items() if attributes is not None}


def _parts_of(names: Dead, container: Any) -> frozenset[str] | None:
    """None: any of them, or the object itself."""
    is_dictionary = type(container) is dict
    if not (is_dictionary or is_of_the_program(type(container))) or not has_plain_keys(container):
        return None
    if is_dictionary:
        return items_read(names.used[id(container)].uses)
    if names.assigned is None:
        return None
    return attributes_read(type(container), names.used[id(container)].uses, names.assigned, whose.is_own_file)
