"""Objects of which the program uses only some attributes, or only some keys.

    job.clean()         # `clean` reads `self.events`, so nothing reads `job.raw` any more
    state["events"]     # nor `state["raw"]`, where nothing else is done with `state`

Responsible for: which attributes of an object, or keys of a dictionary, the live names may still read, where they do
nothing else with it.
Refuses to know: where names are read (`liveness`), and who else refers to the object (`counting`).
Invariant: only objects whose classes are all the program's own are told of, and dictionaries of exactly the class
`dict`. Any other object, and any in doubt, counts as used whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from listener_bridge.reach import whose
from listener_bridge.reach.containers import has_plain_keys, is_of_the_program
from listener_bridge.reach.liveness import Dead, attributes_read, items_read


def parts(names: Dead, containers: Iterable[Any]) -> dict[int, frozenset[str]]:
    """Of those of these containers that are used only in parts: id -> the attributes or keys that may be read."""
    found = {id(one): _parts_of(names, one) for one in containers if id(one) in names.used}
    return {one: attributes for one, attributes in found.items() if attributes is not None}


def _parts_of(names: Dead, container: Any) -> frozenset[str] | None:
    """The attributes or keys that may be read. None: any of them, or the object as a whole."""
    is_dictionary = type(container) is dict
    if not (is_dictionary or is_of_the_program(type(container))) or not has_plain_keys(container):
        return None
    if is_dictionary:
        return items_read(names.used[id(container)].uses)
    if names.assigned is None:
        return None
    return attributes_read(type(container), names.used[id(container)].uses, names.assigned, whose.is_own_file)
