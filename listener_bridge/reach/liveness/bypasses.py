"""Ways around bytecode: how code gets at variables without an instruction that loads them.

    eval(text)                      # any variable of its own, and of its module
    inspect.currentframe().f_back   # those of other code
    sys.modules["__main__"]         # the globals of a module that it does not belong to

Responsible for: telling from a code object's names, texts and instructions which of these ways it may go.
Refuses to know: nested code, frames, and what follows from it (`codes`, `survey`).
Invariant: whoever could go such a way is said to; a name that only looks like one of these counts as it.
"""

from __future__ import annotations

import dis
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType

from listener_bridge.reach.liveness.dataflow import RUNNING
from listener_bridge.reach.liveness.opcodes import BY_NAME, LEAVES, without_prefixes
from listener_bridge.reach.liveness.texts import named, texts

#: Builtins that reach the variables of the code that calls them. `dir` tells their names, to which these lead.
NAMESPACES = frozenset({"__import__", "compile", "eval", "exec", "globals", "locals", "vars"})

#: Of these, those that give values: whoever is handed one reads the variables of the code that calls it there.
READERS = frozenset({"eval", "exec", "globals", "locals", "vars"})

#: Whoever names one of these may read the variables of other code: its callers', its modules', any object. Fugue's
#: dialect of SQL takes its tables from there, whose names may come from anywhere; `fire.Fire()` and doctest functions.
INSPECTS = frozenset({
    "Fire", "FugueSQLWorkflow", "IPython", "__builtins__", "_current_frames", "_getframe", "ag_frame", "bpython",
    "breakpoint", "builtins", "cr_frame", "currentframe", "f_back", "f_globals", "f_locals", "fsql", "fugue_sql",
    "fugue_sql_flow", "get_ipython", "get_objects", "get_referents", "get_referrers", "gi_frame", "pdb", "ptpython",
    "run_cell_magic", "run_line_magic", "set_trace", "setprofile", "settrace", "tb_frame", "testmod",
})  # fmt: skip

#: So may code that is nowhere where it is looked for: whoever names one of these makes modules by hand, which need not
#: be among Python's own.
BY_HAND = frozenset({"exec_module", "load_module", "load_source", "module_from_spec"})

#: So may who uses this module. A function of that name is called, which a module is not.
INSPECT = "inspect"

#: So may who names this one, in a program that imports something of a shell, or where one runs: it begins one. That
#: somebody has loaded a shell says nothing: PySpark 4 does, and people call functions of their own so (`shells`).
EMBED = "embed"
SHELLS = frozenset({"IPython", "bpython", "ptpython"})

#: Whoever names one of these may have the main module in hand.
MODULES = frozenset({
    "__globals__", "__import__", "__main__", "import_module", "modules", "resolve_name", "run_module", "run_path",
})  # fmt: skip

#: Whoever names one of these packages, or functions, may read functions of the main module by names that stand in what
#: was pickled (as is what goes through a queue of processes), in the database of a scheduler, or in a text alone
#: (`unittest.main(defaultTest="suite")`).
PICKLES = frozenset({
    "ProcessPoolExecutor", "_pickle", "apscheduler", "cPickle", "cloudpickle", "dill", "joblib", "jsonpickle",
    "multiprocessing", "pickle", "read_pickle", "shelve", "unittest",
})  # fmt: skip

#: The modules of such a package that run functions in threads, which find them without a name.
_OF_THREADS = frozenset({"multiprocessing.dummy", "multiprocessing.pool"})

_MAIN = "__main__"

_NULL_IS_BEHIND = RUNNING >= (3, 13)

#: What follows the loading of a function that is called. Anything else passes it on, under a name that we do not know.
_CALLED = ("LOAD_", "PUSH_NULL", "PRECALL", "CALL", "KW_NAMES", "POP_TOP")

#: Where this bit of its argument is set, a function is loaded to be called: with the null that stands beside it.
_WITH_NULL = 1


@dataclass(frozen=True, slots=True)
class Bypasses:
    """The ways that code may go."""

    reaches_own: bool  #: reads its own variables
    inspects: bool  #: reads the variables of other code
    embeds: bool  #: does so where the program imports something of a shell, or one runs
    imports_shell: bool  #: imports something of a shell, or names one
    reaches_modules: bool  #: reads the globals of a module that it does not belong to
    unpickles: bool  #: so reads functions


def bypasses(code: CodeType, instructions: Sequence[dis.Instruction]) -> Bypasses:
    """Of a code object, but for what is nested in it."""
    told = without_prefixes(instructions)
    asked = frozenset(_asked(code))
    return Bypasses(
        reaches_own=_reaches_own(told),
        inspects=not (INSPECTS | BY_HAND).isdisjoint((*code.co_names, *code.co_freevars, *named(code), *asked))
        or _passes_on(told)
        or _uses_inspect(told),
        embeds=EMBED in code.co_names,
        imports_shell=not SHELLS.isdisjoint(name.partition(".")[0] for name in code.co_names),
        reaches_modules=not MODULES.isdisjoint((*code.co_names, *asked)) or _tells_of_main(code, instructions),
        unpickles=not PICKLES.isdisjoint(name.partition(".")[0] for name in code.co_names if name not in _OF_THREADS),
    )


