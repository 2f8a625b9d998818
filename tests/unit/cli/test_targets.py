"""Files that verbs write: refused before the work begins, or written whole."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from coordinator.cli.exits import Exit
from coordinator.cli.targets import written
from tests.unit.cli.calling import Shufflectl, log_file
from tests.unit.replay.logs import deleted_and_missed

VERBS = {
    "timeline": ("timeline", "LOG"),
    "export": ("export", "--log", "LOG", "-"),
    "arrow": ("export", "--log", "LOG", "-", "--format", "arrow"),
    "learn": ("learn", "LOG"),
}


@pytest.fixture(params=VERBS, ids=str)
def arguments(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    return [str(log) if word == "LOG" else word for word in VERBS[request.param]]


def test_a_folder_is_no_file(shufflectl: Shufflectl, tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "there").mkdir()
    force = ["--force"] if "learn" not in arguments else []
    told = shufflectl(*arguments, "-o", tmp_path / "there", *force)
    assert (told.code, f"{tmp_path}/there is a folder; expected the name of a file" in told.err) == (Exit.USAGE, True)


def test_a_folder_that_is_not_there_is_not_made(shufflectl: Shufflectl, tmp_path: Path, arguments: list[str]) -> None:
    told = shufflectl(*arguments, "-o", tmp_path / "no" / "where")
    assert (told.code, "no/where is not there" in told.err) == (Exit.NOT_FOUND, True)


def test_what_the_system_refuses_is_told_in_a_line(
    shufflectl: Shufflectl, tmp_path: Path, arguments: list[str]
) -> None:
    told = shufflectl(*arguments, "-o", tmp_path / ("x" * 300))
    assert (told.code, "cannot be written (File name too long)" in told.err) == (Exit.FAILED, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app.log"]


@pytest.mark.parametrize("form", ["log", "arrow", "parquet"])
@pytest.mark.parametrize("room", [0, 20, 1000])
def test_an_export_that_finds_no_room_leaves_nothing(
    shufflectl: Shufflectl, tmp_path: Path, form: str, room: int
) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    with files_of_at_most(room):
        told = shufflectl("export", "--log", log, "-o", tmp_path / "to", "--format", form)
    assert (told.code, "to cannot be written" in told.err, "File too large" in told.err) == (Exit.FAILED, True, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app.log"]


@pytest.mark.parametrize("inside", ["", "notes"])
def test_of_a_folder_that_was_there_it_leaves_what_was_in_it(
    shufflectl: Shufflectl, tmp_path: Path, inside: str
) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    (tmp_path / "to" / inside).mkdir(parents=True)
    with files_of_at_most(20):
        told = shufflectl("export", "--log", log, "-o", tmp_path / "to", "--format", "parquet", "--force")
    assert told.code == Exit.FAILED
    assert [path.name for path in (tmp_path / "to").iterdir()] == [inside] * bool(inside)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["TERM", "INT"])
def test_an_export_that_is_ended_leaves_nothing(
    shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int
) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    monkeypatch.setattr(os, "fsync", lambda _: signal.raise_signal(number))  # it comes when all is written
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        called = shufflectl("export", "--log", log, "-o", tmp_path / "to")
        assert (called.code, called.out) == (code, "")
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app.log"]


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """As on a disk that is full: what goes beyond is refused."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_is_read_is_never_written_over(shufflectl: Shufflectl, tmp_path: Path, arguments: list[str]) -> None:
    log = tmp_path / "app.log"
    before = log.read_bytes()
    (tmp_path / "link").symlink_to(log)
    force = ["--force"] if "learn" not in arguments else []
    for to in (log, tmp_path / "link", tmp_path / "." / "app.log"):
        told = shufflectl(*arguments, "-o", to, *force)
        assert (told.code, f"{to} is read; expected a file that is not among what is read" in told.err) == (2, True)
    assert log.read_bytes() == before


@pytest.mark.parametrize("address", ["sqlite://{}/run%237.db", "sqlite:{}/run%237.db", "sqlite:run%237.db"])
def test_nor_is_a_store_that_lessons_are_learned_from(
    shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.chdir(tmp_path)
    store = tmp_path / "run#7.db"
    store.write_bytes(b"anything")
    told = shufflectl("learn", "--store", address.format(tmp_path), "-o", store)
    assert (told.code, "is read; expected" in told.err, store.read_bytes()) == (Exit.USAGE, True, b"anything")


def test_parquet_wants_a_folder(shufflectl: Shufflectl, tmp_path: Path) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    told = shufflectl("export", "--log", log, "-", "--format", "parquet", "-o", log, "--force")
    assert (told.code, f"{log} is there and is no folder" in told.err) == (Exit.USAGE, True)


def test_a_link_stays_one_and_a_file_is_replaced_whole(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    link.symlink_to(file)
    assert (written(link, "new"), file.read_text(), link.is_symlink()) == (3, "new", True)
    assert written(file, "half a character: \udce9") == len("half a character: ") + 6
    assert file.read_text() == "half a character: " + r"\udce9"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


@pytest.mark.parametrize("form", ["log", "arrow"])
def test_an_export_goes_where_a_link_leads_and_takes_no_pipe_away(
    shufflectl: Shufflectl, tmp_path: Path, form: str
) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    file, link, pipe = tmp_path / "file", tmp_path / "link", tmp_path / "pipe"
    file.write_text("old")
    link.symlink_to(file)
    os.mkfifo(pipe)
    export = ("export", "--log", log, "-", "--format", form, "--force", "-o")
    assert shufflectl(*export, link).code == 0
    assert (link.is_symlink(), file.read_bytes() != b"old") == (True, True)
    told = shufflectl(*export, pipe)
    assert (told.code, f"{pipe} is a pipe, a socket or a device; expected a file" in told.err) == (Exit.USAGE, True)
    assert pipe.is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app.log", "file", "link", "pipe"]


@pytest.mark.parametrize(
    "given", [("export", "--log", "LOG", "-", "--format", "parquet", "-o"), ("advise", "--parquet")]
)
def test_no_folder_is_called_like_standard_output(
    shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...]
) -> None:
    log = str(log_file(tmp_path / "app.log", deleted_and_missed()))
    monkeypatch.chdir(tmp_path)
    told = shufflectl(*(log if word == "LOG" else word for word in given), "-", *([log] if "advise" in given else ()))
    assert (told.code, "'-', and standard output tells" in told.err) == (Exit.USAGE, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app.log"]
