"""What a code object can name, and whether it can get at variables by other ways than naming them.

Responsible for: the words of a code object and of all code nested in it; the ways around bytecode (`locals()`, `eval`,
frames of callers, the modules' table); a bounded cache of what was found.
Refuses to know: frames, values, modules.
Invariant: a variable that a code object could read without an instruction for it is in `otherwise`, or it is open.
An analysis holds text and numbers, never the code object or its constants.
"""

from __future__ import annotations

import dis
import re
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import CodeType
from typing import Any

from listener_bridge.reach.liveness import borrowing
from listener_bridge.reach.liveness.assigning import Assigned, assigned, together
from listener_bridge.reach.liveness.dataflow import RUNNING, Lives, lives_of
from listener_bridge.reach.liveness.forwarding import Forwarded, forwarded, handed_to
from listener_bridge.reach.liveness.opcodes import ALWAYS_JUMPS, BY_NAME, ENDS, MAY_JUMP, Space
from listener_bridge.reach.liveness.passing import READS_CELLS, passing
from listener_bridge.reach.liveness.using import SUPER, TYPE, How, Use, uses

CO_OPTIMIZED = 0x1
CACHE_MAX = 4_096

#: Builtins that reach the variables of the code that calls them. `dir` tells their names, to which these lead.
NAMESPACES = frozenset({"__import__", "compile", "eval", "exec", "globals", "locals", "vars"})

#: Whoever names one of these may read the variables of other code: its callers', its modules', any object. Fugue's
#: dialect of SQL takes its tables from there, whose names may come from anywhere; `fire.Fire()` and doctest functions.
INSPECTS = frozenset({
    "Fire", "FugueSQLWorkflow", "IPython", "__builtins__", "_current_frames", "_getframe", "ag_frame", "bpython",
    "breakpoint", "builtins", "cr_frame", "currentframe", "f_back", "f_globals", "f_locals", "fsql", "fugue_sql",
    "fugue_sql_flow", "get_ipython", "get_objects", "get_referents", "get_referrers", "gi_frame", "pdb", "ptpython",
    "run_cell_magic", "run_line_magic", "set_trace", "setprofile", "settrace", "tb_frame", "testmod",
})  # fmt: skip

#: So may who uses this module. A function of that name is called, which a module is not.
INSPECT = "inspect"

#: So may who names this one, where somebody has loaded a shell: it begins one where it is called.
EMBED = "embed"

#: Whoever names one of these may have the main module in hand.
MODULES = frozenset({
    "__globals__", "__import__", "__main__", "import_module", "modules", "resolve_name", "run_module", "run_path",
})  # fmt: skip

#: Whoever names one of these packages may read functions of the main module by names that stand in what was pickled, or
#: in the database of a scheduler.
PICKLES = frozenset({"_pickle", "apscheduler", "cPickle", "cloudpickle", "dill", "joblib", "pickle", "shelve"})

_MAIN = "__main__"

_NULL_IS_BEHIND = RUNNING >= (3, 13)

#: Of these builtins, those that give values: whoever is handed one reads the variables of the code that calls it there.
READERS = frozenset({"eval", "exec", "globals", "locals", "vars"})

#: Whose names must still be theirs where an object is used so.
_OF_BUILTINS: Mapping[How, str] = {How.SUPER: SUPER, How.CLASS: TYPE}

#: What follows the loading of a function that is called. Anything else passes it on, under a name that we do not know.
_CALLED = ("LOAD_", "PUSH_NULL", "PRECALL", "CALL", "KW_NAMES", "POP_TOP")

#: Where this bit of its argument is set, a function is loaded to be called: with the null that stands beside it.
_WITH_NULL = 1

#: How libraries that look into their callers are told of a variable: `"{ranks}"`, `"@ranks"`. And a call: `"main()"`.
_MARKED = re.compile(r"[{@$]\s*([^\W\d]\w*)|\b([^\W\d]\w*)\(")


