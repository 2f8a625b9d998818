"""What each instruction of CPython does to variables and to the flow of control: tables, one a version.

Responsible for: naming every opcode that is understood, version by version, and its effect.
Refuses to know: code objects, frames, and what is done with an effect.
Invariant: it is a whitelist: what is not named here is not understood, and code that holds it has no dead names.

Instructions are told as `dis` tells them, neither specialised nor instrumented. That other code reads a cell, too, is
no concern of the tables: whoever asks takes such a cell for alive.
"""

from __future__ import annotations

import dis
import enum
from collections.abc import Iterable, Mapping


class Act(enum.Enum):
    """What an instruction does to a variable; deleting is writing."""

    READ = "read"
    WRITE = "write"


class Space(enum.Enum):
    """Where a variable lives: in the frame, or in the dictionary of a module."""

    FAST = "fast"
    NAMED = "named"


Acts = tuple[Act, ...]

R, W = Act.READ, Act.WRITE

# In the order in which the instruction acts, one act for each of its variables.
FAST: Mapping[str, Acts] = {
    "LOAD_FAST": (R,),
    "LOAD_FAST_CHECK": (R,),
    "LOAD_FAST_AND_CLEAR": (R,),
    "LOAD_FAST_LOAD_FAST": (R, R),
    "LOAD_FAST_BORROW": (R,),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": (R, R),
    "STORE_FAST_LOAD_FAST": (W, R),
    "STORE_FAST_STORE_FAST": (W, W),
    "STORE_FAST": (W,),
    "DELETE_FAST": (W,),
    "LOAD_CLOSURE": (R,),
    "LOAD_CLASSDEREF": (R,),
    "LOAD_DEREF": (R,),
    "LOAD_FROM_DICT_OR_DEREF": (R,),
    "STORE_DEREF": (W,),
    "DELETE_DEREF": (W,),
}

# An attribute, and what is imported from a module, are of an object: whoever has the main module in hand has all of its
# names (`bypasses.MODULES`).
NAMED: Mapping[str, Acts] = {
    "LOAD_NAME": (R,),
    "LOAD_GLOBAL": (R,),
    "LOAD_FROM_DICT_OR_GLOBALS": (R,),
    "STORE_NAME": (W,),
    "STORE_GLOBAL": (W,),
    "DELETE_NAME": (W,),
    "DELETE_GLOBAL": (W,),
}

ACTS: Mapping[Space, Mapping[str, Acts]] = {Space.FAST: FAST, Space.NAMED: NAMED}

#: Since 3.14: what they load lies on the stack without being counted, for as long as the variable holds it. In the same
#: straight run of instructions it is consumed, the variable is not written before that, and nothing of it is stored in
#: another one: the compiler sees to that (`optimize_load_fast` in CPython's Python/flowgraph.c).
BORROWS = frozenset({"LOAD_FAST_BORROW", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"})

#: The versions that run `STORE_FAST` and the next one as one, which `dis` does not show.
STORES_TWO = frozenset({(3, 11), (3, 12)})

#: Gives something to a variable that several functions share, or takes it away.
REBINDS = frozenset({"STORE_DEREF", "DELETE_DEREF"})

#: Loads a variable by its name, which may be one of the builtins.
BY_NAME = frozenset({"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_FROM_DICT_OR_DEREF"})

ALWAYS_JUMPS = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})

MAY_JUMP = frozenset({
    "FOR_ITER", "SEND",
    "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP",
    "POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE",
    "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_NONE",
    "POP_JUMP_FORWARD_IF_NOT_NONE",
    "POP_JUMP_BACKWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_NONE",
    "POP_JUMP_BACKWARD_IF_NOT_NONE",
})  # fmt: skip

#: Nothing after it runs, except a handler.
ENDS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"})

#: Behind one of these the next instruction is not, or not only, the one that stands below it.
LEAVES = ALWAYS_JUMPS | MAY_JUMP | ENDS

