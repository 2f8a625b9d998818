"""The texts that stand in code, and which variables they name.

Responsible for: the constants of a code object that are texts; what libraries that look into their callers would read
by them.
Refuses to know: who is given a text.
Invariant: whatever is marked as a name, or written as a call, counts as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import CodeType

#: How libraries that look into their callers are told of a variable: `"{ranks}"`, `"@ranks"`. And a call: `"main()"`.
_MARKED = re.compile(r"[{@$]\s*([^\W\d]\w*)|\b([^\W\d]\w*)\(")


def texts(constants: tuple[object, ...] | frozenset[object]) -> Iterator[str]:
    """Those among constants, and in tuples and sets of constants."""
    for constant in constants:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, tuple | frozenset):
            yield from texts(constant)


def named(code: CodeType) -> frozenset[str]:
    """What the texts of a code object name."""
    found = (each for text in texts(code.co_consts) for each in _MARKED.finditer(text))
    return frozenset(each[each.lastindex or 0] for each in found)
