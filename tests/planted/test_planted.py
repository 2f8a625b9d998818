"""The suite notices: each planted bug is caught by the test that names it."""

from __future__ import annotations

import inspect
from typing import Any, cast

import pytest

from tests.planted.bug import BUGS, Patch
from tests.planted.planting import ask


@pytest.mark.parametrize("name", BUGS)
def test_each_planted_bug_is_caught_by_the_test_that_names_it(name: str) -> None:
    verdict = ask((BUGS[name].caught_by,), name)
    assert verdict.caught, f"{BUGS[name].caught_by} does not notice that {BUGS[name].imitates}:\n{verdict.told}"


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_takes_what_the_code_in_its_place_takes(name: str) -> None:
    """Else it is a call that fails, which any test notices: nothing would be proved of the one that names it."""
    BUGS[name].plant(cast("Patch", Checking()))


class Checking:
    """A `Patch` that plants nothing: it compares what is to be planted with what is there."""

    def setattr(self, target: Any, name: Any, value: Any = None, raising: bool = True) -> None:
        check_takes_as_many(inspect.getattr_static(target, name), value)

    def setitem(self, dic: Any, name: Any, value: Any) -> None:
        if name in dic:
            check_takes_as_many(dic[name], value)


def check_takes_as_many(there: Any, planted: Any) -> None:
    there, planted = getattr(there, "__func__", there), getattr(planted, "__func__", planted)
    if inspect.isfunction(there):
        wanted, found = (list(inspect.signature(one).parameters.values()) for one in (there, planted))
        assert len(found) == len(wanted) or any(one.kind is one.VAR_POSITIONAL for one in found)


def test_without_a_bug_those_tests_pass() -> None:
    tests = sorted({bug.caught_by for bug in BUGS.values() if "[" not in bug.caught_by})
    verdict = ask(tests)
    assert verdict.passed, verdict.told


def test_at_least_25_bugs_are_planted() -> None:
    assert len(BUGS) >= 25


def test_a_bug_that_does_nothing_is_not_said_to_be_caught() -> None:
    assert not ask((next(iter(BUGS.values())).caught_by,)).caught
