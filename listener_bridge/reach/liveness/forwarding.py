"""Functions that hand on their arguments unchanged, as the wrappers that decorators make.

    def timed(step):
        def wrapper(*args, **kwargs):
            return step(*args, **kwargs)        # nothing of `args` is used here but by `step`

Responsible for: the calls of a code object that pass exactly its `*args` by position, to a function in a variable of
the code around it.
Refuses to know: which function that is, and what it does with them.
Invariant: a call is told only if its instructions are exactly those that the compiler makes of such a call, and if the
code assigns nothing to either variable: so the tuple that is passed is the one that the code was called with.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType
from typing import NamedTuple

from listener_bridge.reach.liveness.opcodes import REBINDS, without_prefixes

_LOADS = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW"})
_BEFORE = (["PUSH_NULL", "LOAD_DEREF"], ["LOAD_DEREF", "PUSH_NULL"])  #: Loads what is called; since 3.13 the second.
_KEYWORDS = ["BUILD_MAP", "LOAD_FAST", "DICT_MERGE"]
_CALL = "CALL_FUNCTION_EX"
_BETWEEN: tuple[list[str], ...] = ([], ["PUSH_NULL"], _KEYWORDS)  #: The second: since 3.14, without any by name.


class Forwarded(NamedTuple):
    """`arguments`: the variable of the `*args`; `function`: the variable of the function that is called with them."""

    arguments: str
    function: str


def forwarded(code: CodeType, instructions: Sequence[dis.Instruction]) -> Mapping[int, Forwarded]:
    """The calls that pass on `*args`, by the offset of the call."""
    arguments = _rest(code, instructions)
    return {call.offset: Forwarded(arguments, function) for call, function in _calls(code, arguments, instructions)}


def handed_to(code: CodeType, instructions: Sequence[dis.Instruction]) -> Forwarded | None:
    """The one function to which the code passes its `*args`, if it does nothing else with them; else None."""
    arguments = "" if code.co_argcount else _rest(code, instructions)
    called = [function for _, function in _calls(code, arguments, instructions)]
    is_all = len(called) == sum(_is_about(one, arguments) for one in instructions)
    return Forwarded(arguments, called[0]) if is_all and len({*called}) == 1 else None


def _rest(code: CodeType, instructions: Sequence[dis.Instruction]) -> str:
    """The variable of `*args`; empty if there is none, nested code shares it, or something is assigned to it."""
    if not code.co_flags & inspect.CO_VARARGS:
        return ""
    name = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
    is_kept = all(one.opname.startswith("LOAD_FAST") for one in instructions if _is_about(one, name))
    return name if is_kept and name not in code.co_cellvars else ""


def _calls(
    code: CodeType, arguments: str, instructions: Sequence[dis.Instruction]
) -> Iterator[tuple[dis.Instruction, str]]:
    """The calls, each with the variable of the function that is called."""
    told = without_prefixes(instructions) if arguments else []
    of_others = {*code.co_freevars}.difference(one.argval for one in told if one.opname in REBINDS)
    for at, here in enumerate(told):
        before, call = told[max(at - 2, 0) : at], _call_behind(told[at + 1 : at + 5])
        if here.opname not in _LOADS or here.argval != arguments or call is None or _names(before) not in _BEFORE:
            continue
        function = next(one.argval for one in before if one.opname == "LOAD_DEREF")
        if function in of_others:
            yield call, function


def _call_behind(following: Sequence[dis.Instruction]) -> dis.Instruction | None:
    """The call, if it is passed only `*args` and perhaps `**kwargs`; else None."""
    names = _names(following)
    at = next((len(between) for between in _BETWEEN if names[: len(between) + 1] == [*between, _CALL]), None)
    return None if at is None or (at == len(_KEYWORDS) and following[0].arg) else following[at]


def _names(instructions: Sequence[dis.Instruction]) -> list[str]:
    return [one.opname.removesuffix("_BORROW") for one in instructions]


def _is_about(instruction: dis.Instruction, variable: str) -> bool:
    """Whether it loads, sets or deletes this variable, perhaps among others."""
    named: object = instruction.argval
    return "_FAST" in instruction.opname and variable in (named if isinstance(named, tuple) else (named,))
