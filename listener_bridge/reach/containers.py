"""What holds handles in the place of a name: lists, tuples, dictionaries, sets, and objects with attributes.

    parts = [load(day) for day in days]         # nothing reads `parts` any more
    whole = functools.reduce(union, parts)      # once the union is made

Responsible for: which objects are looked into, and what each has inside; which of those that names hold, directly or
through others, lead to a handle; what people call that (`job.events`, `parts[0]`).
Refuses to know: which names are dead (`liveness`), what is concluded (`counting`).
Invariant: nothing of the program's runs. Looked into are Python's own containers, and objects of plain classes of the
program's or of PySpark's, whose attributes are an ordinary dictionary. Whatever else holds a handle keeps it.
"""

from __future__ import annotations

import abc
import sys
import typing
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

from listener_bridge.reach import whose
from listener_bridge.reach.liveness import Name

REFERENCES_MAX = 1_000
"""How many references are followed in a look, from names outwards. What holds more than are left is not looked into."""
CALLED_MAX = 80
"""Of characters, of what is called by the way to it."""
KEY_MAX = 32
"""Of characters, of a text by which a dictionary's value is called; of bits, of a number."""


class _Way(NamedTuple):
    """How objects of a class hold others. `contents`: in one step, since others change them meanwhile."""

    length: Callable[[Any], int]
    contents: Callable[[Any], list[Any]]
    labelled: Callable[[Any], Iterable[tuple[str, Any]]]


def _one_by_one(kind: Any) -> _Way:
    """Of what has no order nothing is called by its place."""
    has_order = not issubclass(kind, (set, frozenset))

    def contents(one: Any) -> list[Any]:
        """The iterator is made within the step, too: one that others change meanwhile raises an error."""
        return [*chain.from_iterable(map(kind.__iter__, (one,)))]

    def labelled(one: Any) -> Iterator[tuple[str, Any]]:
        return ((f"[{place}]" if has_order else "[…]", value) for place, value in enumerate(contents(one)))

    return _Way(kind.__len__, contents, labelled)


def _by_key(one: Any) -> Iterator[tuple[str, Any]]:
    return ((f"[{key!r}]" if _is_tellable(key) else "[…]", value) for key, value in [*dict.items(one)])


def _is_tellable(key: Any) -> bool:
    """A key of another class than Python's own would be asked for its text; a long one is no name, but data."""
    if type(key) is str:
        return len(key) <= KEY_MAX
    return type(key) is int and key.bit_length() <= KEY_MAX


_ITERATED: tuple[Any, ...] = (list, tuple, set, frozenset, deque)
_WAYS: Mapping[type, _Way] = {
    **{kind: _one_by_one(kind) for kind in _ITERATED},
    dict: _Way(dict.__len__, lambda one: [*dict.keys(one), *dict.values(one)], _by_key),
}
_PYTHONS: frozenset[type] = frozenset({*_WAYS, defaultdict, OrderedDict, SimpleNamespace})
_BASES: frozenset[Any] = frozenset({*_PYTHONS, object, abc.ABC, typing.Generic})
_MADE_IN_PYTHON = 1 << 9  #: Of a class's flags: `Py_TPFLAGS_HEAPTYPE`, which few classes made in C have.
_DESCRIPTORS = (GetSetDescriptorType, MemberDescriptorType)  #: Of attributes that are where they seem to be.


def is_container(kind: type) -> bool:
    """Whether objects of a class are looked into."""
    return bool(_ways(kind))


def _ways(kind: type) -> tuple[_Way, ...]:
    if type(kind) not in (type, abc.ABCMeta):  # any other may answer with code of its own
        return ()
    if not kind.__flags__ & _MADE_IN_PYTHON:
        return _WAYS_OF_PYTHONS.get(kind, ())
    found = _known.get(kind)
    if found is None:
        found = _known[kind] = tuple(_ways_of(kind)) if _is_plain(kind) else ()
    return found


