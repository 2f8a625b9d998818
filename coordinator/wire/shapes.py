"""A dataclass and its message, compiled both ways.

Responsible for moving the fields of the core's values into protobuf messages of the same name and back. Refuses to know
any single class: what it does follows from field names and types alone. Invariant: a shape exists only where the
dataclass and its message have the same fields, and what is written reads back equal.

The rules. A field stands under its own name. An enum `Hold.NONE` is `HOLD_NONE`. A union is a `oneof` with one member
for each class, `DirectiveKind` as `directive_kind`. None is absent. What is absent has the dataclass's default, or is
None; where it can be neither, that is an error.
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any, Generic, TypeVar

from google.protobuf.message import Message
from shuffle_lifecycle.v1 import common_pb2, errors_pb2, events_pb2, service_pb2

from coordinator.core.making import maker
from coordinator.wire.errors import Malformed, ShapeMismatch

T = TypeVar("T")
Fields = dict[str, Any]
Absent = Callable[[], Any]

#: Fields that messages have and dataclasses do not.
SEALS = frozenset({"checksum"})
_MODULES = (common_pb2, errors_pb2, events_pb2, service_pb2)
_MISSING = dataclasses.MISSING


@dataclasses.dataclass(frozen=True, slots=True)
class Shape(Generic[T]):
    """How one dataclass stands in its message."""

    plain: type[T]
    message: type[Message]
    fields_of: Callable[[T], Fields]  #: What the message's constructor takes.
    read: Callable[[Any], T]  #: The value that says the same as the message.

    def write(self, value: T) -> Any:
        """The message that says the same as the value."""
        return self.message(**self.fields_of(value))


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One field as source: the item it is in a dict of fields of `value`, and how it is read from `message`."""

    item: str
    read: str


def snake(name: str) -> str:
    """`GetShuffleId` as fields are named: `get_shuffle_id`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def message_class(name: str) -> type[Message]:
    """The generated class of this name."""
    for module in _MODULES:
        found = getattr(module, name, None)
        if isinstance(found, type):
            return typing.cast(type[Message], found)
    raise ShapeMismatch(f"the protocol has no message {name}; expected one for the class of that name")


def shape_of(plain: type[T]) -> Shape[T]:
    """The shape of the dataclass; raises where its message differs."""
    key: Any = plain
    shape: Shape[T] = _compiled(key)
    return shape


@cache
def _compiled(plain: Any) -> Shape[Any]:
    message = message_class(plain.__name__)
    hints = typing.get_type_hints(plain)
    fields = dataclasses.fields(plain)
    _check_same_fields(plain, message, {field.name: hints[field.name] for field in fields})
    names = Names({"plain": maker(plain)})
    rows = [_row(names, message, field, hints[field.name]) for field in fields]
    fields_of = names.compile(f"lambda value: {{{', '.join(row.item for row in rows)}}}")
    read = names.compile(f"lambda message: plain({', '.join(row.read for row in rows)})")
    return Shape(plain, message, fields_of, read)


class Names:
    """The objects that compiled source speaks of, each under a name of its own."""

    def __init__(self, known: dict[str, Any]) -> None:
        self._known = known

    def bind(self, content: object) -> str:
        """A name for the object."""
        name = f"_{len(self._known)}"
        self._known[name] = content
        return name

    def compile(self, source: str) -> Any:
        """The function of this source, as `dataclasses` makes its own: one call a value, whatever its fields."""
        return eval(source, self._known)  # the source is made of field names alone


def members(union: object) -> dict[str, Any]:
    """The classes of a union by the names of their `oneof` members."""
    return {snake(member.__name__): member for member in typing.get_args(union)}


def enum_numbers(plain: type[Enum], described: Any) -> dict[Any, int]:
    """The protocol's number of each member; raises unless both have the same names."""
    prefix = snake(plain.__name__).upper()
    numbers = {member: f"{prefix}_{member.name}" for member in plain}
    ours, theirs = {*numbers.values(), f"{prefix}_UNSPECIFIED"}, set(described.values_by_name)
    if ours != theirs:
        raise ShapeMismatch(f"enum {plain.__name__} and its message differ in {sorted(ours ^ theirs)}")
    return {member: described.values_by_name[name].number for member, name in numbers.items()}


def _check_same_fields(plain: type, message: type[Message], hints: Mapping[str, Any]) -> None:
    ours: set[str] = set()
    for name, hint in hints.items():
        ours |= set(members(hint)) if _is_union_of_classes(hint) else {name}
    theirs = set(message.DESCRIPTOR.fields_by_name) - SEALS
    if ours != theirs:
        raise ShapeMismatch(f"{plain.__name__} and its message differ in {sorted(ours ^ theirs)}")


