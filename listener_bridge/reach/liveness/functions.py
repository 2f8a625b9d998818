"""Functions of the main module that can be called by their names alone.

    def top(n):
        return frame.orderBy("k").take(n)     # reads `frame`, whenever anything calls it

    print(top(10))                            # nothing names `top` behind this line, so nothing reads `frame`

Responsible for: which functions those are now.
Refuses to know: which names are still read, and what a function's code names.
Invariant: what anything else could call is none of them. Of the function and of its code every reference is known (its
names, the code that it stands in), nobody knows it weakly, and no code within it has made a function that is there.

Whoever asks has read before where frames stand, and what names held then: what has become callable otherwise since then
shows in a reference. A name that was bound since is such another way: who stood before its binding read it no more.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any, TypeAlias

from listener_bridge.reach.liveness.namespaces import values_in

Counts: TypeAlias = Callable[[list[Any]], list[int] | None]
"""References of each object, as `standing` tells them; None: names hold something else."""

#: Libraries call these of the main module by their names, where it has them (`unittest`, TensorFlow's `app.run()`).
#: Python itself calls what begins with two underscores (`__getattr__`, since 3.14 `__annotate__`).
_CALLED_BY_OTHERS = frozenset({"load_tests", "main", "setUpModule", "tearDownModule"})

_OURS = 1  #: References to what is looked at here, but for the one that `counts` knows of.
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
