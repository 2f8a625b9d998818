"""Reading one variable of anybody's frame: right, or not at all, and without a trace.

No function whose frame is read asserts anything: pytest rewrites assertions, and puts `locals` among their names.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any

import pytest

from listener_bridge.reach.liveness.values import kind_of

TELLS = pytest.mark.skipif(sys.version_info[:2] not in ((3, 11), (3, 12), (3, 13)), reason="this Python does not tell")


class Estimator:
    def fit(self, name: str) -> type | None:
        later: type | None
        found = kind_of(sys._getframe(), name)
        later = found
        return later

    @classmethod
    def read(cls) -> type | None:
        return kind_of(sys._getframe(), "cls")

    def captured(self) -> tuple[type | None, object]:
        return kind_of(sys._getframe(), "self"), (lambda: self)()

    def with_locals(self) -> dict[str, Any]:
        mine = locals()
        later = kind_of(sys._getframe(), "self")
        return mine if later in (None, type(self)) else {}


class Als(Estimator):
    pass


@TELLS
def test_the_class_of_what_a_variable_holds() -> None:
    assert Als().fit("self") is Als
    assert Als().fit("name") is str
    assert Als.read() is Als


def test_what_is_not_bound_or_is_a_cell_is_not_told() -> None:
    assert Als().fit("later") is None
    assert Als().captured()[0] is None


def let_go() -> object:
    thing = Als()
    known = weakref.ref(thing)
    kind_of(sys._getframe(), "known")
    del thing
    return known()


def test_nothing_lives_longer_for_it() -> None:
    assert let_go() is None


def test_a_dictionary_that_the_frame_keeps_stays_as_it_is() -> None:
    assert set(Als().with_locals()) == {"self"}


def beside_a_hidden_cell(known: str, others: list[str]) -> list[type | None]:
    hooks = []
    for other in others:
        hooks.append(lambda: other)  # noqa: B023, PERF401 - so `other` is a cell, which the comprehension below hides
    return [kind_of(sys._getframe(), known) for other in others]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="a comprehension has a frame of its own")
@TELLS
def test_a_variable_beside_a_cell_that_a_comprehension_hides_is_read() -> None:
    """CPython 3.13.0 ends the process when the hidden one is read, as it is where all of them are (gh-128396)."""
    assert beside_a_hidden_cell("known", ["a", "b"]) == [str, str]
