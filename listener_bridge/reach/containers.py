"""Containers of handles: lists, tuples, dictionaries, sets, and objects with attributes.

Responsible for: which objects are looked into, what each holds, and the text by which people know a part of it.
Refuses to know: who holds them, and where they lead (`ways`).
Invariant: no code of the program runs. Only Python's own containers are looked into, and objects of plain classes of
the program or of PySpark whose attributes are in an ordinary dictionary. Whatever else holds a handle keeps it alive.
"""

from __future__ import annotations

import abc
import sys
import typing
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain, compress
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

from listener_bridge.reach import whose

_PLAIN_KEYS = frozenset({bool, bytes, float, int, str, type(None)})
KEY_MAX = 32
"""Of characters, of a text by which a dictionary's value is called; of bits, of a number."""


class _Access(NamedTuple):
    """How to read what an object of a class holds.

    `length`: how many references. `each`: an iterable over the objects, not begun yet. It is consumed in one step
    (`[*map(id, …)]`), in which no other thread runs, so that nothing changes and no reference is held longer.
    `called`: pairs of a label, as `.events` or `[0]`, and the id of the object.
    """

    length: Callable[[Any], int]
    each: Callable[[Any], Iterable[Any]]
    called: Callable[[Any], Iterable[tuple[str, int]]]


def _one_by_one(kind: Any) -> _Access:
    """How to read a container of elements. Only in lists and tuples elements are told by their places."""
    has_places = kind in (list, tuple)

    def each(one: Any) -> Iterable[Any]:
        return chain.from_iterable(map(kind.__iter__, (one,)))

    def called(one: Any) -> Iterator[tuple[str, int]]:
        return ((f"[{place}]" if has_places else "[…]", which) for place, which in enumerate([*map(id, each(one))]))

    return _Access(kind.__len__, each, called)


def _entries(one: dict[Any, Any], tell: Callable[[Any], str]) -> Iterator[tuple[str, int]]:
    return zip(map(tell, [*dict.keys(one)]), [*map(id, dict.values(one))], strict=False)


def _by_key(one: Any) -> Iterator[tuple[str, int]]:
    return _entries(one, lambda key: f"[{key!r}]" if _is_tellable(key) else "[…]")


def _is_tellable(key: Any) -> bool:
    """Only texts and whole numbers: `repr` of another key may run code. A long key is data, and no name."""
    if type(key) is str:
        return len(key) <= KEY_MAX
    return type(key) is int and key.bit_length() <= KEY_MAX


_ITERATED: tuple[Any, ...] = (list, tuple, set, frozenset, deque)
_ACCESS: Mapping[type, _Access] = {
    **{kind: _one_by_one(kind) for kind in _ITERATED},
    dict: _Access(dict.__len__, lambda one: chain(dict.keys(one), dict.values(one)), _by_key),
}
_PYTHONS: frozenset[type] = frozenset({*_ACCESS, defaultdict, OrderedDict, SimpleNamespace})
_BASES: frozenset[Any] = frozenset({*_PYTHONS, object, abc.ABC, typing.Generic, typing.Protocol})
_CLASSES_OF_CLASSES: tuple[type, ...] = (type, abc.ABCMeta, type(typing.Protocol))
_MADE_IN_PYTHON = 1 << 9  #: Of a class's flags: `Py_TPFLAGS_HEAPTYPE`, which few classes made in C have.
_known: weakref.WeakKeyDictionary[type, tuple[_Access, ...]] = weakref.WeakKeyDictionary()
_DESCRIPTORS = (GetSetDescriptorType, MemberDescriptorType)  #: Of attributes that are where they seem to be.


def is_container(kind: type) -> bool:
    """Whether objects of a class are looked into."""
    return bool(_accesses(kind))


def _accesses(kind: type) -> tuple[_Access, ...]:
    if type(kind) not in _CLASSES_OF_CLASSES:  # any other may answer with code of its own
        return ()
    if not kind.__flags__ & _MADE_IN_PYTHON:
        return _OF_PYTHONS.get(kind, ())
    found = _known.get(kind)
    if found is None:
        found = _known[kind] = tuple(_found_in(kind)) if _is_plain(kind) else ()
    return found


def _found_in(kind: type) -> Iterator[_Access]:
    yield from (_ACCESS[owner] for owner in kind.__mro__ if owner in _ACCESS)
    if _has_attributes(kind):
        yield _ATTRIBUTES


def _has_attributes(kind: type) -> bool:
    return type(_descriptor(kind)) in _DESCRIPTORS


