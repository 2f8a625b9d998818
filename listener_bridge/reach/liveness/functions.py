"""Functions of the main module that can be called by their names alone.

    def top(n):
        return frame.orderBy("k").take(n)     # reads `frame`, whenever anything calls it

    print(top(10))                            # nothing names `top` behind this line, so nothing reads `frame`

Responsible for: which functions those are now.
Refuses to know: which names are still read, and what a function's code names.
Invariant: a function that could be called in any other way is none of them. Every reference to it and to its code is
known (its names, the code in which it stands), nobody has a weak reference to it, and no function exists that code
within it has made.

The caller has read before where frames stand and what names held then. If such a function has become callable in
another way since, also by a new name, that shows as one more reference.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any, TypeAlias

from listener_bridge.reach.liveness.namespaces import values_in

Counts: TypeAlias = Callable[[list[Any]], list[int] | None]
"""Gives the references of each object, as `standing.counts`; None: names hold something else by now."""

#: Functions of the main module that libraries call by their names (`unittest`, TensorFlow's `app.run()`).
#: Python itself calls what begins with two underscores (`__getattr__`, since 3.14 `__annotate__`).
_CALLED_BY_OTHERS = frozenset({"load_tests", "main", "setUpModule", "tearDownModule"})

_OURS = 1  #: Our own references to each object, without the one that `counts` deducts.
_TO_CODE = 2  #: Of a function's code: the function, and the code that it stands in.
_TO_NESTED = 1  #: Of code within that: what it stands in.


def called_by_name(
    namespace: Mapping[str, Any], module: CodeType, held: Iterable[tuple[str, int]], counts: Counts
) -> dict[int, frozenset[str]]:
    """The id of each function's code -> the global names of the function. `module`: what the functions stand in.

    `held`: the global names, with the id of what each held, as they were read; `counts` is to say nothing where they
    hold something else by then.
    """
    names = _named_functions(namespace, held)
    groups = [[one, one.__code__, *_nested(one.__code__)] for one in _standing_in(module, namespace, names)]
    counted = counts([one for group in groups for one in group])
    left = iter(counted or ())
    found: dict[int, frozenset[str]] = {}
    for group in groups if counted is not None else ():
        known = names[id(group[0])]
        to_function, to_code, *to_nested = (next(left) - _OURS for _ in group)
        is_known = (to_function, to_code, {_TO_NESTED, *to_nested}) == (len(known), _TO_CODE, {_TO_NESTED})
        if is_known and not weakref.getweakrefcount(group[0]):
            found[id(group[1])] = known
    return found


def _named_functions(namespace: Mapping[str, Any], held: Iterable[tuple[str, int]]) -> dict[int, frozenset[str]]:
    functions = {id(one) for one in _functions(namespace) if one.__globals__ is namespace}
    names: dict[int, set[str]] = {}
    for name, target in held:
        if target in functions:
            names.setdefault(target, set()).add(name)
    return {which: frozenset(known) for which, known in names.items() if not any(map(_is_for_others, known))}


def _functions(namespace: Mapping[str, Any]) -> list[FunctionType]:
    return values_in(namespace, lambda kind: kind is FunctionType)


def _is_for_others(name: str) -> bool:
    return name in _CALLED_BY_OTHERS or name.startswith("__")


def _standing_in(module: CodeType, namespace: Mapping[str, Any], names: Container[int]) -> Iterator[FunctionType]:
    """Each once, whatever it is called."""
    waiting = {id(code) for code in _codes_in(module)}
    for value in _functions(namespace):
        if id(value) in names and id(value.__code__) in waiting:
            waiting.discard(id(value.__code__))
            yield value


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    return (constant for constant in code.co_consts if type(constant) is CodeType)


def _nested(code: CodeType) -> Iterator[CodeType]:
    for inner in _codes_in(code):
        yield inner
        yield from _nested(inner)
