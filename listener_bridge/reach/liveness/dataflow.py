"""Which variables may still be read from each place of a code object: live-variable analysis, to a fixed point.

Responsible for: the graph of a code object's instructions, exception edges included, and what is live where.
Refuses to know: frames, values, and which names live anyway (cells, and what code reads by other ways).
Invariant: whatever a path of the bytecode reads before it writes it is live; code with an instruction that is not
in the tables has no answer at all.

A frame that stands at an instruction may be about to run it, in the middle of it (a call, a finaliser), or through with
it: what is live there is what is live before it, what it reads, and what is live after it. Where CPython runs two at
once, it still stands at the first of them while the second drops what a variable held, whose end may run anything.
"""

from __future__ import annotations

import dis
import sys
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType, MappingProxyType
from typing import Any, cast

from listener_bridge.reach.liveness import borrowing, opcodes
from listener_bridge.reach.liveness.opcodes import Act, Space
from listener_bridge.reach.liveness.using import Use
from listener_bridge.reach.liveness.variables import Later, Variables, VariableUse

Version = tuple[int, int]

NOTHING_CALLED: Mapping[int, Collection[str]] = MappingProxyType({})
NOTHING_USED: Mapping[int, Use] = MappingProxyType({})

RUNNING: Version = (sys.version_info[0], sys.version_info[1])


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction. Sets of variables are bits of a number; `handlers` and `successors` are places of steps."""

    reads: int = 0  #: before it writes them
    touches: int = 0  #: all that it reads
    writes: int = 0
    successors: tuple[int, ...] = ()
    handlers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Lives:
    """What may be read later, by the offset at which a frame stands."""

    variables: Variables
    offsets: tuple[int, ...]
    live: tuple[int, ...]
    _known: dict[int, Later] = field(default_factory=dict, compare=False, repr=False)

    def read_later(self, lasti: int) -> frozenset[str] | None:
        """None: the frame stands nowhere that we know. `lasti` may point into the inline caches of an instruction."""
        found = self._later(lasti)
        return None if found is None else found[0]

    def used_later(self, lasti: int) -> Mapping[str, frozenset[Use]]:
        """Of these, the variables of which attributes alone are used, with their uses."""
        found = self._later(lasti)
        return {} if found is None else found[1]

    def _later(self, lasti: int) -> Later | None:
        at = bisect_right(self.offsets, lasti) - 1
        if lasti < 0 or at < 0:
            return None
        if at not in self._known:
            self._known[at] = self.variables.later(self.live[at])
        return self._known[at]


def lives_of(
    code: CodeType,
    instructions: Sequence[dis.Instruction],
    space: Space,
    version: Version = RUNNING,
    called: Mapping[int, Collection[str]] = NOTHING_CALLED,
    used: Mapping[int, Use] = NOTHING_USED,
) -> Lives | None:
    """None where an instruction is not understood. `instructions`: as `dis` tells those of the code.

    `called`: by place, what code that runs within that instruction reads of these variables. `used`: by place, the one
    attribute that is used of the variable that is loaded there last. That a module may make a function later is told as
    one more name that it may read (`making`).
    """
    known = opcodes.KNOWN.get(version, frozenset())
    if not instructions or any(instruction.opname not in known for instruction in instructions):
        return None
    made = dict(_made(instructions)) if space is Space.NAMED else {}
    names = tuple(dict.fromkeys((*_names(code, space), *made.values())))
    variables = Variables(names, tuple(dict.fromkeys(_variable_uses(instructions, space, used))))
    steps = _steps(code, instructions, variables, space, used)
    for place, read in called.items():
        steps[place] = _reading_too(steps[place], variables.read(read))
    for place, name in made.items():
        steps[place] = _reading_too(steps[place], variables.read([name]))
    if space is Space.FAST and version >= borrowing.SINCE:
        for place, lent in enumerate(borrowing.lent(instructions)):
            steps[place] = replace(steps[place], touches=steps[place].touches | variables.read(lent))
    live = live_variables(steps)
    if space is Space.FAST and version in opcodes.STORES_TWO:
        live = tuple(_with_the_next(live, instructions))
    return Lives(variables, tuple(instruction.offset for instruction in instructions), live)


def _with_the_next(live: Sequence[int], instructions: Sequence[dis.Instruction]) -> Iterator[int]:
    """What is live at each place, where a variable is stored together with the next one."""
    following = zip(instructions, live, (*instructions[1:], None), (*live[1:], 0), strict=True)
    for here, now, after, then in following:
        are_stored = here.opname == "STORE_FAST" and after is not None and after.opname == "STORE_FAST"
        yield now | then if are_stored else now


def _variable_uses(
    instructions: Sequence[dis.Instruction], space: Space, used: Mapping[int, Use]
) -> Iterator[VariableUse]:
    loads = opcodes.ACTS[space]
    return (
        (_loaded(instructions[place])[-1], use) for place, use in used.items() if instructions[place].opname in loads
    )


def _loaded(instruction: dis.Instruction) -> tuple[str, ...]:
    """The variables that an instruction is about, in the order in which it acts on them."""
    return instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)


def making(code: int) -> str:
    """What stands for the making of a function, by its code's id, among the names that may be read. It is no name."""
    return f"<{code:x}>"


