"""Which attributes code gives to objects: what a class has now, it may have otherwise by then.

    self.raw = frame            # to an object: its class has what it had
    Job.run = faster            # to what may be a class

Responsible for: the names of such attributes, and the ways to give one of any name, or to come by an object otherwise;
the variables that functions share and code gives something to, and the globals of it that hide a builtin.
Refuses to know: objects, and what is concluded (`methods`).
Invariant: an attribute that instructions give by its name is named; in doubt what it is given to is a class.
"""

from __future__ import annotations

import dis
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from listener_bridge.reach.liveness.opcodes import FAST, REBINDS, Act
from listener_bridge.reach.liveness.passing import RUNNERS
from listener_bridge.reach.liveness.using import SUPER, TYPE

SELF = "self"  #: What code calls so is hardly a class.
_GIVES = ("STORE_ATTR", "DELETE_ATTR")
_TAKES = ("LOAD_ATTR", "LOAD_METHOD")
_MAKES_GLOBALS = ("STORE_GLOBAL", "STORE_NAME")  #: The second: in a module's own code.
_BUILTINS = RUNNERS | {SUPER, TYPE}

#: Who names one of these, as a variable, an attribute or what is imported, may give objects attributes of any name, or
#: run code that does: a text, or a module once more (for the first time: `bypasses.BY_HAND`).
_GIVERS = frozenset({
    "delattr", "exec", "monkeypatch", "patch", "patch_function_wrapper", "reload", "setattr", "wrap_function_wrapper",
    "wrap_object",
})  # fmt: skip

#: What gives objects attributes, and the classes whose way of it gives them to classes.
_SETTERS = frozenset({"__delattr__", "__setattr__"})
_META = frozenset({"ABCMeta", "type"})

#: Of an `AttributeError`: the object that had no such attribute.
_OF_ERRORS = "obj"


class Assigned(NamedTuple):
    """Attributes that code gives to objects, or to classes. `others`: to what is not called `self`; `any`: all.

    So it is, too, where it may get hold of an object that it has asked for one. `rebound`: variables that several
    functions share, to which it gives something, and builtins' names, which it makes globals.
    """

    names: frozenset[str]
    others: frozenset[str]
    any: bool
    rebound: frozenset[str] = frozenset()


def assigned(instructions: Sequence[dis.Instruction], named: Collection[str], is_module: bool = False) -> Assigned:
    """By these instructions, without prefixes, of code that names all of `named`; perhaps of a module's own."""
    names = frozenset(one.argval for one in instructions if one.opname in _GIVES)
    any_name = not _GIVERS.isdisjoint(named) or _gives_to_types(named) or any(_asks_errors(instructions))
    shared = frozenset(one.argval for one in instructions if one.opname in REBINDS)
    makes_globals = _MAKES_GLOBALS if is_module else _MAKES_GLOBALS[:1]
    hidden = _BUILTINS.intersection(one.argval for one in instructions if one.opname in makes_globals)
    return Assigned(names, frozenset(_to_others(instructions)), any_name, shared | hidden)


def together(each: Iterable[Assigned]) -> Assigned:
    """By several pieces of code."""
    names, others, any_name, rebound = frozenset[str](), frozenset[str](), False, frozenset[str]()
    for one in each:
        names, others, rebound = names | one.names, others | one.others, rebound | one.rebound
        any_name = any_name or one.any
    return Assigned(names, others, any_name, rebound)


def _to_others(instructions: Sequence[dis.Instruction]) -> Iterator[str]:
    """To anything but what is called `self`."""
    around = zip((None, None, *instructions), (None, *instructions), instructions, strict=False)
    for value, before, here in around:
        if here.opname in _GIVES and not _is_self(before) and not _is_sum(value, before):
            yield here.argval


def _is_self(loaded: dis.Instruction | None) -> bool:
    if loaded is None or FAST.get(loaded.opname, ())[-1:] != (Act.READ,):
        return False
    name: object = loaded.argval[-1] if isinstance(loaded.argval, tuple) else loaded.argval
    return name == SELF


def _is_sum(made: dis.Instruction | None, swap: dis.Instruction | None) -> bool:
    """`job.count += 1`: what an operator makes is no descriptor."""
    return made is not None and swap is not None and (made.opname, swap.opname) == ("BINARY_OP", "SWAP")


def _gives_to_types(named: Collection[str]) -> bool:
    """`type.__setattr__(Job, name, method)`, `type(Job).__setattr__(…)`"""
    return not (_SETTERS.isdisjoint(named) or _META.isdisjoint(named))


def _asks_errors(instructions: Sequence[dis.Instruction]) -> Iterator[bool]:
    """`error.obj`, `getattr(error, "obj")`, `case AttributeError(obj=job)`. What is called `self` is hardly one."""
    for before, here in zip((None, *instructions), instructions, strict=False):
        if here.opname in _TAKES:
            yield here.argval == _OF_ERRORS and not _is_self(before)
        elif here.opname == "MATCH_CLASS" and before is not None and isinstance(before.argval, tuple):
            yield _OF_ERRORS in before.argval
        else:
            yield here.opname == "LOAD_CONST" and here.argval == _OF_ERRORS
