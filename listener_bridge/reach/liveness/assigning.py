"""Which attributes code gives to objects: what a class has now, it may have otherwise by then.

    self.raw = frame            # to an object: its class has what it had
    Job.run = faster            # to what may be a class

Responsible for: the names of such attributes, and the ways to give one of any name; the variables that functions share
and code gives something to.
Refuses to know: objects, and what is concluded (`methods`).
Invariant: an attribute that instructions give by its name is named; in doubt what it is given to is a class.
"""

from __future__ import annotations

import dis
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from listener_bridge.reach.liveness.opcodes import FAST, REBINDS, Act

_GIVES = ("STORE_ATTR", "DELETE_ATTR")

#: Who names one of these, as a variable, an attribute or what is imported, may give objects attributes of any name.
_GIVERS = frozenset({
    "delattr", "monkeypatch", "patch", "patch_function_wrapper", "setattr", "wrap_function_wrapper", "wrap_object",
})  # fmt: skip


class Assigned(NamedTuple):
    """Attributes that code gives to objects, or to classes. `others`: to what is not called `self`; `any`: all.

    `rebound`: variables that several functions share, to which it gives something.
    """

    names: frozenset[str]
    others: frozenset[str]
    any: bool
    rebound: frozenset[str] = frozenset()


def assigned(instructions: Sequence[dis.Instruction], named: Collection[str]) -> Assigned:
    """By these instructions, without prefixes, of code that names all of `named`."""
    names = frozenset(one.argval for one in instructions if one.opname in _GIVES)
    any_name = not _GIVERS.isdisjoint(named) or _gives_to_types(instructions)
    rebound = frozenset(one.argval for one in instructions if one.opname in REBINDS)
    return Assigned(names, frozenset(_to_others(instructions)), any_name, rebound)


def together(each: Iterable[Assigned]) -> Assigned:
    """By several pieces of code."""
    names, others, any_name, rebound = frozenset[str](), frozenset[str](), False, frozenset[str]()
    for one in each:
        names, others, rebound = names | one.names, others | one.others, rebound | one.rebound
        any_name = any_name or one.any
    return Assigned(names, others, any_name, rebound)


def _to_others(instructions: Sequence[dis.Instruction]) -> Iterator[str]:
    """To anything but what is called `self`, which is hardly a class."""
    around = zip((None, None, *instructions), (None, *instructions), instructions, strict=False)
    for value, before, here in around:
        if here.opname in _GIVES and not _is_self(before) and not _is_sum(value, before):
            yield here.argval


def _is_self(loaded: dis.Instruction | None) -> bool:
    if loaded is None or FAST.get(loaded.opname, ())[-1:] != (Act.READ,):
        return False
    name: object = loaded.argval[-1] if isinstance(loaded.argval, tuple) else loaded.argval
    return name == "self"


def _is_sum(made: dis.Instruction | None, swap: dis.Instruction | None) -> bool:
    """`job.count += 1`: what an operator makes is no descriptor."""
    return made is not None and swap is not None and (made.opname, swap.opname) == ("BINARY_OP", "SWAP")


def _gives_to_types(instructions: Sequence[dis.Instruction]) -> bool:
    """`type.__setattr__(Job, name, method)`"""
    following = zip(instructions, instructions[1:], strict=False)  # noqa: RUF007 - Python 3.10 imports this
    return any(one.argval == "type" and after.argval in ("__setattr__", "__delattr__") for one, after in following)
