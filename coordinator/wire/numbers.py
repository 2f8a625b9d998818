"""How large a number in a command may be.

Responsible for numbers that Spark, or anybody's clock and disks, could mean. Refuses to know what they count; a field's
name and type say which bound holds. Invariant: what has passed fits into every field that an event or a record of it
has, also where it is added to a time; what is stored is never checked here, so every log that was written is read.
"""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from typing import Any

from google.protobuf.message import Message

from coordinator.wire.errors import Malformed

INT_MAX = 2**31 - 1  #: Spark's ids and counts are Java's int.
COUNT_MAX = 2**53 - 1  #: Bytes, and ids that only grow: whole in every language's numbers.
DURATION_MS_MAX = 100 * 365 * 24 * 3_600_000  #: A hundred years.


def check_numbers(message: Message) -> None:
    """Raises `Malformed`, which names the first field whose number is too large."""
    for field, value in message.ListFields():
        if isinstance(value, Message):
            check_numbers(value)
        elif type(value) is int:
            _check(field, value)
        elif not isinstance(value, (str, bytes, bool, float)):
            _check_many(field, value)


def _check_many(field: Any, values: Any) -> None:
    if type(values[0]) is int:
        _check(field, max(values))
    elif isinstance(values[0], Message):
        kind = values[0].DESCRIPTOR
        if _is_of_numbers(kind):
            for part in kind.fields:
                _check(part, max(map(attrgetter(part.name), values)))
        else:
            for value in values:
                check_numbers(value)


def _check(field: Any, number: int) -> None:
    limit = _limit(field)
    if number > limit:
        place = f"{field.containing_type.name}.{field.name}"
        raise Malformed(f"{place} is {number}", f"at most {limit}")


@cache
def _limit(field: Any) -> int:
    if field.name.endswith("_ms"):
        return DURATION_MS_MAX
    return INT_MAX if field.cpp_type in (field.CPPTYPE_UINT32, field.CPPTYPE_INT32) else COUNT_MAX


@cache
def _is_of_numbers(kind: Any) -> bool:
    """Whether a message of this kind has whole numbers alone: a list of them is looked at field by field."""
    whole = ("UINT32", "INT32", "UINT64", "INT64")
    types = {getattr(field, f"CPPTYPE_{name}") for field in kind.fields for name in whole}
    return all(field.cpp_type in types and not hasattr(field.default_value, "__len__") for field in kind.fields)