@dataclass(frozen=True, slots=True)
class Analysis:
    """What is said of `words`, and from `inspects` on, holds for the code and all that is nested in it."""

    file: str
    line: int
    function: str
    words: frozenset[str]  #: every name and text that could name a variable of its module
    passing_words: frozenset[str]  #: the same of passing code, but for what that reads where it stands
    staying_words: Mapping[int, frozenset[str]]  #: the same of other nested code, of each that stands in it, by its id
    here: frozenset[str]  #: what it reads from around it while it runs, in passing code too
    later: frozenset[str]  #: of its words, those that may be read when it has run
    free: frozenset[str]  #: the variables of the code around it that it has a part in
    kept: frozenset[str]  #: the variables that nested code has a part in which may run at any time
    builtins: frozenset[str]  #: those of which it matters here that the names are still theirs
    assigned: Assigned  #: the attributes that it gives to objects
    imported: frozenset[str]  #: modules, or what is in them
    nested: frozenset[int]  #: ids of the code and of all nested code
    variables: tuple[str, ...]  #: its own that are no cells, or that passing code alone has a part in
    otherwise: frozenset[str]  #: its own variables that may be read otherwise than its flow says
    uncounted: frozenset[str]  #: its own variables that may hold what is only lent to them
    forwarded: Mapping[int, Forwarded]  #: calls that hand on its arguments, by their offsets
    handed_to: Forwarded | None  #: what it does with its arguments by position, where that is all
    lives: Lives | None
    is_optimized: bool
    is_open: bool  #: all of its own variables may be read by other ways
    is_open_within: bool  #: the same, of it or of nested code
    inspects: bool  #: may read the variables of other code
    embeds: bool  #: may so where a shell is loaded
    reaches_modules: bool  #: may read the globals of a module that it does not belong to
    unpickles: bool  #: may so read functions

    @property
    def always(self) -> frozenset[str]:
        """Its own variables that live whatever the flow says."""
        return self.otherwise | self.uncounted


@dataclass(frozen=True, slots=True)
class _Within:
    """The code that is nested in another."""

    called: Mapping[int, Analysis]  #: what passes, by the place where it runs
    runners: frozenset[str]
    staying: Mapping[int, Analysis]  #: what may run at any time, by the code's id

    @property
    def all(self) -> tuple[Analysis, ...]:
        return (*self.staying.values(), *self.called.values())

    @property
    def read_here(self) -> frozenset[str]:
        return _union(one.here for one in self.called.values())

    @property
    def kept(self) -> frozenset[str]:
        gone = self.called.values()
        return _union((*(one.free for one in self.staying.values()), *(one.kept & one.free for one in gone)))

    @property
    def staying_words(self) -> dict[int, frozenset[str]]:
        return {code: analysis.words for code, analysis in self.staying.items()}

    def passing_words(self, followed: Collection[str]) -> frozenset[str]:
        """Those that may be read at any time, where the flow of control tells when passing code reads these."""
        return _union(one.later for one in self.called.values()) | self.read_here.difference(followed)


_cache: dict[int, tuple[weakref.ref[CodeType], Analysis]] = {}


def analysis_of(code: CodeType) -> Analysis:
    """Takes milliseconds the first time; the cache forgets everything when it is full."""
    reference, found = _cache.get(id(code), (None, None))
    if found is not None and reference is not None and reference() is code:
        return found
    found = _analysed(code)
    if len(_cache) >= CACHE_MAX:
        _cache.clear()
    _cache[id(code)] = (weakref.ref(code), found)
    return found


def _analysed(code: CodeType) -> Analysis:
    """Of the nested code first, each once: what is true of it is true of what it is nested in."""
    instructions = list(dis.get_instructions(code))
    within = _within(code, instructions)
    nested = within.all
    loaded = frozenset(_loaded_by_name(instructions))
    shared = _shared(code, within)
    texts = frozenset(_named_in_texts(code))
    own_words = loaded | texts
    used = uses(instructions)
    is_open = _reaches_own(instructions)
    is_optimized = bool(code.co_flags & CO_OPTIMIZED)
    described: Any = code  # co_qualname: since 3.11
    return Analysis(
        file=code.co_filename,
        line=code.co_firstlineno,
        function=described.co_qualname,
        words=_union((own_words, *(analysis.words for analysis in nested))),
        passing_words=within.passing_words(code.co_names),
        staying_words=within.staying_words,
        here=_union((loaded, code.co_freevars, *(one.here for one in within.called.values()))),
        later=texts.union(within.passing_words(within.read_here), *within.staying_words.values()),
        free=frozenset(code.co_freevars),
        kept=within.kept,
        builtins=within.runners.union(_OF_BUILTINS[use.how] for use in used.values() if use.how in _OF_BUILTINS),
        assigned=together((_assigned(code, instructions), *(analysis.assigned for analysis in nested))),
        imported=_union((_imported(instructions), *(analysis.imported for analysis in nested))),
        nested=frozenset((id(code), *chain.from_iterable(analysis.nested for analysis in nested))),
        variables=tuple(name for name in _variables(code) if name not in shared),
        otherwise=_read_otherwise(code, shared, instructions),
        uncounted=_uncounted(code, instructions),
        forwarded=forwarded(code, instructions),
        handed_to=handed_to(code, instructions),
        lives=_lives(code, instructions, Space.FAST if is_optimized else Space.NAMED, within, used),
        is_optimized=is_optimized,
        is_open=is_open,
        is_open_within=is_open or any(analysis.is_open_within for analysis in nested),
        inspects=not INSPECTS.isdisjoint((*code.co_names, *code.co_freevars, *texts))
        or _passes_on(instructions)
        or _uses_inspect(instructions)
        or any(analysis.inspects for analysis in nested),
        embeds=EMBED in code.co_names or any(analysis.embeds for analysis in nested),
        reaches_modules=not MODULES.isdisjoint(code.co_names)
        or _tells_of_main(code, instructions)
        or any(analysis.reaches_modules for analysis in nested),
        unpickles=not PICKLES.isdisjoint(name.partition(".")[0] for name in code.co_names)
        or any(analysis.unpickles for analysis in nested),
    )


