"""What the demo says when its program fails is what the program said."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from coordinator.demo import __main__ as demo
from coordinator.demo.run import Run, RunFailedError, run
from state_backend.address import SqliteAddress, parse_address


def test_what_a_program_printed_is_no_markup(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(folder: Path, sizes: object) -> Run:
        raise RunFailedError("the run failed: [red]x[0] [/nothing]")

    monkeypatch.setattr(demo, "run", fails)
    assert demo.main() == 1
    assert capsys.readouterr().err == "the run failed: [red]x[0] [/nothing]\n"


def test_a_package_called_as_ours_where_a_person_stands_is_not_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    theirs = tmp_path / "project" / "coordinator"
    theirs.mkdir(parents=True)
    (theirs / "__init__.py").write_text("raise SystemExit('this is somebody else')")
    monkeypatch.chdir(theirs.parent)
    with pytest.raises(RunFailedError, match="invalid int value: 'many'") as told:
        run(tmp_path / "run", ("--megabytes", "many"))
    assert "somebody else" not in str(told.value)


def test_the_store_of_a_demo_is_found_wherever_temporary_files_lie(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stops(folder: Path, arguments: tuple[str, ...]) -> Run | None:
        if "--store" not in arguments:
            return None
        raise RunFailedError(arguments[1])

    (tmp_path / "50% of #1").mkdir()
    monkeypatch.setattr(demo, "run", stops)
    with pytest.raises(RunFailedError) as told:
        demo._compare(tmp_path / "50% of #1", 60, "reachable", "")
    assert parse_address(str(told.value)) == SqliteAddress(tmp_path / "50% of #1" / "coordinator.db")


def test_sigterm_ends_the_demo_and_leaves_no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folders: list[Path] = []

    def is_ended(folder: Path, arguments: tuple[str, ...]) -> Run:
        folders.append(folder.parent)
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("SIGTERM was to end this")

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(demo, "run", is_ended)
    with pytest.raises(SystemExit) as ended:
        demo.main()
    assert ended.value.code == 128 + signal.SIGTERM
    assert folders
    assert not folders[0].exists()
    assert signal.getsignal(signal.SIGTERM) == before
