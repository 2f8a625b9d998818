"""The analysis of a code object: what it, and all code nested in it, can name and read.

Responsible for: putting together what the other modules find in a code object and in all code nested in it; a bounded
cache of the analyses.
Refuses to know: frames, values, modules; and how code reads variables without an instruction (`bypasses`).
Invariant: a variable that a code object could read without an instruction for it is in `otherwise`, or the analysis
says `is_open`. An analysis holds text and numbers, never the code object or its constants.

Nested code is of two kinds. Passing code runs where it stands and is gone then, as a comprehension (`passing`); all
other nested code stays: it may run at any time.
"""

from __future__ import annotations

import dis
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import CodeType
from typing import Any

from listener_bridge.reach.liveness import assigning, borrowing, bypasses, texts
from listener_bridge.reach.liveness.assigning import Assigned
from listener_bridge.reach.liveness.bypasses import Bypasses
from listener_bridge.reach.liveness.dataflow import RUNNING, Lives, lives_of
from listener_bridge.reach.liveness.forwarding import Forwarded, forwarded, handed_to
from listener_bridge.reach.liveness.opcodes import BY_NAME, Space, without_prefixes
from listener_bridge.reach.liveness.passing import READS_CELLS, passing
from listener_bridge.reach.liveness.using import OF_BUILTINS, SUPER, Use, uses

CO_OPTIMIZED = 0x1
CACHE_MAX = 4_096


@dataclass(frozen=True, slots=True)
class Analysis:
    """What is known of a code object. `words`, `assigned`, `imported` and `bypasses` include all nested code."""

    file: str
    line: int
    function: str
    words: frozenset[str]  #: every name and text that could name a variable of its module
    passing_words: frozenset[str]  #: such words of passing code, without those read only where it stands
    staying_words: Mapping[int, frozenset[str]]  #: such words of each other nested code, by the code's id
    here: frozenset[str]  #: the variables of code around it that it reads while it runs, also by passing code
    later: frozenset[str]  #: of its words, those that may be read after it has run
    free: frozenset[str]  #: the variables of code around it that it shares
    kept: frozenset[str]  #: the variables that it shares with nested code which may run at any time
    builtins: frozenset[str]  #: builtins on which this analysis relies: their names must still mean them
    assigned: Assigned  #: the attributes that it gives to objects
    imported: frozenset[str]  #: modules, or what is in them
    nested: frozenset[int]  #: ids of the code and of all nested code
    variables: tuple[str, ...]  #: its own variables, without shared cells (`_shared`)
    otherwise: frozenset[str]  #: its own variables that may be read without an instruction of its own
    uncounted: frozenset[str]  #: its own variables that may hold a reference that is not counted (`borrowing`)
    forwarded: Mapping[int, Forwarded]  #: calls that hand on its `*args`, by the offset of the call
    handed_to: Forwarded | None  #: the function to which it hands its `*args`, if it uses them for nothing else
    lives: Lives | None  #: None: an instruction is not understood
    is_optimized: bool  #: the code has `CO_OPTIMIZED`: its variables are in its frame
    is_open: bool  #: all of its own variables may be read without an instruction, as by `locals()`
    bypasses: Bypasses

    @property
    def always(self) -> frozenset[str]:
        """Its own variables that never count as dead."""
        return self.otherwise | self.uncounted


@dataclass(frozen=True, slots=True)
class _Within:
    """The code that is nested in another."""

    called: Mapping[int, Analysis]  #: passing code, by the place of the instruction within which it runs
    runners: frozenset[str]  #: the builtins that run it
    staying: Mapping[int, Analysis]  #: code that may run at any time, by its id

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
        """Words of passing code that may be read at any time. `followed`: those whose reads `lives` knows."""
        return _union(one.later for one in self.called.values()) | self.read_here.difference(followed)


_cache: dict[int, tuple[weakref.ref[CodeType], Analysis]] = {}


def analysis_of(code: CodeType) -> Analysis:
    """The analysis of a code object. It takes milliseconds the first time; a full cache is emptied."""
    reference, found = _cache.get(id(code), (None, None))
    if found is not None and reference is not None and reference() is code:
        return found
    found = _analysed(code)
    if len(_cache) >= CACHE_MAX:
        _cache.clear()
    _cache[id(code)] = (weakref.ref(code), found)
    return found


