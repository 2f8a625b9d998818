"""From an address to an archive.

Responsible for telling folders from URLs. Refuses to read or write anything. Invariant: opening makes nothing.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from coordinator.archive.api import Archive, WrongArchive
from coordinator.archive.folder import Folder

_FILE = "file://"


def open_archive(address: str) -> Archive:
    """The archive there. Raises `WrongArchive`."""
    if address.startswith(_FILE):
        return Folder(_absolute(unquote(address.removeprefix(_FILE)), address))
    if "://" in address:
        from coordinator.archive.remote import Remote

        return Remote(address)
    return Folder(Path(address).absolute())


def _absolute(path: str, address: str) -> Path:
    if not path.startswith("/"):
        raise WrongArchive(
            f"the archive is {address!r}", "file:///FOLDER with a whole path", "Three slashes, or the folder alone."
        )
    return Path(path)
