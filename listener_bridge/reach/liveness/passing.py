"""Passing code: it runs where it stands and is gone then. Comprehensions, and generator expressions in a builtin.

    [ranks.filter(...).count() for k in range(3)]        # CPython 3.11 makes a function, calls it, drops it
    sum(ranks.filter(...).count() for k in range(3))     # `sum` runs the generator to its end and keeps nothing of it

Responsible for: which code among a code object's constants passes, and within which call it runs.
Refuses to know: what it reads, what follows from that, and whether the builtin's name still means the builtin.
Invariant: code whose function or generator may be kept, called or run elsewhere does not pass, nor does code that is
not understood. Since 3.12 (PEP 709) a comprehension is no code of its own.

The function lies on the stack below its iterable until it is called with it. The instructions in between are followed
by the height of the stack, which is not possible if one of them jumps. Code that shares cells with the code around it
does not pass where cells cannot be read (`values`).
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType
from typing import NamedTuple

from listener_bridge.reach.liveness.dataflow import RUNNING
from listener_bridge.reach.liveness.opcodes import LEAVES

#: Builtins that run what they are given within the call, to its end or not, and let go of it.
RUNNERS = frozenset({
    "all", "any", "dict", "frozenset", "list", "max", "min", "next", "set", "sorted", "sum", "tuple",
})  # fmt: skip

#: Only a compiler gives such names.
_COMPREHENSIONS = frozenset({"<dictcomp>", "<listcomp>", "<setcomp>"})
_GENERATOR = "<genexpr>"
_WAITS = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

#: Whether cells are read at all (`values`): where they are not, whatever shares one is taken for kept.
READS_CELLS = RUNNING < (3, 12)
_BESIDE = frozenset({"PRECALL", "PUSH_NULL"})


class Passing(NamedTuple):
    """Passing code, and the builtin that runs it; empty for a comprehension, which is called directly."""

    code: CodeType
    run_by: str


def passing(instructions: Sequence[dis.Instruction]) -> Mapping[int, Passing]:
    """Place of the call -> the code that runs within it. Code that is also loaded for something else is left out."""
    places = [place for place, one in enumerate(instructions) if one.opname != "EXTENDED_ARG"]
    told = [instructions[place] for place in places]
    found: dict[int, Passing] = {}
    others: set[int] = set()
    for at, code in _loaded(told):
        call, run_by = _runs_at(told, at, code)
        if call is None:
            others.add(id(code))
        else:
            found[places[call]] = Passing(code, run_by)
    return {call: each for call, each in found.items() if id(each.code) not in others}


def _loaded(instructions: Sequence[dis.Instruction]) -> Iterator[tuple[int, CodeType]]:
    for place, instruction in enumerate(instructions):
        code = instruction.argval
        if isinstance(code, CodeType) and code.co_name in {*_COMPREHENSIONS, _GENERATOR} and not code.co_flags & _WAITS:
            yield place, code


def _runs_at(instructions: Sequence[dis.Instruction], place: int, code: CodeType) -> tuple[int | None, str]:
    called = _called(instructions, place) if READS_CELLS or not code.co_freevars else None
    if called is None or code.co_name != _GENERATOR:
        return called, ""
    run_by = _function_below(instructions, place)
    return (_next_call(instructions, called), run_by) if run_by in RUNNERS else (None, "")


def _called(instructions: Sequence[dis.Instruction], place: int) -> int | None:
    """Where the function that is made of the code at this place is called with its iterable; None: it may be kept."""
    made = place + 1
    if made == len(instructions) or instructions[made].opname != "MAKE_FUNCTION":
        return None
    height = 0  # of the stack above the function
    for at, here in enumerate(instructions[made + 1 :], made + 1):
        if here.opname in LEAVES:
            return None
        above = height + dis.stack_effect(here.opcode, here.arg)
        if above < 1:
            return at if here.opname == "CALL" and here.arg == 0 and height == 1 else None
        height = above
    return None


def _function_below(instructions: Sequence[dis.Instruction], place: int) -> str:
    """The name of what was loaded before the code at this place and the cells that it is to have; empty: no name."""
    at = place - 1
    if (instructions[place + 1].arg or 0) & 0x08:  # a closure: a tuple of cells
        at -= 1 + (instructions[at].arg or 0)
    while at >= 0 and instructions[at].opname in _BESIDE:
        at -= 1
    is_named = at >= 0 and instructions[at].opname in ("LOAD_NAME", "LOAD_GLOBAL")
    return str(instructions[at].argval) if is_named else ""


def _next_call(instructions: Sequence[dis.Instruction], made: int) -> int | None:
    """The place of a call that takes what was made as its only argument, at once; None if it does not follow."""
    at = made + 1
    while at < len(instructions) and instructions[at].opname in _BESIDE:
        at += 1
    is_alone = at < len(instructions) and instructions[at].opname == "CALL" and instructions[at].arg == 1
    return at if is_alone else None
