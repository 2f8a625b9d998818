"""Which attributes code assigns: a class that is given a new one may behave differently from then on.

    self.raw = frame            # an attribute of an object: its class stays as it is
    Job.run = faster            # perhaps an attribute of a class

Responsible for: the names of assigned attributes, and whether code may assign one of any name; the shared variables to
which code assigns something, and the globals by which it hides a builtin.
Refuses to know: objects, and what is concluded (`methods`).
Invariant: every attribute that an instruction assigns by its name is told; in doubt its object counts as a class.
"""

from __future__ import annotations

import dis
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from listener_bridge.reach.liveness.opcodes import FAST, REBINDS, Act
from listener_bridge.reach.liveness.passing import RUNNERS
from listener_bridge.reach.liveness.using import SUPER, TYPE

SELF = "self"  #: An object of this name is not taken for a class.
_GIVES = ("STORE_ATTR", "DELETE_ATTR")
_TAKES = ("LOAD_ATTR", "LOAD_METHOD")
_MAKES_GLOBALS = ("STORE_GLOBAL", "STORE_NAME")  #: The second: in a module's own code.
_BUILTINS = RUNNERS | {SUPER, TYPE}

#: Code that names one of these, as a variable, an attribute or an import, may assign attributes of any name, or run
#: code that does: a text, or a module a second time (for the first time see `bypasses.BY_HAND`).
_GIVERS = frozenset({
    "delattr", "exec", "monkeypatch", "patch", "patch_function_wrapper", "reload", "setattr", "wrap_function_wrapper",
    "wrap_object",
})  # fmt: skip

#: Methods that assign attributes, and the classes whose methods of that name assign them to classes.
_SETTERS = frozenset({"__delattr__", "__setattr__"})
_META = frozenset({"ABCMeta", "type"})

#: The attribute of an `AttributeError` that has the object.
_OF_ERRORS = "obj"


class Assigned(NamedTuple):
    """What code assigns. `names`: attributes of any object; `others`: of objects that are not called `self`.

    `any`: attributes of any name, on any object; or it may get an object from an `AttributeError`. `rebound`: variables
    that several functions share and to which it assigns; and names of builtins that it makes globals.
    """

    names: frozenset[str]
    others: frozenset[str]
    any: bool
    rebound: frozenset[str] = frozenset()


def assigned(instructions: Sequence[dis.Instruction], named: Collection[str], is_module: bool = False) -> Assigned:
    """What code with these instructions (without prefixes) assigns. `named`: all names and texts in it."""
    names = frozenset(one.argval for one in instructions if one.opname in _GIVES)
    any_name = not _GIVERS.isdisjoint(named) or _gives_to_types(named) or any(_asks_errors(instructions))
    shared = frozenset(one.argval for one in instructions if one.opname in REBINDS)
    makes_globals = _MAKES_GLOBALS if is_module else _MAKES_GLOBALS[:1]
    hidden = _BUILTINS.intersection(one.argval for one in instructions if one.opname in makes_globals)
    return Assigned(names, frozenset(_to_others(instructions)), any_name, shared | hidden)


def together(each: Iterable[Assigned]) -> Assigned:
    """What several pieces of code assign."""
    names, others, any_name, rebound = frozenset[str](), frozenset[str](), False, frozenset[str]()
    for one in each:
        names, others, rebound = names | one.names, others | one.others, rebound | one.rebound
        any_name = any_name or one.any
    return Assigned(names, others, any_name, rebound)


def _to_others(instructions: Sequence[dis.Instruction]) -> Iterator[str]:
    """The attributes that are assigned to anything but `self`."""
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
    """Whether the value comes from an operator, as of `job.count += 1`: it is then taken for no descriptor."""
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