def _union(sets: Iterable[Iterable[str]]) -> frozenset[str]:
    return frozenset(chain.from_iterable(sets))


def _within(code: CodeType, instructions: Sequence[dis.Instruction]) -> _Within:
    found = passing(instructions)
    gone = {id(each.code) for each in found.values()}
    nested = [constant for constant in code.co_consts if isinstance(constant, CodeType) and id(constant) not in gone]
    called = {place: analysis_of(each.code) for place, each in found.items()}
    own = frozenset(each.run_by for each in found.values() if each.run_by)
    staying = {id(constant): analysis_of(constant) for constant in nested}
    return _Within(called, own | _union(one.builtins for one in called.values()), staying)


def _shared(code: CodeType, within: _Within) -> frozenset[str]:
    """Its cells that other code may have a part in; all of them where none is read: nobody may have a part in one."""
    return within.kept.intersection(code.co_cellvars) if READS_CELLS else frozenset(code.co_cellvars)


def _variables(code: CodeType) -> Iterator[str]:
    """All that are its own: an argument may be a cell as well."""
    return iter(dict.fromkeys((*code.co_varnames, *code.co_cellvars)))


def _lives(
    code: CodeType, instructions: Sequence[dis.Instruction], space: Space, within: _Within, used: Mapping[int, Use]
) -> Lives | None:
    called = {place: one.here for place, one in within.called.items()}
    try:
        return lives_of(code, instructions, space, called=called, used=used)
    except Exception:  # noqa: BLE001 - a graph that does not close, as hand-made code may have, is not understood
        return None


def _read_otherwise(
    code: CodeType, shared: frozenset[str], instructions: Sequence[dis.Instruction]
) -> frozenset[str]:
    """Cells that other code has a part in; what texts name (`"{ranks}"`); and what `super()` takes from the frame.

    Since 3.12 `super().run` loads that as any other variable; `super()` alone does not.
    """
    supers = sum(one.argval == SUPER for one in instructions if one.opname in BY_NAME)
    loads = sum(one.opname == "LOAD_SUPER_ATTR" for one in instructions)
    first = code.co_varnames[:1] if "__class__" in code.co_freevars and supers != loads else ()
    return frozenset({*shared, *code.co_freevars, *first, *_named_in_texts(code)})


def _uncounted(code: CodeType, instructions: Sequence[dis.Instruction]) -> frozenset[str]:
    """What may be lent is no reference of its own: that it is dead would take one away that somebody else has."""
    return frozenset(borrowing.borrowers(code, instructions) if RUNNING >= borrowing.SINCE else ())


def _named_in_texts(code: CodeType) -> Iterator[str]:
    for text in _texts(code.co_consts):
        yield from (found[found.lastindex or 0] for found in _MARKED.finditer(text))


def _tells_of_main(code: CodeType, instructions: Sequence[dis.Instruction]) -> bool:
    """`"__main__:ranks"`, `"from __main__ import ranks"`: whoever is given such a text reads what it names later.

    The bare name, too, unless it is only compared with another one.
    """
    named = [text for text in _texts(code.co_consts) if _MAIN in text]
    return any(text != _MAIN for text in named) or (bool(named) and not _is_compared_only(instructions))


def _is_compared_only(instructions: Sequence[dis.Instruction]) -> bool:
    following = zip(instructions, (*instructions[1:], None), (*instructions[2:], None, None), strict=False)
    return all(_is_compared(*after) for loaded, *after in following if _MAIN in _texts((loaded.argval,)))


