"""Keys from parts and back.

Responsible for: one text form of a key whose order is the order of its parts. Refuses to know: what the parts mean.
Invariant: `split_key(join_key(*parts))` gives the parts back as text, and numbers sort as numbers.

A part is percent-encoded where it has a character that would end it or cannot be printed; a number is 20 digits wide,
enough for 64 bits.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from state_backend.errors import InvalidKey

SEPARATOR = "/"
NUMBER_DIGITS = 20

_UNESCAPED = " !\"#$&'()*+,:;<=>?@[\\]^`{|}~"


def join_key(*parts: str | int) -> str:
    """`join_key("app", 7)` is `app/00000000000000000007`."""
    return SEPARATOR.join(_encode(part) for part in parts)


def key_prefix(*parts: str | int) -> str:
    """The prefix of the keys that begin with these parts and have more: `app/`, which `app2/…` does not meet."""
    return join_key(*parts) + SEPARATOR


def split_key(key: str) -> tuple[str, ...]:
    """The parts, decoded; numbers as their digits (`int` reads them)."""
    return tuple(unquote(part, errors="strict") for part in key.split(SEPARATOR))


def number_of(part: str) -> int | None:
    """The number that a part is, as `join_key` writes it; None: it is none, as in a damaged key."""
    return int(part) if part.isascii() and part.isdecimal() and len(part) == NUMBER_DIGITS else None


def first_number_of(key: str, numbers: int) -> int | None:
    """The first of so many numbers behind the first part of a key; None: it is no such key, as where it is damaged."""
    found = [number_of(part) for part in key.split(SEPARATOR)[1:]]
    return found[0] if len(found) == numbers and None not in found else None


def _encode(part: str | int) -> str:
    if isinstance(part, int):
        return _digits(part)
    if not part:
        raise InvalidKey(part, "has an empty part")
    return quote(part, safe=_UNESCAPED)


def _digits(number: int) -> str:
    if not 0 <= number < 10**NUMBER_DIGITS:
        raise InvalidKey(str(number), f"has a number outside 0 to 10^{NUMBER_DIGITS} - 1")
    return f"{number:0{NUMBER_DIGITS}d}"
