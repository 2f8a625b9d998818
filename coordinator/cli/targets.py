"""Where results go: files and folders that people name.

Responsible for refusing, before the work begins, what could not or should not be written at its end. Refuses to know
what is written. Invariant: what is there stays as it is unless its owner said otherwise, and a source always.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from coordinator.cli.exits import Exit, failure
from replay.history.finding import is_url, local_path


def check_folder(to: str, sources: Iterable[str], force: bool) -> None:
    """A folder that Spark writes, and empties first where ``force`` says so."""
    clash = next((source for source in sources if overlap(to, source)), None)
    if clash is not None:
        told = f"{to} holds {clash}, or lies within it"
        raise failure(Exit.USAGE, told, "a folder apart from what is read", "Choose another.")
    if not force and not is_url(to) and local_path(to).exists():
        raise failure(Exit.USAGE, f"{to} is there already", "a new folder", "Choose another, or say --force.")


def overlap(one: str, other: str) -> bool:
    """Whether one is the other, or lies within it. A host that only one of them names may be the other's too."""
    (scheme, host, path), (other_scheme, other_host, other_path) = _place(one), _place(other)
    apart = scheme != other_scheme or (host and other_host and host != other_host)
    return not apart and all(a == b for a, b in zip(path, other_path, strict=False))


def _place(text: str) -> tuple[str, str, tuple[str, ...]]:
    if not is_url(text):
        return "file", "", local_path(text).resolve().parts
    url = urlsplit(text)
    return url.scheme, url.netloc, PurePosixPath(url.path or "/").parts