_COMMON = frozenset({
    "BEFORE_ASYNC_WITH", "BEFORE_WITH", "BINARY_OP", "BINARY_SUBSCR", "BUILD_CONST_KEY_MAP", "BUILD_LIST", "BUILD_MAP",
    "BUILD_SET", "BUILD_SLICE", "BUILD_STRING", "BUILD_TUPLE", "CALL", "CALL_FUNCTION_EX", "CHECK_EG_MATCH",
    "CHECK_EXC_MATCH", "COMPARE_OP", "CONTAINS_OP", "COPY", "COPY_FREE_VARS", "DELETE_ATTR", "DELETE_DEREF",
    "DELETE_FAST", "DELETE_GLOBAL", "DELETE_NAME", "DELETE_SUBSCR", "DICT_MERGE", "DICT_UPDATE", "END_ASYNC_FOR",
    "EXTENDED_ARG", "FOR_ITER", "GET_AITER", "GET_ANEXT", "GET_AWAITABLE", "GET_ITER", "GET_LEN",
    "GET_YIELD_FROM_ITER", "IMPORT_FROM", "IMPORT_NAME", "IS_OP", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT",
    "JUMP_FORWARD", "LIST_APPEND", "LIST_EXTEND", "LOAD_ASSERTION_ERROR", "LOAD_ATTR", "LOAD_BUILD_CLASS", "LOAD_CONST",
    "LOAD_DEREF", "LOAD_FAST", "LOAD_GLOBAL", "LOAD_NAME", "MAKE_CELL", "MAKE_FUNCTION", "MAP_ADD", "MATCH_CLASS",
    "MATCH_KEYS", "MATCH_MAPPING", "MATCH_SEQUENCE", "NOP", "POP_EXCEPT", "POP_TOP", "PUSH_EXC_INFO", "PUSH_NULL",
    "RAISE_VARARGS", "RERAISE", "RESUME", "RETURN_GENERATOR", "RETURN_VALUE", "SEND", "SETUP_ANNOTATIONS", "SET_ADD",
    "SET_UPDATE", "STORE_ATTR", "STORE_DEREF", "STORE_FAST", "STORE_GLOBAL", "STORE_NAME", "STORE_SUBSCR", "SWAP",
    "UNARY_INVERT", "UNARY_NEGATIVE", "UNARY_NOT", "UNPACK_EX", "UNPACK_SEQUENCE", "WITH_EXCEPT_START", "YIELD_VALUE",
})  # fmt: skip

_SINCE_3_12 = frozenset({
    "BINARY_SLICE", "CALL_INTRINSIC_1", "CALL_INTRINSIC_2", "CLEANUP_THROW", "END_FOR", "END_SEND",
    "LOAD_FAST_AND_CLEAR", "LOAD_FAST_CHECK", "LOAD_FROM_DICT_OR_DEREF", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_SUPER_ATTR",
    "POP_JUMP_IF_FALSE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE", "POP_JUMP_IF_TRUE", "RETURN_CONST", "STORE_SLICE",
})  # fmt: skip

_SINCE_3_13 = frozenset({
    "CALL_KW", "CONVERT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "LOAD_FAST_LOAD_FAST", "SET_FUNCTION_ATTRIBUTE",
    "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "TO_BOOL",
})  # fmt: skip

#: Left out on purpose: LOAD_LOCALS (class bodies), PRINT_EXPR (interactive), and what `dis` never shows.
KNOWN: Mapping[tuple[int, int], frozenset[str]] = {
    (3, 11): _COMMON | {
        "ASYNC_GEN_WRAP", "FORMAT_VALUE", "IMPORT_STAR", "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP", "KW_NAMES",
        "LIST_TO_TUPLE", "LOAD_CLASSDEREF", "LOAD_CLOSURE", "LOAD_METHOD", "POP_JUMP_BACKWARD_IF_FALSE",
        "POP_JUMP_BACKWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_TRUE",
        "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_FORWARD_IF_NOT_NONE",
        "POP_JUMP_FORWARD_IF_TRUE", "PRECALL", "PREP_RERAISE_STAR", "UNARY_POSITIVE",
    },
    (3, 12): _COMMON | _SINCE_3_12 | {"FORMAT_VALUE", "KW_NAMES", "LOAD_CLOSURE"},
    (3, 13): _COMMON | _SINCE_3_12 | _SINCE_3_13,
    (3, 14): _COMMON | _SINCE_3_12 | _SINCE_3_13 | BORROWS | {
        "BUILD_INTERPOLATION", "BUILD_TEMPLATE", "LOAD_COMMON_CONSTANT", "LOAD_SMALL_INT", "LOAD_SPECIAL", "NOT_TAKEN",
        "POP_ITER",
    },
}  # fmt: skip


def without_prefixes(instructions: Iterable[dis.Instruction]) -> list[dis.Instruction]:
    """Those that do something: a prefix only makes the next one's argument longer."""
    return [instruction for instruction in instructions if instruction.opname != "EXTENDED_ARG"]
