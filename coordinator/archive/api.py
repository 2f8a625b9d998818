"""The contract of an archive: named files that are written once.

Responsible for the promises, and for saying what can be wrong with an archive. Refuses to know what files hold, and
who writes when. Invariant: a file is there with all its bytes or not at all, as far as the place allows; who needs to
be sure reads it back.

Methods block: whoever has an event loop calls them aside.
"""

# The names say what is so; "Error" at their end would add nothing.
# ruff: noqa: N818

from __future__ import annotations

from abc import ABC, abstractmethod

from coordinator.explained import Explained


class ArchiveError(Explained):
    """Something is wrong with the archive. What is in the store stays there."""


class WrongArchive(ArchiveError):
    """The address names no archive that can be used here."""


class ArchiveAway(ArchiveError):
    """The place cannot be reached, read or written."""

    def __init__(self, where: str, cause: object) -> None:
        super().__init__(
            f"the archive at {where} failed ({cause})",
            "a place that can be reached, read and written",
            "Nothing has left the store meanwhile; check the place and its rights.",
        )


class NotReadBack(ArchiveError):
    """What was read is not what was written."""

    def __init__(self, name: str, cause: object) -> None:
        super().__init__(
            f"{name} was written to the archive and did not read back ({cause})",
            "the same bytes",
            "Nothing has left the store for it; check the place.",
        )


class OtherLog(ArchiveError):
    """The archive holds another log of the same events: nothing is written over it, or beside it."""

    def __init__(self, name: str, fact: str) -> None:
        super().__init__(
            f"{name} is in the archive already and {fact}",
            "nothing, or what the store holds",
            "Nothing was changed: two stores share an archive, or a store was rebuilt. Give each store its own.",
        )


class Missing(ArchiveError):
    """The archive should hold these events, and does not."""

    def __init__(self, application: str, first: int, where: str) -> None:
        super().__init__(
            f"event {first} of application {application} is neither in the store nor in the archive at {where}",
            "a file that holds it",
            "Copy the file back from a backup, or name the archive that this store was given.",
        )
        self.first = first


class Archive(ABC):
    """One place for files. Names have folders, with / between them."""

    where: str  #: As people call it; without secrets.

    @property
    def is_missing(self) -> bool:
        """Known not to be there, which may be since nothing has moved to it yet. Raises nothing."""
        return False

    @property
    def not_there(self) -> str:
        """What is said where it `is_missing`."""
        return f"the archive {self.where} is not there: nothing has moved to it yet, or it has another name"

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """The names of the files right in a folder, sorted; none where there is no such folder."""

    @abstractmethod
    def folders(self) -> list[str]:
        """The folders right at the top, sorted."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """The file's bytes. Raises `FileNotFoundError`, `ArchiveAway`."""

    @abstractmethod
    def write(self, name: str, content: bytes) -> None:
        """Makes the file, or writes it anew; durable when it returns, as far as the place promises that."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Takes the file away; one that is missing is no error."""