def _is_compared(second: dis.Instruction | None, third: dis.Instruction | None) -> bool:
    """What is loaded before these: `__name__ == "__main__"`, or the other way about."""
    last = third if second is not None and second.argval == "__name__" else second
    return last is not None and last.opname == "COMPARE_OP"


def _texts(constants: tuple[object, ...] | frozenset[object]) -> Iterator[str]:
    for constant in constants:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, tuple | frozenset):
            yield from _texts(constant)


def _loaded_by_name(instructions: Sequence[dis.Instruction]) -> Iterator[str]:
    return (str(instruction.argval) for instruction in instructions if instruction.opname in BY_NAME)


def _assigned(code: CodeType, instructions: Sequence[dis.Instruction]) -> Assigned:
    named = (*code.co_names, *_variables(code), *code.co_freevars, *_texts(code.co_consts))
    return assigned(_without_prefixes(instructions), named)


def _imported(instructions: Sequence[dis.Instruction]) -> Iterator[str]:
    """What modules are named, perhaps: `jobs.fast` of `from jobs import fast`, `.fast` of `from . import fast`."""
    told = _without_prefixes(instructions)
    package = ""
    for level, one in zip(told, told[2:], strict=False):
        if one.opname == "IMPORT_NAME":
            package = f".{one.argval}" if level.argval else one.argval
            yield package
        elif one.opname == "IMPORT_FROM":
            yield f"{package.rstrip('.')}.{one.argval}"


def _uses_inspect(instructions: Sequence[dis.Instruction]) -> bool:
    """Does it import the module, or name it otherwise than to give the name, or to call what has it?"""
    told = _without_prefixes(instructions)
    around = zip((None, *told), told, (*told[1:], None), strict=False)
    return any(here.argval == INSPECT and not _is_other(before, here, after) for before, here, after in around)


def _is_other(before: dis.Instruction | None, here: dis.Instruction, after: dis.Instruction | None) -> bool:
    """Whether what has that name here is no module."""
    if here.opname in BY_NAME:
        has_attribute = after is not None and after.opname in ("LOAD_ATTR", "LOAD_METHOD")
        return _is_called(before, here, after) and not has_attribute
    is_method = here.opname == "LOAD_METHOD" or (here.opname == "LOAD_ATTR" and RUNNING >= (3, 12) and _has_null(here))
    return is_method or here.opname.startswith(("LOAD_CONST", "RETURN_CONST", "LOAD_FAST", "STORE_", "DELETE_"))


def _reaches_own(instructions: Sequence[dis.Instruction]) -> bool:
    """Does it name a builtin that reaches its own variables? `vars(args)` reaches those of an object alone."""
    told = _without_prefixes(instructions)
    named = [(place, one.argval) for place, one in enumerate(told) if one.opname in BY_NAME]
    return any(name in NAMESPACES and not (name == "vars" and _has_one(told[place + 1 :])) for place, name in named)


def _has_one(following: Sequence[dis.Instruction]) -> bool:
    """Is what was loaded before these, to be called, called with one argument? One that takes jumps is not followed."""
    height = 0  # of the stack above it
    for instruction in following:
        if instruction.opname == "PUSH_NULL" and not height:
            continue  # since 3.13 behind what is called
        if instruction.opname in ALWAYS_JUMPS | MAY_JUMP | ENDS:
            return False
        effect = dis.stack_effect(instruction.opcode, instruction.arg)
        if height + effect < 1:
            return instruction.opname in ("PRECALL", "CALL") and instruction.arg == height == 1
        height += effect
    return False


def _without_prefixes(instructions: Sequence[dis.Instruction]) -> list[dis.Instruction]:
    return [instruction for instruction in instructions if instruction.opname != "EXTENDED_ARG"]


def _passes_on(instructions: Sequence[dis.Instruction]) -> bool:
    """Does it give `eval` or the like another name, or hand it to somebody?"""
    told = _without_prefixes(instructions)
    around = zip((None, *told), told, told[1:], strict=False)  # the last one returns, raises or jumps
    return any(_is_passed_on(before, here, after) for before, here, after in around if _names_namespace(here))


def _names_namespace(loaded: dis.Instruction) -> bool:
    return (loaded.opname in BY_NAME or loaded.opname == "IMPORT_FROM") and loaded.argval in NAMESPACES


def _is_passed_on(before: dis.Instruction | None, loaded: dis.Instruction, after: dis.Instruction) -> bool:
    if not after.opname.startswith(_CALLED):
        return True
    return loaded.argval in READERS and not _is_called(before, loaded, after)


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