def _ways_of(kind: type) -> Iterator[_Way]:
    yield from (_WAYS[owner] for owner in kind.__mro__ if owner in _WAYS)
    attributes = _attributes(kind)
    if attributes is not None:
        yield attributes


_known: weakref.WeakKeyDictionary[type, tuple[_Way, ...]] = weakref.WeakKeyDictionary()


def _attributes(kind: type) -> _Way | None:
    """An object's attributes are one reference: to the dictionary that they are in."""
    found: Any = next((owner.__dict__["__dict__"] for owner in kind.__mro__ if "__dict__" in owner.__dict__), None)
    if type(found) not in _DESCRIPTORS:
        return None

    def labelled(one: Any) -> Iterator[tuple[str, Any]]:
        return ((f".{key}" if _is_name(key) else ".…", value) for key, value in [*dict.items(found.__get__(one))])

    return _Way(lambda _: 1, lambda one: [found.__get__(one)], labelled)


def _is_name(key: Any) -> bool:
    """Attributes may be put into the dictionary under any key."""
    return type(key) is str and key.isidentifier()


_WAYS_OF_PYTHONS: Mapping[type, tuple[_Way, ...]] = {kind: tuple(_ways_of(kind)) for kind in _PYTHONS}


def _is_plain(kind: type) -> bool:
    """No finaliser, which could come back to what the object holds; nobody's class but the program's and PySpark's."""
    owners = [owner for owner in kind.__mro__ if owner not in _BASES]
    return all(_is_looked_into(owner) and "__del__" not in owner.__dict__ for owner in owners)


def _is_looked_into(owner: type) -> bool:
    name = owner.__dict__.get("__module__")
    if not isinstance(name, str):
        return False
    if name == "__main__" or name.startswith("pyspark."):
        return True
    module = sys.modules.get(name)
    is_module = issubclass(type(module), ModuleType)  # not by `isinstance`, which asks the object for its class
    file = object.__getattribute__(module, "__dict__").get("__file__") if is_module else None
    return isinstance(file, str) and whose.is_own_file(file)


def inside(container: Any) -> list[Any]:
    """What it refers to, one entry a reference; its attributes as the one dictionary that they are in.

    Nothing where it cannot be read: what it holds then has a reference that is not explained.
    """
    try:
        return [one for way in _ways(type(container)) for one in way.contents(container)]
    except Exception:  # noqa: BLE001 - a class may call anything `__dict__`, and looks go on
        return []


def leading(held: Iterable[Any], handles: Collection[int]) -> list[Any]:
    """Of these containers and those within them the ones that lead to a handle, each once. `handles`: their ids."""
    found: dict[int, Any] = {}
    holders: dict[int, list[int]] = {}
    room = REFERENCES_MAX
    todo = deque(sorted(held, key=_length))  # data are long, and what holds handles is short
    while todo and room > 0:
        here = todo.popleft()
        if id(here) in found or id(here) in handles or _length(here) > room:
            continue
        found[id(here)] = here
        held_here = inside(here)
        room -= len(held_here) + 1
        followed = _followed(held_here, handles)
        for one in followed:
            holders.setdefault(id(one), []).append(id(here))
        todo += followed
    return [found[place] for place in _reaching(holders, [one for one in handles if one in holders])]


def _length(container: Any) -> int:
    return sum(way.length(container) for way in _ways(type(container)))


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
        for label, one in _labelled(known[here]):
            if id(one) not in found and len(name.name) + len(label) <= CALLED_MAX:
                found[id(one)] = (replace(name, name=name.name + label),)
                todo += [id(one)] if id(one) in known else []
    return found


def _labelled(container: Any) -> list[tuple[str, Any]]:
    try:
        return [each for way in _ways(type(container)) for each in way.labelled(container)]
    except Exception:  # noqa: BLE001 - as in `inside`; and a dictionary may change its size, on Python 3.11
        return []
