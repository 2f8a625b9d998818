"""Comprehensions that are functions of their own, which CPython 3.11 runs where they stand."""

from __future__ import annotations

import dis
import sys
from types import CodeType

import pytest

from listener_bridge.reach.liveness.comprehensions import called_at

pytestmark = pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="later a comprehension is part of the code that it stands in"
)


def found(text: str, name: str = "<module>") -> list[tuple[str, str]]:
    """What runs within which instruction."""
    module = compile(text, "program", "exec", dont_inherit=True)
    code = next(one for one in (module, *module.co_consts) if isinstance(one, CodeType) and one.co_name == name)
    instructions = list(dis.get_instructions(code))
    return [(code.co_name, instructions[place].opname) for place, code in called_at(instructions).items()]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("x = [a for k in range(2)]", "<listcomp>"),
        ("x = {a for k in f(b, c=d)[1:2].e}", "<setcomp>"),
        ("x = {k: a for k in [b for b in c]}", "<dictcomp>"),
        ("x = f(1, [a for k in b], 2)", "<listcomp>"),
    ],
)
def test_it_runs_within_the_call_with_its_iterable(text: str, name: str) -> None:
    assert (name, "CALL") in found(text)
    assert len(found(text)) == text.count(" for ")


def test_one_with_a_closure_does_too() -> None:
    assert found("def f(a):\n    return [a for k in a.parts()]", "f") == [("<listcomp>", "CALL")]


def test_one_that_the_compiler_has_written_twice_runs_at_both_places() -> None:
    assert found("try:\n    f()\nfinally:\n    [a for k in b]") == [("<listcomp>", "CALL")] * 2


@pytest.mark.parametrize(
    "text",
    [
        "x = (a for k in b)",
        "x = lambda: a",
        "x = [a for k in (b if c else d)]",
        "def f(): return a",
    ],
)
def test_what_may_run_later_and_what_jumps_on_its_way_are_none(text: str) -> None:
    assert found(text) == []


def test_one_that_waits_is_none() -> None:
    assert found("async def f(a):\n    return [await k for k in a]", "f") == []


def test_code_that_is_kept_under_such_a_name_is_none() -> None:
    """A hand-made one, that a function is made of and kept."""
    module = compile("x = lambda k: a\ny = [a for k in b]", "program", "exec", dont_inherit=True)
    kept = tuple(
        one.replace(co_name="<listcomp>") if isinstance(one, CodeType) and one.co_name == "<lambda>" else one
        for one in module.co_consts
    )
    instructions = list(dis.get_instructions(module.replace(co_consts=kept)))
    assert len(called_at(instructions)) == 1
