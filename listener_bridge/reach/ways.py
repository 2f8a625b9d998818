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
from typing import Any

from listener_bridge.reach.containers import called, followed, length
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
        room -= length(here) + 1
        following = followed(here, handles)
        for one in following:
            holders.setdefault(id(one), []).append(id(here))
        todo += following
    return [found[place] for place in _reaching(holders, [one for one in handles if one in holders])]


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


def names_of(
    containers: Iterable[Any], handles: Collection[int], names: Mapping[int, tuple[Name, ...]]
) -> dict[int, tuple[Name, ...]]:
    """What handles of these ids are called that lie in containers: `job.events`, from the outermost frame's name.

    The shortest way, and of several always the same one: what is called otherwise at the next look is told again.
    """
    known = {id(one): one for one in containers}
    named = sorted((names[place][-1].name, place) for place in known if place in names)
    found = {place: names[place][-1:] for _, place in named}
    todo = deque(found)
    while todo:
        here = todo.popleft()
        (name,) = found[here]
        for label, one in called(known[here]):
            is_wanted = (one in known or one in handles) and one not in found
            if is_wanted and len(name.name) + len(label) <= CALLED_MAX:
                found[one] = (Name(name.name + label, name.file, name.line, name.function),)
                todo += [one] if one in known else []
    return found
