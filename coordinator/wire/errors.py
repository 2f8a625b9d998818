"""What can be wrong with bytes and messages.

Responsible for saying fact, value, expectation and next step of everything that cannot be read or written. Refuses to
know who sent or stored it. Invariant: bytes that cannot be read whole are an error, never a guess.
"""

# Names say what is so (`Torn`), as the rest of the vocabulary does; an `Error` behind each would say nothing more.
# ruff: noqa: N818

from __future__ import annotations

from coordinator.explained import Explained


class WireError(Explained, ValueError):
    """Something cannot be read or written."""


class Malformed(WireError):
    """A message that can be parsed and makes no sense."""

    def __init__(self, fact: str, expected: str, next_step: str = "Nothing was done; correct the message.") -> None:
        super().__init__(fact, expected, next_step)

    def at(self, place: str) -> Malformed:
        """The same, with the place where it was found."""
        return Malformed(f"{place}: {self.fact}", self.expected, self.next_step)


class NoFile(Malformed):
    """There is no such file."""


class Torn(WireError):
    """Bytes end before they should: the writer died, or the copy is not finished."""

    def __init__(self, place: str, fact: str) -> None:
        super().__init__(
            f"{place}: {fact}",
            "a whole record",
            "What stands before it is good; cut here, or copy it again.",
        )


class Corrupt(WireError):
    """Bytes are not what was written."""

    def __init__(
        self,
        place: str,
        fact: str,
        expected: str,
        next_step: str = "Restore it from another copy: it is not read over.",
    ) -> None:
        super().__init__(f"{place}: {fact}", expected, next_step)


class UnknownEvent(WireError):
    """A record holds an event of another release, and its writer did not mark it ignorable."""

    def __init__(self, place: str, sequence: int, field_number: int) -> None:
        super().__init__(
            f"{place}: record {sequence} holds the event with field number {field_number}, which is unknown here",
            "an event of this release, or one that its writer marked ignorable",
            "Read it with the release that wrote it, or a newer one.",
        )
        self.sequence = sequence
        self.field_number = field_number


class UnknownKind(WireError):
    """The same, of an export, which names its events."""

    def __init__(self, place: str, sequence: int, kind: str) -> None:
        super().__init__(
            f"{place}: event {sequence} is called {kind!r}, which is unknown here",
            "an event of this release",
            "Read it with the release that wrote it, or a newer one.",
        )
        self.sequence = sequence


class TooNew(WireError):
    """A newer release wrote it."""

    def __init__(self, place: str, version: int, known: int) -> None:
        super().__init__(
            f"{place}: its form has version {version}",
            f"at most {known}",
            "Upgrade this program to the release that wrote it, or a newer one.",
        )
        self.version = version


class OtherRules(WireError):
    """A snapshot of another release, earlier or later, to which events mean something else."""

    def __init__(self, place: str, version: int, known: int) -> None:
        super().__init__(
            f"{place}: its state was folded by rules of version {version}",
            f"version {known}, as here",
            "Nothing is lost: the log is folded instead.",
        )


class ShapeMismatch(TypeError):
    """A dataclass and its message differ: one of them was changed alone."""

    def __init__(self, fact: str) -> None:
        super().__init__(f"{fact}. Add to proto/shuffle_lifecycle/v1 what is missing and run `make generate`.")
