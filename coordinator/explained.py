"""Errors that tell people what to do: the fact with its value, what was expected, the next step.

Responsible for how such an error is put together and read. Refuses to know what went wrong. Invariant: whoever catches
one finds its three parts apart, as the protocol tells them, and its text whole.
"""

from __future__ import annotations


class Explained(Exception):  # noqa: N818 - a part of errors, which have names of their own
    """What went wrong, in three parts."""

    def __init__(self, fact: str, expected: str, next_step: str) -> None:
        super().__init__(fact, expected, next_step)
        self.fact = fact
        self.expected = expected
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.fact}; expected {self.expected}. {self.next_step}"