def _made(instructions: Sequence[dis.Instruction]) -> Iterator[tuple[int, str]]:
    return (
        (place, making(id(one.argval))) for place, one in enumerate(instructions) if isinstance(one.argval, CodeType)
    )


def _names(code: CodeType, space: Space) -> tuple[str, ...]:
    if space is Space.NAMED:
        return code.co_names
    return tuple(dict.fromkeys((*code.co_varnames, *code.co_cellvars, *code.co_freevars)))


def live_variables(steps: Sequence[Step]) -> tuple[int, ...]:
    """The fixed point, by a list of work that starts at the end."""
    before = [0] * len(steps)
    sources = _sources(steps)
    work = list(range(len(steps)))
    while work:
        at = work.pop()
        step = steps[at]
        found = step.reads | (_any(before, step.successors) & ~step.writes) | _any(before, step.handlers)
        if found != before[at]:
            before[at] = found
            work.extend(sources[at])
    return tuple(
        before[at] | step.touches | _any(before, step.successors) | _any(before, step.handlers)
        for at, step in enumerate(steps)
    )


def _any(before: Sequence[int], places: tuple[int, ...]) -> int:
    found = 0
    for place in places:
        found |= before[place]
    return found


def _sources(steps: Sequence[Step]) -> list[list[int]]:
    sources: list[list[int]] = [[] for _ in steps]
    for at, step in enumerate(steps):
        for place in {*step.successors, *step.handlers}:
            sources[place].append(at)
    return sources


def _steps(
    code: CodeType,
    instructions: Sequence[dis.Instruction],
    variables: Variables,
    space: Space,
    used: Mapping[int, Use],
) -> list[Step]:
    table: bytes = cast("Any", code).co_exceptiontable  # since 3.11
    at = {instruction.offset: place for place, instruction in enumerate(instructions)}
    handlers = list(exception_ranges(table))
    return [
        Step(
            *_effect(instruction, variables, space, used.get(place)),
            _successors(instruction, place, len(instructions), at),
            tuple({at[target] for start, end, target in handlers if start <= instruction.offset < end}),
        )
        for place, instruction in enumerate(instructions)
    ]


def _effect(instruction: dis.Instruction, variables: Variables, space: Space, use: Use | None) -> tuple[int, int, int]:
    reads = touches = writes = 0
    acts = opcodes.ACTS[space].get(instruction.opname, ())
    names = _loaded(instruction) if acts else ()
    for place, (act, name) in enumerate(zip(acts, names, strict=True), 1):
        if act is Act.WRITE:
            writes |= variables.written(name)
            continue
        is_part = use is not None and place == len(acts)
        read = variables.read([(name, use) if is_part and use else name])
        touches |= read
        reads |= read & ~writes
    return reads, touches, writes


def _reading_too(step: Step, read: int) -> Step:
    return replace(step, reads=step.reads | read, touches=step.touches | read)


def _successors(instruction: dis.Instruction, place: int, count: int, at: dict[int, int]) -> tuple[int, ...]:
    if instruction.opname in opcodes.ENDS:
        return ()
    if instruction.opname in opcodes.ALWAYS_JUMPS:
        return (at[instruction.argval],)
    following = (place + 1,) if place + 1 < count else ()
    return (*following, at[instruction.argval]) if instruction.opname in opcodes.MAY_JUMP else following


def exception_ranges(table: bytes) -> Iterator[tuple[int, int, int]]:
    """Start, end and handler, in bytes: CPython's Objects/exception_handling_notes.txt."""
    numbers = _numbers(table)
    for start in numbers:
        length, target, _ = next(numbers), next(numbers), next(numbers)
        yield start * 2, (start + length) * 2, target * 2


def _numbers(table: bytes) -> Iterator[int]:
    value = 0
    for byte in table:
        value = value << 6 | byte & 0b11_1111
        if not byte & 0b100_0000:
            yield value
            value = 0
