"""Comprehensions that are functions of their own: CPython 3.11 makes one where it stands, calls it there, and drops it.

Responsible for: which code of a code object's constants runs at its own place and nowhere else, and where that is.
Refuses to know: what it reads, and what follows from that.
Invariant: a function that may be called later or elsewhere (a lambda, a generator expression) is none of them, nor is
what is not understood. Since 3.12 (PEP 709) a comprehension is part of the code that it stands in: there are none.

What is made lies on the stack below its iterable until that is called with it: the instructions from the one to the
other are followed by the height of the stack, which is not possible where one of them jumps.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType

from listener_bridge.reach.liveness.opcodes import ALWAYS_JUMPS, ENDS, MAY_JUMP

#: Only a compiler gives such names.
NAMES = frozenset({"<dictcomp>", "<listcomp>", "<setcomp>"})

_WAITS = inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
_JUMPS = ALWAYS_JUMPS | MAY_JUMP | ENDS


def called_at(instructions: Sequence[dis.Instruction]) -> Mapping[int, CodeType]:
    """Place of each call -> the comprehension that it runs. Code that is loaded for anything else is left out."""
    found: dict[int, CodeType] = {}
    others: set[int] = set()
    for place, code in _loaded(instructions):
        call = _call(instructions, place)
        if call is None:
            others.add(id(code))
        else:
            found[call] = code
    return {call: code for call, code in found.items() if id(code) not in others}


def _loaded(instructions: Sequence[dis.Instruction]) -> Iterator[tuple[int, CodeType]]:
    for place, instruction in enumerate(instructions):
        code = instruction.argval
        if isinstance(code, CodeType) and code.co_name in NAMES and not code.co_flags & _WAITS:
            yield place, code


def _call(instructions: Sequence[dis.Instruction], place: int) -> int | None:
    """Where the function that is made of the code at this place is called with its iterable; None: it may be kept."""
    made = place + 1
    if made == len(instructions) or instructions[made].opname != "MAKE_FUNCTION":
        return None
    height = 0  # of the stack above the function
    for at, here in enumerate(instructions[made + 1 :], made + 1):
        if here.opname == "EXTENDED_ARG":
            continue
        if here.opname in _JUMPS:
            return None
        above = height + dis.stack_effect(here.opcode, here.arg)
        if above < 1:
            return at if here.opname == "CALL" and here.arg == 0 and height == 1 else None
        height = above
    return None
