"""What holds handles in the place of a name: lists, tuples, dictionaries, sets, and objects with attributes.

Responsible for: which objects are looked into, what each has inside, and what people call that of it.
Refuses to know: who holds them, and where they lead (`ways`).
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
from itertools import chain, compress
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

from listener_bridge.reach import whose

_PLAIN_KEYS = frozenset({bool, bytes, float, int, str, type(None)})
KEY_MAX = 32
"""Of characters, of a text by which a dictionary's value is called; of bits, of a number."""


class _Access(NamedTuple):
    """How objects of a class hold others.

    `each`: what they hold, not begun: gone through in one step (`[*map(id, …)]`), in which no other thread runs and
    nothing changes, and without having in hand what is not asked for. `called`: what people call it, with its id.
    """

    length: Callable[[Any], int]
    each: Callable[[Any], Iterable[Any]]
    called: Callable[[Any], Iterable[tuple[str, int]]]


def _one_by_one(kind: Any) -> _Access:
    """What has no order, or slides through its places, is not called by a place."""
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
    """A key of another class than Python's own would be asked for its text; a long one is no name, but data."""
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
    attributes = _attributes(kind)
    if attributes is not None:
        yield attributes


def _attributes(kind: type) -> _Access | None:
    """An object's attributes are one reference: to the dictionary that they are in."""
    found = _descriptor(kind)
    if type(found) not in _DESCRIPTORS:
        return None

    def called(one: Any) -> Iterator[tuple[str, int]]:
        return _entries(found.__get__(one), lambda key: f".{key}" if _is_name(key) else ".…")

    return _Access(lambda _: 1, lambda one: (found.__get__(one),), called)


def _descriptor(kind: type) -> Any:
    """Of the dictionary that an object's attributes are in."""
    return next((owner.__dict__["__dict__"] for owner in kind.__mro__ if "__dict__" in owner.__dict__), None)


def _is_name(key: Any) -> bool:
    """Attributes may be put into the dictionary under any key."""
    return type(key) is str and key.isidentifier()


_OF_PYTHONS: Mapping[type, tuple[_Access, ...]] = {kind: tuple(_found_in(kind)) for kind in _PYTHONS}


def _is_plain(kind: type) -> bool:
    """No finaliser, which could come back to what the object holds; nobody's class but the program's and PySpark's."""
    owners = [owner for owner in kind.__mro__ if owner not in _BASES]
    return all(_is_looked_into(owner) and "__del__" not in owner.__dict__ for owner in owners)


def is_of_the_program(kind: type) -> bool:
    """Whether a class of what is looked into is made of the program's classes alone."""
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
    """The ids of what it refers to, one entry a reference; its attributes as the one dictionary that they are in.

    Nothing where it cannot be read: what it holds then has a reference that is not explained.
    """
    try:
        return [which for access in _accesses(type(container)) for which in [*map(id, access.each(container))]]
    except Exception:  # noqa: BLE001 - a class may call anything `__dict__`, and looks go on
        return []


def followed(container: Any, handles: Collection[int]) -> list[Any]:
    """The containers that it holds, and the handles among these ids. Nothing where it cannot be read."""
    try:
        return [one for access in _accesses(type(container)) for one in _followed(access, container, handles)]
    except Exception:  # noqa: BLE001 - as in `inside`
        return []


def _followed(access: _Access, container: Any, handles: Collection[int]) -> Iterable[Any]:
    """Each class is asked for once: most of what lies in a list is of one."""
    kinds, ids = [*map(type, access.each(container))], [*map(id, access.each(container))]
    looked_into = {place for place, kind in {id(kind): kind for kind in kinds}.items() if is_container(kind)}
    wanted = [id(kind) in looked_into or which in handles for kind, which in zip(kinds, ids, strict=False)]
    return [*compress(access.each(container), wanted)]


def called(container: Any) -> list[tuple[str, int]]:
    """What is put behind its own name for what it holds, with the id of that: `.events`, `[0]`, `['k']`."""
    try:
        return [each for access in _accesses(type(container)) for each in access.called(container)]
    except Exception:  # noqa: BLE001 - as in `inside`
        return []


def has_plain_keys(container: Any) -> bool:
    """Whether no key of a dictionary, or of an object's attributes, has code that compares it, or holds anything.

    Not so of what has neither: a named tuple's fields are in their places, and called by its class.
    """
    held = _dictionary(container)
    return held is not None and all(kind in _PLAIN_KEYS for kind in {*map(type, [*dict.keys(held)])})


def _dictionary(container: Any) -> Any:
    """None where it has none that can be read."""
    if type(container) is dict:
        return container
    found = _descriptor(type(container))
    try:
        held = found.__get__(container) if type(found) in _DESCRIPTORS else None
    except Exception:  # noqa: BLE001 - as in `inside`
        return None
    return held if type(held) is dict else None


def under(container: Any, names: Collection[str]) -> list[int]:
    """The ids of what it has as attributes of these names, or a dictionary under these keys.

    What is under a key that is no text is among them.
    """
    held = _entries(_dictionary(container) or {}, lambda key: key if type(key) is str else "")
    return [which for key, which in held if not key or key in names]


def length(container: Any) -> int:
    """How much `inside` would give, at the most."""
    return sum(access.length(container) for access in _accesses(type(container)))
