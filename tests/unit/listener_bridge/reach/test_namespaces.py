"""What a module's names hold, with nothing in hand that is not asked for."""

from __future__ import annotations

import weakref
from types import FunctionType

from listener_bridge.reach.liveness.namespaces import ids_in, values_in
from tests.support.liveness import Thing


def function() -> None:
    """Something that a name holds."""


def test_what_is_not_asked_for_dies_when_its_name_does() -> None:
    """A file is written when its name is bound anew, and not when a look is over."""
    names = {"one": Thing("one"), "function": function, "two": Thing("two"), "again": function}
    known = weakref.ref(names["one"])
    gone: list[bool] = []

    def wanted(kind: type) -> bool:
        names["one"] = None
        gone.append(known() is None)
        return kind is FunctionType

    assert values_in(names, wanted) == [function, function]
    assert gone == [True, True]


def test_ids_are_told_with_their_names() -> None:
    names = {"one": Thing("one"), "two": 2}
    assert ids_in(names) == [("one", id(names["one"])), ("two", id(names["two"]))]
    assert values_in(names, lambda kind: kind is Thing) == [names["one"]]
    assert values_in({}, lambda kind: True) == ids_in({}) == []
