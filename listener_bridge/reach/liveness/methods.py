"""Which attributes of an object may be read, if names use it only by some of its attributes.

    job.clean()             # of `job` what `Job.clean` reads of its `self`, and what the methods do that it calls

Responsible for: following uses through the methods and properties of the object's class.
Refuses to know: objects, and who uses them.
Invariant: no code of the class runs. If the dictionaries of its classes do not show what an attribute means, or if that
could change, every attribute may be read.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import FunctionType, MemberDescriptorType
from typing import Any

from listener_bridge.reach.liveness.assigning import SELF, Assigned
from listener_bridge.reach.liveness.codes import Analysis, analysis_of
from listener_bridge.reach.liveness.using import OF_BUILTINS, How, Use

_CLASS_DICTIONARY: Any = type.__dict__["__dict__"]
_MISSING = object()
_CLASS = object.__dict__["__class__"]
_ON_READING = ("__getattribute__", "__getattr__")
_ON_SETTING = ("__setattr__", "__delattr__")
#: A class that is assigned one of these may give all its attributes another meaning.
_OF_CLASSES = frozenset({
    *_ON_READING, *_ON_SETTING, "__bases__", "__code__", "__del__", "__delete__", "__get__", "__set__", "cell_contents",
})  # fmt: skip
_NOT_OF_THE_OBJECT = (staticmethod, classmethod)  #: The function within is not called with the object.
DECORATORS_MAX = 16
"""How many wrappers of one method are followed: wrappers may lead to one another in a ring."""
_DICTIONARY = "__dict__"
_ITS_FUNCTION = "func"  #: An attribute of a `cached_property`, as any other.


def attributes_read(
    kind: type, uses: Iterable[Use], assigned: Assigned, is_own: Callable[[str], bool]
) -> frozenset[str] | None:
    """The names of these attributes; None: any. `assigned`: what code of the program assigns to objects or classes.

    `is_own`: whether a file's code is the program's.
    """
    if assigned.any or _has_any(kind, _ON_READING) or not _OF_CLASSES.isdisjoint(assigned.names):
        return None
    if _calls_itself_an_object(kind):
        return None
    found, todo = set[Use](), list(uses)
    while todo:
        use = todo.pop()
        if use in found:
            continue
        found.add(use)
        further = _further_uses(kind, use, assigned, is_own)
        if further is None:
            return None
        todo += further
    return frozenset(use.part for use in found if use.how not in (How.SET, How.SUPER, How.CLASS))


def _further_uses(kind: type, use: Use, assigned: Assigned, is_own: Callable[[str], bool]) -> tuple[Use, ...] | None:
    """The uses that follow from a use: those in the code of a method or property that it runs. None: any use may."""
    if OF_BUILTINS.get(use.how) in assigned.rebound:
        return None
    if use.how is How.CLASS:
        return ()
    if use.how in (How.READ_ITEM, How.SET_ITEM):  # what that does, the class says
        return None
    reading = _inherited if use.how is How.SUPER else _read
    read = () if use.how is How.SET else reading(kind, use, assigned, is_own)
    written = _set(kind, use.part, assigned) if use.how in (How.SET, How.UPDATE) else ()
    return None if read is None or written is None else (*read, *written)


def _set(kind: type, attribute: str, assigned: Assigned) -> Iterable[Use] | None:
    of_class = type(_looked_up(kind, attribute))
    if attribute in assigned.others:  # the class may be given a descriptor of that name
        return None
    return None if _has_any(kind, _ON_SETTING) or _has_any(of_class, ("__set__", "__delete__")) else ()


def _read(kind: type, use: Use, assigned: Assigned, is_own: Callable[[str], bool]) -> Iterable[Use] | None:
    """What else of the object is used by reading it: what a method or property reads of `self`. None: any."""
    of_class: Any = _looked_up(kind, use.part)
    if use.part in assigned.others or (of_class is _MISSING and use.how is How.CALL):
        return None  # the class may be given a method, or a property, of that name
    if of_class is _CLASS or not _has_any(type(of_class), ("__get__",)):
        return ()
    if use.part in assigned.names:  # so may it here, in the place of this one
        return None
    if type(of_class) in _NOT_OF_THE_OBJECT or _is_slot(of_class):
        return ()
    function = of_class if use.how is How.CALL else None  # a method that is not called then and there has the object
    if type(of_class) is property:
        function = of_class.fget
    elif type(of_class) is functools.cached_property and _ITS_FUNCTION not in assigned.others:
        function = of_class.func
    return _of_method(function, assigned, is_own)


def _is_slot(of_class: Any) -> bool:
    """Whether the attribute is a slot: what it holds counts as alive. `SimpleNamespace` has its dictionary in none."""
    return type(of_class) is MemberDescriptorType and of_class.__name__ != _DICTIONARY


def _inherited(kind: type, use: Use, assigned: Assigned, is_own: Callable[[str], bool]) -> Iterable[Use] | None:
    """Of `super().run()`: what any method of that name uses, of all classes of the object."""
    if use.part in assigned.names | assigned.others:
        return None
    owners = (_CLASS_DICTIONARY.__get__(owner) for owner in kind.__mro__)
    each = [_of_method(own[use.part], assigned, is_own) for own in owners if use.part in own]
    known = [uses for uses in each if uses is not None]
    return [use for uses in known for use in uses] if len(known) == len(each) else None


def _of_method(function: object, assigned: Assigned, is_own: Callable[[str], bool]) -> Iterable[Use] | None:
    for _ in range(DECORATORS_MAX):
        if type(function) is FunctionType and not function.__code__.co_argcount:
            function = _decorated(function, assigned) if is_own(function.__code__.co_filename) else None
    return _of_first_argument(function) if type(function) is FunctionType else None


def _decorated(wrapper: FunctionType, assigned: Assigned) -> object:
    """The function that a wrapper calls with all its arguments, if it does nothing else with them; None in doubt."""
    analysis = analysis_of(wrapper.__code__)
    handed = analysis.handed_to
    if handed is None or handed.function in assigned.rebound or _is_odd(analysis):
        return None
    if handed.arguments in analysis.otherwise:
        return None
    cells = dict(zip(wrapper.__code__.co_freevars, wrapper.__closure__ or (), strict=False))
    try:
        found: object = cells[handed.function].cell_contents
    except ValueError:  # it is empty
        return None
    return found


def _of_first_argument(function: FunctionType) -> Iterable[Use] | None:
    code = function.__code__
    analysis = analysis_of(code)
    first = code.co_varnames[0] if code.co_argcount else ""
    if not first or first in analysis.otherwise or _is_odd(analysis):
        return None
    if any(name in function.__globals__ for name in analysis.builtins):
        return None
    if analysis.lives is None or first not in (analysis.lives.read_later(0) or ()):
        return ()
    return analysis.lives.used_later(0).get(first)


def _is_odd(analysis: Analysis) -> bool:
    """Whether variables may be read otherwise than its flow says."""
    return analysis.is_open or analysis.bypasses.inspects or analysis.lives is None


def _looked_up(kind: type, attribute: str) -> object:
    """The attribute as the class's dictionaries have it. Not by `getattr`, which may run code."""
    owners = (_CLASS_DICTIONARY.__get__(owner) for owner in kind.__mro__)
    return next((own[attribute] for own in owners if attribute in own), _MISSING)


def _calls_itself_an_object(kind: type) -> bool:
    """Whether a class method calls the class `self`: what it gives that is given to the class (`assigning`)."""
    owners = (_CLASS_DICTIONARY.__get__(owner) for owner in kind.__mro__ if owner is not object)
    methods = (value.__func__ for own in owners for value in list(own.values()) if type(value) is classmethod)
    return any(type(one) is not FunctionType or SELF in one.__code__.co_varnames[:1] for one in methods)


def _has_any(kind: type, names: Iterable[str]) -> bool:
    owners = [_CLASS_DICTIONARY.__get__(owner) for owner in kind.__mro__ if owner is not object]
    return any(name in own for own in owners for name in names)
