"""Borrowed references: CPython 3.14 puts a variable's object on the stack without counting a reference.

    count(ranks, other())     # while `other` runs, `ranks` lies on the stack, and only the variable's reference counts

Responsible for: which variables may have a borrowed reference on the stack at each instruction, though their last load
is behind it; and which variables may hold a borrowed reference themselves.
Refuses to know: whether anything reads a variable later.
Invariant: a variable is told as long as its borrowed reference may be on the stack, or with a function that was called
with it.

Until 3.13 every reference on the stack is counted. A borrowed one is consumed in the same straight run of instructions
(`opcodes.BORROWS`). It is followed by the height of the stack: it may be there until the stack is as low again as where
it was put, at the latest until the statement ends. An instruction that takes it and puts something in its place counts
as still holding it. A function that is called with it holds it in its argument, and in every variable to which that is
copied.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator, Sequence
from types import CodeType

from listener_bridge.reach.liveness.opcodes import ALWAYS_JUMPS, BORROWS, FAST, LEAVES, MAY_JUMP, Act

SINCE = (3, 14)


def lent(instructions: Sequence[dis.Instruction]) -> list[frozenset[str]]:
    """For each instruction the variables whose borrowed reference may be on the stack before or while it runs."""
    targets = {one.argval for one in instructions if one.opname in ALWAYS_JUMPS | MAY_JUMP}
    found: list[frozenset[str]] = []
    height, floors = 0, dict[str, int]()  # of the stack in this run; below each variable's borrowed reference
    for here in instructions:
        if here.offset in targets:
            height, floors = 0, {}
        found.append(frozenset(floors))
        if here.opname == "SWAP":
            floors = {name: min(floor, height - (here.arg or 0)) for name, floor in floors.items()}
        floors.update(_lends(here, height, floors))
        height += 0 if here.opname in LEAVES else dis.stack_effect(here.opcode, here.arg)
        floors = {} if here.opname in LEAVES else {name: floor for name, floor in floors.items() if floor < height}
    return found


def _lends(loads: dis.Instruction, height: int, floors: dict[str, int]) -> Iterator[tuple[str, int]]:
    """The places of borrowed references. Of two of one variable the lower one counts: it stays longer."""
    if loads.opname not in BORROWS:
        return
    names = loads.argval if isinstance(loads.argval, tuple) else (loads.argval,)
    for place, name in enumerate(names, height):
        yield name, min(place, floors.get(name, place))


def borrowers(code: CodeType, instructions: Sequence[dis.Instruction]) -> tuple[str, ...]:
    """The variables that may hold a borrowed reference of a caller's: the arguments; or all, if one may be copied.

    A copy (`rows = ranks`) of a borrowed reference is not counted either. What an instruction of `BORROWS` loads is
    never stored in a variable; so if only these load arguments, none is copied.
    """
    lent_to = arguments(code)
    if frozenset(lent_to).isdisjoint(_loaded_to_keep(instructions)):
        return lent_to
    return tuple(dict.fromkeys((*code.co_varnames, *code.co_cellvars)))


def arguments(code: CodeType) -> tuple[str, ...]:
    rest = sum(bool(code.co_flags & flag) for flag in (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS))
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + rest]


def _loaded_to_keep(instructions: Sequence[dis.Instruction]) -> Iterator[str]:
    for one in instructions:
        acts = FAST.get(one.opname, ()) if one.opname not in BORROWS else ()
        names = one.argval if isinstance(one.argval, tuple) else (one.argval,)
        yield from (name for act, name in zip(acts, names, strict=False) if act is Act.READ)