def _attributes(one: Any) -> Any:
    """Its dictionary. The class is asked each time: who keeps the descriptor keeps the class, and what that holds."""
    return _descriptor(type(one)).__get__(one)


def _by_attribute(one: Any) -> Iterator[tuple[str, int]]:
    return _entries(_attributes(one), lambda key: f".{key}" if _is_name(key) else ".…")


def _descriptor(kind: type) -> Any:
    """The descriptor of `__dict__`, of the dictionary that holds an object's attributes."""
    return next((owner.__dict__["__dict__"] for owner in kind.__mro__ if "__dict__" in owner.__dict__), None)


def _is_name(key: Any) -> bool:
    """Attributes may be put into the dictionary under any key."""
    return type(key) is str and key.isidentifier()


#: They count as one reference: the object's, to their dictionary.
_ATTRIBUTES = _Access(lambda _: 1, lambda one: (_attributes(one),), _by_attribute)
_OF_PYTHONS: Mapping[type, tuple[_Access, ...]] = {kind: tuple(_found_in(kind)) for kind in _PYTHONS}


def _is_plain(kind: type) -> bool:
    """Whether all its classes are the program's or PySpark's, without a finaliser that could use what objects hold."""
    owners = [owner for owner in kind.__mro__ if owner not in _BASES]
    return all(_is_looked_into(owner) and "__del__" not in owner.__dict__ for owner in owners)


def is_of_the_program(kind: type) -> bool:
    """Whether all classes of a container, but Python's own, are the program's, and none PySpark's."""
    owners = [owner for owner in kind.__mro__ if owner not in _BASES]
    return bool(owners) and not any(str(owner.__dict__.get("__module__")).startswith("pyspark.") for owner in owners)


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


def inside(container: Any) -> list[int]:
    """The ids of the objects to which it refers, one for each reference; of its attributes, that of their dictionary.

    Empty where it cannot be read: the references to what it holds are then unexplained, which keeps that alive.
    """
    try:
        return [which for access in _accesses(type(container)) for which in [*map(id, access.each(container))]]
    except Exception:  # noqa: BLE001 - a class may call anything `__dict__`, and looks go on
        return []


def followed(container: Any, handles: Collection[int]) -> list[Any]:
    """The containers that it holds, and those of these handles (by ids) that it holds; empty if it cannot be read."""
    try:
        return [one for access in _accesses(type(container)) for one in _followed(access, container, handles)]
    except Exception:  # noqa: BLE001 - as in `inside`
        return []


def _followed(access: _Access, container: Any, handles: Collection[int]) -> Iterable[Any]:
    """Asks each class once: most elements of a list are of the same class."""
    kinds, ids = [*map(type, access.each(container))], [*map(id, access.each(container))]
    looked_into = {place for place, kind in {id(kind): kind for kind in kinds}.items() if is_container(kind)}
    wanted = [id(kind) in looked_into or which in handles for kind, which in zip(kinds, ids, strict=False)]
    return [*compress(access.each(container), wanted)]


def called(container: Any) -> list[tuple[str, int]]:
    """For each object that it holds, what people append to its own name (`.events`, `[0]`, `['k']`), and the id."""
    try:
        return [each for access in _accesses(type(container)) for each in access.called(container)]
    except Exception:  # noqa: BLE001 - as in `inside`
        return []


def has_plain_keys(container: Any) -> bool:
    """Whether all keys of a dictionary, or of an object's attributes, are of Python's own plain classes.

    Other keys may run code when they are compared, or hold something. False for what has neither keys nor attributes
    in a dictionary, as a named tuple.
    """
    held = _dictionary(container)
    return held is not None and all(kind in _PLAIN_KEYS for kind in {*map(type, [*dict.keys(held)])})


def _dictionary(container: Any) -> Any:
    """A dictionary itself, or an object's dictionary of attributes; None where there is none that can be read."""
    if type(container) is dict:
        return container
    found = _descriptor(type(container))
    try:
        held = found.__get__(container) if type(found) in _DESCRIPTORS else None
    except Exception:  # noqa: BLE001 - as in `inside`
        return None
    return held if type(held) is dict else None


def under(container: Any, names: Collection[str]) -> list[int]:
    """The ids of its attributes of these names, or of a dictionary's values under these keys.

    Values under keys that are no texts are always among them.
    """
    held = _entries(_dictionary(container) or {}, lambda key: key if type(key) is str else "")
    return [which for key, which in held if not key or key in names]


def length(container: Any) -> int:
    """How many ids `inside` gives at most."""
    return sum(access.length(container) for access in _accesses(type(container)))
