"""What is said to be dead is never used again: random programs, run to their ends, on every Python that is read."""

from __future__ import annotations

import dis
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any

import pytest

from listener_bridge.reach import attributes
from listener_bridge.reach.counting import Census, Reading
from listener_bridge.reach.liveness import (
    borrowing,
    codes,
    dataflow,
    frames,
    functions,
    methods,
    opcodes,
    passing,
    standing,
    survey,
    using,
)
from listener_bridge.reach.liveness.assigning import Assigned
from listener_bridge.reach.liveness.passing import Passing
from listener_bridge.reach.liveness.words import Dead
from tests.support.liveness import LENDS, ROOT, VERSIONS, pythons

if sys.version_info[:2] not in opcodes.KNOWN:
    pytest.skip("this Python's bytecode is not read: nothing is ever dead", allow_module_level=True)

from tests.property import liveness_oracle
from tests.property.liveness_programs import program


def test_what_is_said_to_be_dead_is_never_used_again() -> None:
    found = liveness_oracle.judged(range(1000, 1015))
    assert found.violations == []
    assert found.moved == 0
    assert found.dead / (found.dead + found.alive) > (0.02 if LENDS else 0.1)  # arguments live where they may be lent
    assert found.ends["its end"] > 7


def test_what_passing_code_reads_is_not_dead_before_it_has_run() -> None:
    found = liveness_oracle.judged(range(3000, 3015), "comprehension")
    assert (found.violations, found.dead > 0) == ([], True)


def test_what_is_handed_on_is_not_dead_while_anybody_has_it() -> None:
    found = liveness_oracle.judged(range(4000, 4010), "handed")
    assert (found.violations, found.dead > 0) == ([], True)


@pytest.mark.parametrize("form", ["boxed", "boxed_in_objects"])
def test_what_lies_in_a_container_is_not_dead_while_anybody_has_that(form: str) -> None:
    found = liveness_oracle.judged(range(6000, 6008), form)
    assert (found.violations, found.dead_in_boxes > 0) == ([], True)


def test_what_functions_read_is_not_dead_while_anybody_can_call_them() -> None:
    found = liveness_oracle.judged(range(7000, 7010), "defined")
    assert (found.violations, found.dead > 0) == ([], True)


def test_what_an_attribute_holds_is_not_dead_while_anybody_can_read_that() -> None:
    found = liveness_oracle.judged(range(8000, 8008), "by_attributes")
    assert (found.violations, found.dead_in_boxes > 0) == ([], True)


def test_what_is_under_a_key_is_not_dead_while_anybody_can_read_that() -> None:
    found = liveness_oracle.judged(range(9000, 9010), "by_items")
    assert (found.violations, found.dead_in_boxes > 0) == ([], True)


FORMS = ("", "comprehension", "handed", "boxed", "boxed_in_objects", "defined", "by_attributes", "by_items")
LONG = {"boxed_in_objects": 40, "by_attributes": 25, "by_items": 40}  #: So many of these, which take a second each.


@pytest.mark.slow
@pytest.mark.parametrize("favoured", FORMS)
@pytest.mark.parametrize("version", VERSIONS)
def test_on_every_python_that_is_read(version: str, favoured: str) -> None:
    python = pythons()[version]
    if python is None:
        pytest.skip(f"there is no python{version} on PATH or in ~/.pyenv/versions")
    programs = LONG.get(favoured, 100)
    asked = [python, "-m", "tests.property.liveness_oracle", "--seed", "5000", "--programs", str(programs)]
    asked += ["--favoured", favoured]
    ran = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False, timeout=110)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert " 0 violations" in ran.stdout


def test_a_program_is_the_same_for_the_same_seed() -> None:
    assert program(7) == program(7)
    assert program(7) != program(8)
    favoured, others = ("".join(program(seed, form) for seed in range(7, 12)) for form in ("comprehension", ""))
    assert favoured.count(" for ") > others.count(" for ")


def no_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataflow, "exception_ranges", lambda table: iter(()))


def no_jumps_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def forward(*asked: Any) -> tuple[int, ...]:
        return tuple(place for place in successors(*asked) if place > asked[1])

    successors = dataflow._successors
    monkeypatch.setattr(dataflow, "_successors", forward)


def no_nested_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey.Survey, "named", lambda found, later, by_name: frozenset())


def functions_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataflow, "_made", lambda instructions: iter(()))


def functions_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    _not_counted(monkeypatch, FunctionType, 1)


