"""The ways from the program's names to its handles, through containers.

    parts = [load(day) for day in days]         # nothing reads `parts` any more
    whole = functools.reduce(union, parts)      # once the union is made

Responsible for: which of the containers that names hold, directly or through others, lead to a handle; what people
call that: `job.events`, `parts[0]`.
Refuses to know: what is in a container (`containers`), which names are dead (`liveness`), what follows (`counting`).
Invariant: what is found proves nothing: a way that is missed keeps more, and one too many is counted like any other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from listener_bridge.reach.containers import inside, is_container, labelled, length
from listener_bridge.reach.liveness import Name

REFERENCES_MAX = 1_000
"""How many references are followed in a look, from names outwards. What holds more than are left is not looked into."""
CALLED_MAX = 80
"""Of characters, of what is called by the way to it."""


def leading(held: Iterable[Any], handles: Collection[int]) -> list[Any]:
    """Of these containers and those within them the ones that lead to a handle, each once. `handles`: their ids."""
    found: dict[int, Any] = {}
    holders: dict[int, list[int]] = {}
    room = REFERENCES_MAX
    todo = deque(sorted(held, key=length))  # data are long, and what holds handles is short
    while todo and room > 0:
        here = todo.popleft()
        if id(here) in found or id(here) in handles or length(here) > room:
            continue
        found[id(here)] = here
        held_here = inside(here)
        room -= len(held_here) + 1
        followed = _followed(held_here, handles)
        for one in followed:
            holders.setdefault(id(one), []).append(id(here))
        todo += followed
    return [found[place] for place in _reaching(holders, [one for one in handles if one in holders])]


def _followed(held: list[Any], handles: Collection[int]) -> list[Any]:
    """The handles and containers among these. Each class is asked for once: most of what lies in a list is of one."""
    kinds = {id(type(one)): type(one) for one in held}
    looked_into = {place for place, kind in kinds.items() if is_container(kind)}
    return [one for one in held if id(type(one)) in looked_into or id(one) in handles]


def _reaching(holders: Mapping[int, list[int]], targets: list[int]) -> set[int]:
    """Everything that holds one of these, directly or through others."""
    found: set[int] = set()
    todo = list(targets)
    while todo:
        for holder in holders.get(todo.pop(), ()):
            if holder not in found:
                found.add(holder)
                todo.append(holder)
    return found


def called(containers: Iterable[Any], names: Mapping[int, tuple[Name, ...]]) -> dict[int, tuple[Name, ...]]:
    """What is in containers that have a name, by id: `job.events`, the shortest way from the outermost frame's name.

    Of several such ways always the same one: what is called otherwise at the next look is told again.
    """
    known = {id(one): one for one in containers}
    named = sorted((names[place][-1].name, place) for place in known if place in names)
    found = {place: names[place][-1:] for _, place in named}
    todo = deque(found)
    while todo:
        here = todo.popleft()
        (name,) = found[here]
        for label, one in labelled(known[here]):
            if id(one) not in found and len(name.name) + len(label) <= CALLED_MAX:
                found[id(one)] = (replace(name, name=name.name + label),)
                todo += [id(one)] if id(one) in known else []
    return found
