"""Where results go: files and folders that people name.

Responsible for refusing, before the work begins, what could not or should not be written at its end. Refuses to know
what is written. Invariant: what is there stays as it is unless its owner said otherwise, and a source always.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import combinations
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from coordinator.cli.exits import Exit, failure
from replay.history.finding import is_url, local_path

_SQLITE = "sqlite:"
_TERMINATED = 128 + signal.SIGTERM  #: What a shell says of whoever SIGTERM has ended.


def check_file(to: Path, force: bool, sources: Iterable[str] = ()) -> None:
    """A file that is written at the end of a call: that it can be is tried out now.

    Nothing that is read is written over, not with ``force`` either.
    """
    _check_no_stdout(str(to), "file")
    with writing(to):
        if to.is_dir():
            raise failure(Exit.USAGE, f"{to} is a folder", "the name of a file", "Name one in it.")
        if any(_is_read(to, source) for source in sources):
            raise failure(Exit.USAGE, f"{to} is read", "a file that is not among what is read", "Choose another.")
        if to.exists() and not force:
            raise failure(Exit.USAGE, f"{to} is there already", "a new file", "Choose another, or say --force.")
        if not to.absolute().parent.is_dir():
            raise failure(Exit.NOT_FOUND, f"the folder of {to} is not there", "a folder", "Make it first.")
        if _may_be_replaced(to):
            draft_of(to).touch()
            draft_of(to).unlink()


def check_apart(named: Mapping[str, str | Path | None]) -> None:
    """No result takes the place of another one, however each is called. ``named``: targets by their options."""
    targets = [(option, str(to)) for option, to in named.items() if to is not None and not _is_device(str(to))]
    for (option, to), (other_option, other) in combinations(targets, 2):
        with writing(Path(to)):
            clash = overlap(to, other)
        if clash:
            told = f"{option} {to} and {other_option} {other} are one place, or one lies within the other"
            raise failure(Exit.USAGE, told, "a place for each", "Choose another for one of them.")


def _is_device(to: str) -> bool:
    """What is written there takes nobody's place."""
    there = local_path(to)
    with writing(there):
        return not is_url(to) and there.exists() and not there.is_file() and not there.is_dir()


def _check_no_stdout(to: str, kind: str) -> None:
    if to == "-":
        told = f"the {kind} to write is '-', and standard output tells what was written"
        raise failure(Exit.USAGE, told, f"the name of a {kind}", "Name one.")


def check_replaced(to: Path, force: bool, sources: Iterable[str] = ()) -> Path:
    """The same of a file that takes its place when it is complete. Gives that place: where a link leads to."""
    check_file(to, force, sources)
    with writing(to):
        there = to.resolve()
        if there.exists() and not there.is_file():
            told = f"{to} is a pipe, a socket or a device"
            raise failure(Exit.USAGE, told, "a file, which is replaced as a whole", "Name another.")
    if there != to.absolute():
        check_file(there, force=True)
    return there


def _is_read(to: Path, source: str) -> bool:
    """Whether it is a source, or is there in a folder of them."""
    return bool(source) and to.exists() and overlap(str(to), _file_of(source))


def _file_of(source: str) -> str:
    """Of a store its file, which an address may name from here on, and with escapes; else what is named."""
    if not source.startswith(_SQLITE):
        return source
    path = unquote(source.removeprefix(_SQLITE))
    return f"/{path.lstrip('/')}" if path.startswith("/") else path


def written(to: Path, text: str) -> int:
    """Writes a file, whole or not at all. Gives its bytes."""
    content = text.encode("utf-8", "backslashreplace")  # half a character that a log holds must not cost the rest
    with writing(to):
        if not _may_be_replaced(to):
            to.write_bytes(content)
            return len(content)
        try:
            draft_of(to).write_bytes(content)
            draft_of(to).replace(to)
        finally:
            with suppress(OSError):
                draft_of(to).unlink(missing_ok=True)
    return len(content)


@contextmanager
def writing(to: Path) -> Iterator[None]:
    """What the system says of the target is told in a line."""
    try:
        yield
    except OSError as error:
        told = f"{to} cannot be written ({error.strerror or error})"
        raise failure(Exit.FAILED, told, "a place where files can be made", "Name another.") from error


@contextmanager
def tidied_up() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C would, so that it takes away what it has begun."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def draft_of(to: Path) -> Path:
    """Where it is until it is complete."""
    return to.with_name(f".{to.name}.part")


def _may_be_replaced(to: Path) -> bool:
    """A link, a pipe or a device stays what it is."""
    return not to.is_symlink() and (to.is_file() or not to.exists())


def check_folder(to: str, sources: Iterable[str], force: bool) -> None:
    """A folder that Spark writes, and empties first where ``force`` says so."""
    _check_no_stdout(to, "folder")
    clash = next((source for source in sources if overlap(to, source)), None)
    if clash is not None:
        told = f"{to} holds {clash}, or lies within it"
        raise failure(Exit.USAGE, told, "a folder apart from what is read", "Choose another.")
    if is_url(to):
        return
    there = local_path(to)
    with writing(there):
        if there.exists() and not there.is_dir():
            raise failure(Exit.USAGE, f"{to} is there and is no folder", "a folder", "Choose another.")
        if there.exists() and not force:
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
