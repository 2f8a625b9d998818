"""What lies on the stack without being counted: CPython 3.14 lends a variable's reference to the stack.

    count(ranks, other())     # while `other` runs, `ranks` lies on the stack; its one reference is the variable's

Responsible for: which variables each instruction may still use from the stack, though their last load is behind it;
which variables may themselves hold what is only lent to them.
Refuses to know: whether anything reads a variable later.
Invariant: as long as what a variable lent may lie on the stack, or be in the hands of what is called with it, the
variable is named.

Until 3.13 whatever lies on the stack is counted, and who counts references sees that somebody has it. What is lent is
consumed in the same straight run of instructions (`opcodes.BORROWS`). It is followed by the height of the stack: it may
lie there until the stack is as low again as where it was put, at the latest where the statement ends. Whatever takes it
and leaves something in its place has it still, here. A function that is called with it has it in its argument, and in
every variable to which it copies that.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator, Sequence
from types import CodeType

from listener_bridge.reach.liveness.opcodes import ALWAYS_JUMPS, BORROWS, FAST, LEAVES, MAY_JUMP, Act

SINCE = (3, 14)


def lent(instructions: Sequence[dis.Instruction]) -> list[frozenset[str]]:
    """Of each instruction the variables whose reference may lie on the stack, uncounted, before it or while it runs."""
    targets = {one.argval for one in instructions if one.opname in ALWAYS_JUMPS | MAY_JUMP}
    found: list[frozenset[str]] = []
    height, floors = 0, dict[str, int]()  # of the stack in this run; how high it is below what a variable lent
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
    """A variable that is lent twice has its lower place: it is there until both are gone."""
    if loads.opname not in BORROWS:
        return
    names = loads.argval if isinstance(loads.argval, tuple) else (loads.argval,)
    for place, name in enumerate(names, height):
        yield name, min(place, floors.get(name, place))


def borrowers(code: CodeType, instructions: Sequence[dis.Instruction]) -> tuple[str, ...]:
    """The variables that may hold what a caller's variable lent: arguments; all where one is handed on in the frame.

    A reference that is not counted stays so in the variable that it is copied to (`rows = ranks`). What `BORROWS` load
    is never stored in one, so where arguments are loaded by these alone, nothing of theirs is.
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
