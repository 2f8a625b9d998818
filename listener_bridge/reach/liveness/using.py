"""What an instruction uses of the variable that it loads: all of it, one attribute, or what it has under one key.

    self.events.count()     # of `self` the attribute `events`, and nothing else
    show(self)              # all of it: whoever has the object may read any attribute
    state["events"]         # of `state` what it has there, if it is a dictionary

Responsible for: telling these apart, load by load.
Refuses to know: objects, and what an attribute of theirs is (`methods`).
Invariant: a load is of one part only where the next instruction takes that and leaves nothing of the object on the
stack; or where the object lies there for the assignment alone that ends the statement (`self.count += 1`). A key is a
text that stands in the code.
"""

from __future__ import annotations

import dis
import enum
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from listener_bridge.reach.liveness.opcodes import ACTS, LEAVES, Act

TYPE, SUPER = "type", "super"  #: The builtins' names.
_LOADS_METHODS = sys.version_info >= (3, 12)  # `LOAD_ATTR` does, where the lowest bit of its argument is set


class How(enum.Enum):
    """What is done with an attribute, or with what is under a key. To delete it is to set it."""

    READ = "read"
    CALL = "call"
    SET = "set"
    UPDATE = "update"  #: read, and then set
    READ_ITEM = "read item"
    SET_ITEM = "set item"
    SUPER = "super"  #: a method is called that a base class has, if `super` is the builtin
    CLASS = "class"  #: it is asked for its class by `type`, if that is the builtin


#: Whose names must still be theirs where an object is used so.
OF_BUILTINS: Mapping[How, str] = {How.SUPER: SUPER, How.CLASS: TYPE}


class Use(NamedTuple):
    """`part`: an attribute's name, or a key; empty where it is none of what the object has."""

    how: How
    part: str


def uses(instructions: Sequence[dis.Instruction]) -> Mapping[int, Use]:
    """Of each place that loads a variable, the last one where there are two, the one attribute that is used of it."""
    places = [place for place, one in enumerate(instructions) if one.opname != "EXTENDED_ARG"]
    told = [instructions[place] for place in places]
    found = ((place, _use(told, at)) for at, place in enumerate(places) if _loads(told[at]))
    return {place: use for place, use in found if use is not None}


def _loads(instruction: dis.Instruction) -> bool:
    acts = next((acts[instruction.opname] for acts in ACTS.values() if instruction.opname in acts), ())
    return acts[-1:] == (Act.READ,)


def _use(instructions: Sequence[dis.Instruction], at: int) -> Use | None:
    following = instructions[at + 1 : at + 3]
    if len(following) == 2 and (following[0].opname, following[0].arg) == ("COPY", 1):
        return _given_back(instructions, at + 2)
    if _is_asked_for_its_class(instructions[at - 1] if at else None, following):
        return Use(How.CLASS, "")
    return (_of_attribute(following[0]) or _of_item(*following[:2])) if following else None


def _is_asked_for_its_class(before: dis.Instruction | None, following: Sequence[dis.Instruction]) -> bool:
    """`type(self)`: a function's name is loaded together with the null that stands beside what is called."""
    is_type = before is not None and (before.opname, before.argval, (before.arg or 0) & 1) == ("LOAD_GLOBAL", TYPE, 1)
    calls = [one.arg for one in following if one.opname in ("PRECALL", "CALL")]
    return is_type and bool(calls) and following[0].opname in ("PRECALL", "CALL") and calls[0] == 1


def _of_item(key: dis.Instruction, taking: dis.Instruction | None = None) -> Use | None:
    if taking is None or key.opname != "LOAD_CONST" or type(key.argval) is not str:
        return None
    if taking.opname in ("STORE_SUBSCR", "DELETE_SUBSCR"):
        return Use(How.SET_ITEM, key.argval)
    is_read = taking.opname == "BINARY_SUBSCR" or (taking.opname, taking.argrepr) == ("BINARY_OP", "[]")  # since 3.14
    return Use(How.READ_ITEM, key.argval) if is_read else None


def items_read(uses: Iterable[Use]) -> frozenset[str] | None:
    """The keys under which a dictionary is read that is used so alone. None: it is used otherwise, too."""
    found = frozenset(uses)
    is_by_keys = all(use.how in (How.READ_ITEM, How.SET_ITEM) for use in found)
    return frozenset(use.part for use in found if use.how is How.READ_ITEM) if is_by_keys else None


def _of_attribute(taking: dis.Instruction) -> Use | None:
    if taking.opname in ("STORE_ATTR", "DELETE_ATTR"):
        return Use(How.SET, taking.argval)
    if taking.opname == "LOAD_SUPER_ATTR":
        return Use(How.SUPER, taking.argval) if (taking.arg or 0) & 1 else None
    if taking.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
        return None
    is_called = bool((taking.arg or 0) & 1) if _LOADS_METHODS else taking.opname == "LOAD_METHOD"
    return Use(How.CALL if is_called else How.READ, taking.argval)


def _given_back(instructions: Sequence[dis.Instruction], at: int) -> Use | None:
    """`self.count += 1`: a copy is taken the attribute of at this place; then the object takes what came of that."""
    use = _of_attribute(instructions[at])
    if use is None:
        return None
    height = 2  # of the object, and of what is made of its attribute
    for here, after in zip(instructions[at + 1 :], instructions[at + 2 :], strict=False):
        if (here.opname, here.arg, height) == ("SWAP", 2, 2):
            is_same = _of_attribute(after) == Use(How.SET, use.part)
            return Use(How.UPDATE, use.part) if is_same else None
        height += 0 if here.opname in LEAVES else dis.stack_effect(here.opcode, here.arg)
        if here.opname in LEAVES or height < 2:
            return None
    return None