def _row(names: Names, message: type[Message], field: dataclasses.Field[Any], hint: Any) -> Row:
    if _is_union_of_classes(hint):
        return _union_row(names, field.name, hint)
    if typing.get_origin(hint) is tuple:
        return _tuple_row(names, field.name, typing.get_args(hint)[0])
    described: Any = message.DESCRIPTOR.fields_by_name[field.name]
    only = _without_none(hint)
    absent = _absent(f"{described.containing_type.name}.{field.name}", field, may_be_none=only is not hint)
    if isinstance(only, type) and issubclass(only, Enum):
        return _enum_row(names, only, described, absent)
    if dataclasses.is_dataclass(only):
        return _message_row(names, field.name, shape_of(typing.cast(type, only)), absent)
    return _scalar_row(names, described, field, absent)


def _scalar_row(names: Names, described: Any, field: dataclasses.Field[Any], absent: Absent) -> Row:
    name = described.name
    item = f"'{name}': value.{name}"
    if described.has_presence:
        return Row(item, f"message.{name} if message.HasField('{name}') else {names.bind(absent)}()")
    if field.default not in (_MISSING, described.default_value):
        raise ShapeMismatch(f"{name} has the default {field.default!r}; expected its field to be `optional`")
    return Row(item, f"message.{name}")


def _enum_row(names: Names, plain: type[Enum], described: Any, absent: Absent) -> Row:
    numbers = enum_numbers(plain, described.enum_type)
    values = {number: member for member, number in numbers.items()}
    place = f"{described.containing_type.name}.{described.name}"

    def other(number: int) -> Any:
        if number:
            raise Malformed(f"{place} is the unknown value {number}", f"one of {', '.join(m.name for m in plain)}")
        return absent()

    name, number_of = described.name, names.bind(numbers.get)
    read = f"{names.bind(values.get)}(message.{name}) or {names.bind(other)}(message.{name})"
    return Row(f"'{name}': {number_of}(value.{name})", read)


def _message_row(names: Names, name: str, shape: Shape[Any], absent: Absent) -> Row:
    item = f"'{name}': None if value.{name} is None else {names.bind(shape.fields_of)}(value.{name})"
    read = f"{names.bind(shape.read)}(message.{name}) if message.HasField('{name}') else {names.bind(absent)}()"
    return Row(item, read)


def _tuple_row(names: Names, name: str, item: Any) -> Row:
    """Most lists are empty. One that is not is copied first: going through protobuf's own takes three times as long."""
    if not dataclasses.is_dataclass(item):
        return Row(f"'{name}': value.{name}", f"tuple(there[:]) if (there := message.{name}) else ()")
    shape: Shape[Any] = shape_of(typing.cast(type, item))
    fields_of, read = names.bind(shape.fields_of), names.bind(shape.read)
    return Row(
        f"'{name}': [{fields_of}(one) for one in value.{name}]",
        f"tuple([{read}(one) for one in there[:]]) if (there := message.{name}) else ()",
    )


def _union_row(names: Names, name: str, union: Any) -> Row:
    shapes = {member: shape_of(plain) for member, plain in members(union).items()}
    chosen = {shape.plain: (member, shape.fields_of) for member, shape in shapes.items()}

    def fields_of(value: Any) -> Fields:
        member, write = chosen[type(value)]
        return {member: write(value)}

    def read(message: Any) -> Any:
        member = message.WhichOneof(name)
        if member is None:
            raise Malformed(f"{name} is missing", f"one of {', '.join(shapes)}")
        return shapes[member].read(getattr(message, member))

    return Row(f"**{names.bind(fields_of)}(value.{name})", f"{names.bind(read)}(message)")


def _absent(place: str, field: dataclasses.Field[Any], may_be_none: bool) -> Absent:
    """What stands for a field that is absent: its default, None where the type allows it, or an error."""
    default = field.default if field.default_factory is _MISSING else field.default_factory()
    if default is _MISSING and may_be_none:
        default = None

    def absent() -> Any:
        if default is _MISSING:
            raise Malformed(f"{place} is missing", "a value")
        return default

    return absent


def _without_none(hint: Any) -> Any:
    """`X` of `X | None`."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return next(one for one in typing.get_args(hint) if one is not type(None))
    return hint


def _is_union_of_classes(hint: Any) -> bool:
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return False
    return sum(one is not type(None) for one in typing.get_args(hint)) > 1
