"""The suite notices: each planted bug is caught by the test that names it."""

from __future__ import annotations

import pytest

from tests.planted.bug import BUGS
from tests.planted.planting import ask


@pytest.mark.parametrize("name", BUGS)
def test_each_planted_bug_is_caught_by_the_test_that_names_it(name: str) -> None:
    verdict = ask((BUGS[name].caught_by,), name)
    assert verdict.caught, f"{BUGS[name].caught_by} does not notice that {BUGS[name].imitates}:\n{verdict.told}"


def test_without_a_bug_those_tests_pass() -> None:
    tests = sorted({bug.caught_by for bug in BUGS.values() if "[" not in bug.caught_by})
    verdict = ask(tests)
    assert verdict.passed, verdict.told


def test_at_least_25_bugs_are_planted() -> None:
    assert len(BUGS) >= 25


def test_a_bug_that_does_nothing_is_not_said_to_be_caught() -> None:
    assert not ask((next(iter(BUGS.values())).caught_by,)).caught
