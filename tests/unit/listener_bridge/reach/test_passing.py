"""Comprehensions that CPython 3.11 runs where they stand, and generator expressions that a builtin runs."""

from __future__ import annotations

import dis
import sys
from types import CodeType

import pytest

from listener_bridge.reach.liveness import codes
from listener_bridge.reach.liveness.opcodes import KNOWN
from listener_bridge.reach.liveness.passing import READS_CELLS, passing

if sys.version_info[:2] not in KNOWN:
    pytest.skip("this Python's bytecode is not read", allow_module_level=True)

SINCE_3_12 = sys.version_info >= (3, 12)
of_3_11 = pytest.mark.skipif(SINCE_3_12, reason="a comprehension is part of the code that it stands in")


def found(text: str, name: str = "<module>") -> list[tuple[str, str, int | None]]:
    """What runs within which instruction, by which builtin, and how much that is called with."""
    module = compile(text, "program", "exec", dont_inherit=True)
    code = next(one for one in (module, *module.co_consts) if isinstance(one, CodeType) and one.co_name == name)
    instructions = list(dis.get_instructions(code))
    assert all(instructions[place].opname == "CALL" for place in passing(instructions))
    told = passing(instructions).items()
    return [(each.code.co_name, each.run_by, instructions[place].arg) for place, each in told]


@of_3_11
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("x = [a for k in range(2)]", "<listcomp>"),
        ("x = {a for k in f(b, c=d)[1:2].e}", "<setcomp>"),
        ("x = {k: a for k in [b for b in c]}", "<dictcomp>"),
        ("x = f(1, [a for k in b], 2)", "<listcomp>"),
    ],
)
def test_a_comprehension_runs_within_the_call_with_its_iterable(text: str, name: str) -> None:
    assert (name, "", 0) in found(text)
    assert len(found(text)) == text.count(" for ")


@of_3_11
def test_one_with_a_closure_does_too() -> None:
    assert found("def f(a):\n    return [a for k in a.parts()]", "f") == [("<listcomp>", "", 0)]


@of_3_11
def test_one_that_the_compiler_has_written_twice_runs_at_both_places() -> None:
    assert found("try:\n    f()\nfinally:\n    [a for k in b]") == [("<listcomp>", "", 0)] * 2


@pytest.mark.parametrize("text", ["x = sum(a for k in b)", "f(list(a for k in b), c)", "max(a for k in f(b)[0])"])
def test_a_generator_expression_runs_within_the_builtin_that_it_is_handed_to(text: str) -> None:
    assert found(text) == [("<genexpr>", text[: text.index("(a ")].split()[-1].split("(")[-1], 1)]


def test_one_with_a_closure_does_so_where_cells_are_read() -> None:
    told = found("def f(a, b):\n    return max(a + b for k in range(3))", "f")
    assert told == ([] if SINCE_3_12 else [("<genexpr>", "max", 1)])


def test_a_module_of_many_constants_hides_nothing() -> None:
    """Which are loaded with a prefix."""
    many = "; ".join(f"x = {number}" for number in range(300, 900))
    assert found(f"{many}\nx = sum(a for k in b)") == [("<genexpr>", "sum", 1)]
    within = f"def f(a):\n    {many}\n    return keep(a for k in range(3))"
    assert found(within, "f") == []


def test_a_cell_that_nobody_has_a_part_in_is_read_only_where_cells_are() -> None:
    """The compiler makes one for what it leaves out afterwards."""
    module = compile("def f(x):\n    if 0:\n        g = lambda: x\n    return x", "program", "exec", dont_inherit=True)
    code = next(one for one in module.co_consts if isinstance(one, CodeType))
    assert code.co_cellvars == ("x",)
    assert ("x" in codes.analysis_of(code).variables) is READS_CELLS


@pytest.mark.parametrize(
    "text",
    [
        "x = (a for k in b)",
        "x = lambda: a",
        "def f(): return a",
        "x = iter(a for k in b)",
        "x = f.sum(a for k in b)",
        "x = sum((a for k in b), c)",
        "x = f(sum, (a for k in b))",
        "x = sum((a for k in b).send)",
        "x = sum(a for k in (b if c else d))",
        "x = list(map(f, (a for k in b)))",
    ],
)
def test_what_may_run_later_or_elsewhere_and_what_jumps_on_its_way_are_none(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize("text", ["[await k for k in a]", "sum(k async for k in a)", "[k async for k in a]"])
def test_what_waits_is_none(text: str) -> None:
    assert found(f"async def f(a):\n    return {text}", "f") == []


@of_3_11
def test_code_that_is_kept_under_such_a_name_is_none() -> None:
    """A hand-made one, that a function is made of and kept."""
    module = compile("x = lambda k: a\ny = [a for k in b]", "program", "exec", dont_inherit=True)
    kept = tuple(
        one.replace(co_name="<listcomp>") if isinstance(one, CodeType) and one.co_name == "<lambda>" else one
        for one in module.co_consts
    )
    instructions = list(dis.get_instructions(module.replace(co_consts=kept)))
    assert len(passing(instructions)) == 1