def _analysed(code: CodeType) -> Analysis:
    """Analyses the code; the nested code first, since what that may do the code around it may do."""
    instructions = list(dis.get_instructions(code))
    within = _within(code, instructions)
    nested = within.all
    loaded = frozenset(_loaded_by_name(instructions))
    shared = _shared(code, within)
    in_texts = texts.named(code)
    used = uses(instructions)
    own = bypasses.bypasses(code, instructions)
    is_optimized = bool(code.co_flags & CO_OPTIMIZED)
    described: Any = code  # co_qualname: since 3.11
    return Analysis(
        file=code.co_filename,
        line=code.co_firstlineno,
        function=described.co_qualname,
        words=_union((loaded, in_texts, *(analysis.words for analysis in nested))),
        passing_words=within.passing_words(code.co_names),
        staying_words=within.staying_words,
        here=_union((loaded, code.co_freevars, *(one.here for one in within.called.values()))),
        later=in_texts.union(within.passing_words(within.read_here), *within.staying_words.values()),
        free=frozenset(code.co_freevars),
        kept=within.kept,
        builtins=within.runners.union(OF_BUILTINS[use.how] for use in used.values() if use.how in OF_BUILTINS),
        assigned=assigning.together((_assigned(code, instructions), *(analysis.assigned for analysis in nested))),
        imported=_union((_imported(instructions), *(analysis.imported for analysis in nested))),
        nested=frozenset((id(code), *chain.from_iterable(analysis.nested for analysis in nested))),
        variables=tuple(name for name in _variables(code) if name not in shared),
        otherwise=_read_otherwise(code, shared, instructions) | in_texts,
        uncounted=_uncounted(code, instructions),
        forwarded=forwarded(code, instructions),
        handed_to=handed_to(code, instructions),
        lives=_lives(code, instructions, Space.FAST if is_optimized else Space.NAMED, within, used),
        is_optimized=is_optimized,
        is_open=own.reaches_own,
        bypasses=bypasses.together((own, *(analysis.bypasses for analysis in nested))),
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
    """The cells that count as shared: those shared with code that stays, or all where cells cannot be read."""
    return within.kept.intersection(code.co_cellvars) if READS_CELLS else frozenset(code.co_cellvars)


def _variables(code: CodeType) -> Iterator[str]:
    """All its own variables, each once: an argument may be a cell as well."""
    return iter(dict.fromkeys((*code.co_varnames, *code.co_cellvars)))


def _lives(
    code: CodeType, instructions: Sequence[dis.Instruction], space: Space, within: _Within, used: Mapping[int, Use]
) -> Lives | None:
    called = {place: one.here for place, one in within.called.items()}
    try:
        return lives_of(code, instructions, space, called=called, used=used)
    except Exception:  # noqa: BLE001 - a graph that does not close, as hand-made code may have, is not understood
        return None


def _read_otherwise(code: CodeType, shared: frozenset[str], instructions: Sequence[dis.Instruction]) -> frozenset[str]:
    """Shared variables, and the first argument if `super()` takes it from the frame.

    Since 3.12 `super().run` loads it by an instruction, as any other variable; a bare `super()` still does not.
    """
    supers = sum(one.argval == SUPER for one in instructions if one.opname in BY_NAME)
    loads = sum(one.opname == "LOAD_SUPER_ATTR" for one in instructions)
    first = code.co_varnames[:1] if "__class__" in code.co_freevars and supers != loads else ()
    return frozenset({*shared, *code.co_freevars, *first})


def _uncounted(code: CodeType, instructions: Sequence[dis.Instruction]) -> frozenset[str]:
    """Variables whose reference may not be counted: as a dead one it would be deducted in place of another's."""
    return frozenset(borrowing.borrowers(code, instructions) if RUNNING >= borrowing.SINCE else ())


def _loaded_by_name(instructions: Sequence[dis.Instruction]) -> Iterator[str]:
    return (str(instruction.argval) for instruction in instructions if instruction.opname in BY_NAME)


def _assigned(code: CodeType, instructions: Sequence[dis.Instruction]) -> Assigned:
    named = (*code.co_names, *_variables(code), *code.co_freevars, *texts.texts(code.co_consts))
    return assigning.assigned(without_prefixes(instructions), named, is_module=code.co_name == "<module>")


def _imported(instructions: Sequence[dis.Instruction]) -> Iterator[str]:
    """What may be modules: `jobs` and `jobs.fast` of `from jobs import fast`, `.fast` of `from . import fast`."""
    told = without_prefixes(instructions)
    package = ""
    for level, one in zip(told, told[2:], strict=False):
        if one.opname == "IMPORT_NAME":
            package = f".{one.argval}" if level.argval else one.argval
            yield package
        elif one.opname == "IMPORT_FROM":
            yield f"{package.rstrip('.')}.{one.argval}"
