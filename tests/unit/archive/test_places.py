"""Every archive keeps the same promises: a folder, a folder behind a URL, and something that is no folder at all."""

from __future__ import annotations

import builtins
import errno
import importlib.util
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coordinator.archive import folder
from coordinator.archive.api import Archive, ArchiveAway, WrongArchive
from coordinator.archive.folder import Folder
from coordinator.archive.open import open_archive

PLACES: dict[str, Callable[[Path], str]] = {
    "a folder": lambda tmp: str(tmp / "archive"),
    "a file URL": lambda tmp: f"file://{tmp}/arch%20ive",
    "a folder through fsspec": lambda tmp: f"local://{tmp}/archive",
    "fsspec's memory": lambda _: f"memory://{uuid.uuid4()}/archive",
}


#: It comes with the extras `test` and `archive`; an environment that was made before it was added lacks it.
with_fsspec = pytest.mark.skipif(importlib.util.find_spec("fsspec") is None, reason="fsspec is not installed here")


@pytest.fixture(params=[pytest.param(name, marks=with_fsspec if "fsspec" in name else ()) for name in PLACES])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Archive:
    return open_archive(PLACES[request.param](tmp_path))


def test_what_was_written_is_read(archive: Archive) -> None:
    assert (archive.folders(), archive.names("app")) == ([], [])
    with pytest.raises(FileNotFoundError):
        archive.read("app/b")
    archive.write("app/b", b"two")
    archive.write("app/a", b"")
    archive.write("other/c", b"\x00" * 100_000)
    assert (archive.folders(), archive.names("app")) == (["app", "other"], ["app/a", "app/b"])
    assert (archive.read("app/a"), archive.read("app/b"), len(archive.read("other/c"))) == (b"", b"two", 100_000)


def test_a_file_may_be_written_anew_and_taken_away(archive: Archive) -> None:
    archive.write("app/a", b"one")
    archive.write("app/a", b"another")
    assert archive.read("app/a") == b"another"
    archive.remove("app/a")
    archive.remove("app/a")
    assert archive.names("app") == []


@with_fsspec
def test_two_openings_see_the_same(tmp_path: Path) -> None:
    for place in ("a folder", "a folder through fsspec"):
        open_archive(PLACES[place](tmp_path)).write(f"app/{place}", b"here")
    assert len(open_archive(str(tmp_path / "archive")).names("app")) == 2


def test_what_was_not_finished_is_not_listed(tmp_path: Path) -> None:
    archive = Folder(tmp_path)
    archive.write("app/a", b"whole")
    (tmp_path / "app" / "b.part").write_bytes(b"ha")
    assert archive.names("app") == ["app/a"]


def test_a_new_folder_is_on_the_disk_before_what_is_in_it_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a power cut takes the folder, and with it what has left the store since."""
    flushed: list[int] = []
    fsync = os.fsync

    def seen(handle: int) -> None:
        flushed.append(os.fstat(handle).st_ino)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", seen)
    Folder(tmp_path / "new" / "archive").write("app/a", b"")
    made = [tmp_path, tmp_path / "new", tmp_path / "new/archive", tmp_path / "new/archive/app"]
    assert {one.stat().st_ino for one in made} <= set(flushed)


def test_a_file_whose_name_did_not_get_to_the_disk_is_not_taken_for_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next try found it there, and its events left the store."""
    archive = Folder(tmp_path)
    archive.write("app/a", b"one")
    with monkeypatch.context() as patched:
        patched.setattr(folder, "_flush", refusing)
        with pytest.raises(ArchiveAway, match="Input/output error"):
            archive.write("app/b", b"two")
    assert archive.names("app") == ["app/a"]


def refusing(path: Path) -> None:
    raise OSError(errno.EIO, "Input/output error", str(path))


def test_a_place_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "archive").write_text("a file, and no folder")
    with pytest.raises(ArchiveAway, match=r"the archive at .* failed .*Nothing has left the store"):
        open_archive(str(tmp_path / "archive")).write("app/a", b"")


def test_a_folder_whose_files_cannot_be_looked_at_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the right to enter it is missing, or the disk behind it has failed."""
    archive = Folder(tmp_path)
    archive.write("app/a", b"one")

    def refused(path: Path, **_: Any) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "is_dir", refused)
        patched.setattr(Path, "is_file", refused)
        for look in (archive.folders, lambda: archive.names("app")):
            with pytest.raises(ArchiveAway, match=r"the archive at .* failed .*Permission denied"):
                look()
    assert (archive.folders(), archive.names("app")) == (["app"], ["app/a"])


@with_fsspec
def test_secrets_in_a_url_are_not_shown() -> None:
    assert open_archive("memory://user:s3cret@place/archive").where == "memory://place/archive"


def test_a_url_without_fsspec_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name.partition(".")[0] == "fsspec":
            raise ImportError("no module named fsspec")
        return plain(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(WrongArchive, match=r"pip install '\.\[archive\]'"):
        open_archive("s3://bucket/folder")
    open_archive("/a/folder")


@pytest.mark.parametrize("address", ["file://folder", "nosuchscheme://folder"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(WrongArchive):
        open_archive(address)