def code_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "_TO_NESTED", functions._TO_CODE)
    _not_counted(monkeypatch, CodeType, functions._TO_CODE)


def _not_counted(monkeypatch: pytest.MonkeyPatch, kind: type, known: int) -> None:
    def as_known(held: Sequence[Any], names: Dead) -> list[int] | None:
        counted = standing.counts(held, names)
        pairs = zip(held, counted or (), strict=False)
        return counted and [functions._OURS + known if type(one) is kind else count for one, count in pairs]

    monkeypatch.setattr(frames, "counts", as_known)


def no_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opcodes, "MAY_JUMP", frozenset())


def no_cells_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codes._Within, "kept", property(lambda within: frozenset()))


def passing_code_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataflow, "_reading_too", lambda step, read: step)


def all_code_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(instructions: Sequence[dis.Instruction]) -> dict[int, Passing]:
        loaded = ((place, each.argval) for place, each in enumerate(instructions))
        return {place: Passing(code, "") for place, code in loaded if type(code) is CodeType}

    monkeypatch.setattr(codes, "passing", found)


def what_is_lent_lives_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(borrowing, "lent", lambda instructions: [])


def arguments_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(borrowing, "borrowers", lambda *asked: ())


def copies_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(borrowing, "borrowers", lambda code, instructions: borrowing.arguments(code))


def containers_are_always_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    def ignoring(census: Any, reading: Reading, *also: Any) -> set[int]:
        held = Counter(place for held in census._holds(reading) for place in held) + Counter(dict(reading.dead))
        counts = (held[place] if place in census.containers else count for place, count in enumerate(reading.counts))
        return reached(census, replace(reading, counts=tuple(counts)), *also)

    reached = Census.reached
    monkeypatch.setattr(Census, "reached", ignoring)


def methods_read_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "_of_first_argument", lambda code: ())


def classes_answer_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "_ON_READING", ())


def classes_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Assigned(frozenset(), frozenset(), any=False)
    monkeypatch.setattr(survey, "_assigned", lambda code, folders: nothing)


def whoever_gets_an_object_reads_one_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    def one(instructions: Any, at: int) -> using.Use | None:
        is_fast = instructions[at].opname.startswith("LOAD_FAST")
        return use(instructions, at) or (using.Use(using.How.READ, "__doc__") if is_fast else None)

    use = using._use
    monkeypatch.setattr(using, "_use", one)


def whoever_gets_a_dictionary_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attributes, "items_read", lambda uses: frozenset())


PLANTED = [
    whoever_gets_a_dictionary_reads_nothing,
    *(methods_read_nothing, classes_answer_for_nothing, classes_stay_as_they_are),
    whoever_gets_an_object_reads_one_attribute,
    containers_are_always_dead,
    *(no_handlers, no_jumps_back, no_nested_code, no_branches, functions_are_made_once),
    *(functions_are_not_counted, code_is_not_counted),
    *((what_is_lent_lives_no_longer, arguments_are_counted, copies_are_counted) if LENDS else ()),
    *((no_cells_of_others, all_code_passes, passing_code_reads_nothing) if passing.READS_CELLS else ()),
]

FAVOURED: dict[object, str] = {
    containers_are_always_dead: "boxed",
    methods_read_nothing: "by_attributes",
    classes_answer_for_nothing: "by_attributes",
    classes_stay_as_they_are: "by_attributes",
    whoever_gets_an_object_reads_one_attribute: "by_attributes",
    whoever_gets_a_dictionary_reads_nothing: "by_items",
    functions_are_made_once: "defined",
    functions_are_not_counted: "defined",
    code_is_not_counted: "defined",
    passing_code_reads_nothing: "comprehension",
    what_is_lent_lives_no_longer: "handed",
    arguments_are_counted: "handed",
    copies_are_counted: "handed",
}


#: From where on there is a program that shows it before long.
SEEDS: dict[object, int] = {methods_read_nothing: 6, classes_answer_for_nothing: 33, classes_stay_as_they_are: 31}


@pytest.mark.parametrize("planted", PLANTED)
def test_the_oracle_finds_a_planted_fault(
    planted: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codes, "_cache", {})
    planted(monkeypatch)
    favoured, first = FAVOURED.get(planted, ""), SEEDS.get(planted, 1)
    found = (liveness_oracle.run(program(seed, favoured), seed).violations for seed in range(first, first + 200))
    assert next(filter(None, found), []) != []
