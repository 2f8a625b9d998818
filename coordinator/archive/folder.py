"""An archive in a folder of this machine.

Responsible for files that are whole or not there: written aside, flushed, then renamed. Refuses to know what they hold.
Invariant: nothing outside the folder is read or written.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from coordinator.archive.api import Archive, ArchiveAway

_ASIDE = ".part"


class Folder(Archive):
    """A folder; made when the first file is written."""

    def __init__(self, path: Path) -> None:
        self.where = str(path)
        self._path = path

    @property
    def is_missing(self) -> bool:
        return not os.path.lexists(self._path)

    def names(self, folder: str) -> list[str]:
        there = self._entries(self._path / folder, Path.is_file)
        return sorted(f"{folder}/{entry.name}" for entry in there if not entry.name.endswith(_ASIDE))

    def folders(self) -> list[str]:
        return sorted(entry.name for entry in self._entries(self._path, Path.is_dir))

    def _entries(self, path: Path, kind: Callable[[Path], bool]) -> list[Path]:
        try:
            return [entry for entry in path.iterdir() if kind(entry)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ArchiveAway(self.where, error) from error

    def read(self, name: str) -> bytes:
        try:
            return (self._path / name).read_bytes()
        except FileNotFoundError:
            raise
        except OSError as error:
            raise ArchiveAway(self.where, error) from error

    def write(self, name: str, content: bytes) -> None:
        path = self._path / name
        try:
            _make(path.parent)
            _put(path, content)
        except OSError as error:
            raise ArchiveAway(self.where, error) from error

    def remove(self, name: str) -> None:
        try:
            (self._path / name).unlink(missing_ok=True)
        except OSError as error:
            raise ArchiveAway(self.where, error) from error


def _make(folder: Path) -> None:
    """The folder, and those above it; each new one's name is on the disk too."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(exist_ok=True)
        _flush(folder.parent)


def _put(path: Path, content: bytes) -> None:
    """What is there later is taken for written: where its name could not be flushed, it is not there."""
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex}{_ASIDE}")  # nobody else writes there
    with _gone_unless_done(draft):
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    with _gone_unless_done(path):
        _flush(path.parent)


@contextmanager
def _gone_unless_done(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError:
        with suppress(OSError):
            path.unlink()
        raise


def _flush(folder: Path) -> None:
    """The new name is on the disk too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