def together(several: Iterable[Bypasses]) -> Bypasses:
    """The ways of any of these."""
    there = tuple(several)
    return Bypasses(
        reaches_own=any(one.reaches_own for one in there),
        inspects=any(one.inspects for one in there),
        embeds=any(one.embeds for one in there),
        imports_shell=any(one.imports_shell for one in there),
        reaches_modules=any(one.reaches_modules for one in there),
        unpickles=any(one.unpickles for one in there),
    )


def _asked(code: CodeType) -> Iterator[str]:
    """What may be asked for by a text: `getattr(sys, "_getframe")`, `attrgetter("f_back.f_locals")`.

    Words that other texts might well be are passed over; so is the main module's name, of which `_tells_of_main` tells.
    """
    for text in texts(code.co_consts):
        names = text.split(".")
        if text != _MAIN and all(map(str.isidentifier, names)):
            yield from (name for name in names if "_" in name)


# ---- its own variables ----


def _reaches_own(told: Sequence[dis.Instruction]) -> bool:
    """Does it name a builtin that reaches its own variables? `vars(args)` reaches those of an object alone."""
    names = [(place, one.argval) for place, one in enumerate(told) if one.opname in BY_NAME]
    return any(name in NAMESPACES and not (name == "vars" and _has_one(told[place + 1 :])) for place, name in names)


def _has_one(following: Sequence[dis.Instruction]) -> bool:
    """Is what was loaded before these, to be called, called with one argument? One that takes jumps is not followed."""
    height = 0  # of the stack above it
    for instruction in following:
        if instruction.opname == "PUSH_NULL" and not height:
            continue  # since 3.13 behind what is called
        if instruction.opname in LEAVES:
            return False
        effect = dis.stack_effect(instruction.opcode, instruction.arg)
        if height + effect < 1:
            return instruction.opname in ("PRECALL", "CALL") and instruction.arg == height == 1
        height += effect
    return False


# ---- other code's ----


def _passes_on(told: Sequence[dis.Instruction]) -> bool:
    """Does it give `eval` or the like another name, or hand it to somebody?"""
    around = zip((None, *told), told, told[1:], strict=False)  # the last one returns, raises or jumps
    return any(_is_passed_on(before, here, after) for before, here, after in around if _names_namespace(here))


def _names_namespace(loaded: dis.Instruction) -> bool:
    return (loaded.opname in BY_NAME or loaded.opname == "IMPORT_FROM") and loaded.argval in NAMESPACES


def _is_passed_on(before: dis.Instruction | None, loaded: dis.Instruction, after: dis.Instruction) -> bool:
    if not after.opname.startswith(_CALLED):
        return True
    return loaded.argval in READERS and not _is_called(before, loaded, after)


def _uses_inspect(told: Sequence[dis.Instruction]) -> bool:
    """Does it import the module, or name it otherwise than to give the name, or to call what has it?"""
    around = zip((None, *told), told, (*told[1:], None), strict=False)
    return any(here.argval == INSPECT and not _is_other(before, here, after) for before, here, after in around)


def _is_other(before: dis.Instruction | None, here: dis.Instruction, after: dis.Instruction | None) -> bool:
    """Whether what has that name here is no module."""
    if here.opname in BY_NAME:
        has_attribute = after is not None and after.opname in ("LOAD_ATTR", "LOAD_METHOD")
        return _is_called(before, here, after) and not has_attribute
    is_method = here.opname == "LOAD_METHOD" or (here.opname == "LOAD_ATTR" and RUNNING >= (3, 12) and _has_null(here))
    return is_method or here.opname.startswith(("LOAD_CONST", "RETURN_CONST", "LOAD_FAST", "STORE_", "DELETE_"))


def _is_called(before: dis.Instruction | None, loaded: dis.Instruction, after: dis.Instruction | None) -> bool:
    """An argument of a call is followed by what a function without any is: the null beside a function tells them apart.

    It stands before the function, since 3.13 behind it.
    """
    if loaded.opname == "LOAD_GLOBAL" and _has_null(loaded):
        return True
    beside = after if _NULL_IS_BEHIND else before
    return beside is not None and beside.opname == "PUSH_NULL"


def _has_null(loaded: dis.Instruction) -> bool:
    return bool((loaded.arg or 0) & _WITH_NULL)


# ---- the main module's ----


def _tells_of_main(code: CodeType, instructions: Sequence[dis.Instruction]) -> bool:
    """`"__main__:ranks"`, `"from __main__ import ranks"`: whoever is given such a text reads what it names later.

    The bare name, too, unless it is only compared with another one.
    """
    found = [text for text in texts(code.co_consts) if _MAIN in text]
    return any(text != _MAIN for text in found) or (bool(found) and not _is_compared_only(instructions))


def _is_compared_only(instructions: Sequence[dis.Instruction]) -> bool:
    following = zip(instructions, (*instructions[1:], None), (*instructions[2:], None, None), strict=False)
    return all(_is_compared(*after) for loaded, *after in following if _MAIN in texts((loaded.argval,)))


def _is_compared(second: dis.Instruction | None, third: dis.Instruction | None) -> bool:
    """What is loaded before these: `__name__ == "__main__"`, or the other way about."""
    last = third if second is not None and second.argval == "__name__" else second
    return last is not None and last.opname == "COMPARE_OP"
