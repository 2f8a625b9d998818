"""The run in parts tells everything in one go, and never calls nothing a success."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import parts
import pytest
import setup


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkout: Path) -> Path:
    monkeypatch.setattr(parts, "ROOT", tmp_path)
    monkeypatch.setattr(parts, "LOGS", tmp_path / "logs")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tools").symlink_to(checkout / "tools")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  slow\n  spark\n  etcd\n  faults\n")
    return tmp_path


PART = parts.Part("tests", "the tests of a tree", tests="not spark and not etcd and not faults")


def run(tree: Path, text: str, slow: bool = False) -> parts.Outcome:
    (tree / "tests/test_it.py").write_text(text)
    return parts.run_part(PART, slow)


def test_pytests_own_summary_is_kept(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = run(tree, "def test_a(): pass\ndef test_b(): pass")
    assert outcome.verdict == "ok"
    [line] = outcome.summaries
    assert line.startswith("=")
    assert " 2 passed in " in line
    parts.report([outcome])
    assert capsys.readouterr().out.rstrip().endswith(line)


def test_a_failure_is_told(tree: Path) -> None:
    outcome = run(tree, "def test_a(): pass\ndef test_b(): assert False")
    assert outcome.verdict == "tests failed"
    assert "1 failed, 1 passed" in outcome.summaries[0]


def test_a_file_that_does_not_import_is_told(tree: Path) -> None:
    assert run(tree, "import nothing_of_that_name").verdict == "could not collect the tests"


@pytest.mark.parametrize(
    "text", ["", "import pytest\n@pytest.mark.spark\ndef test_a(): pass", "import pytest\ndef test_a(): pytest.skip()"]
)
def test_a_part_that_ran_no_test_has_failed(tree: Path, text: str) -> None:
    outcome = run(tree, text)
    assert outcome.verdict == "ran no test"
    assert outcome.failed


def test_slow_tests_are_left_out_unless_asked_for(tree: Path) -> None:
    text = "import pytest\ndef test_a(): pass\n@pytest.mark.slow\ndef test_b(): pass"
    assert " 1 passed, 1 deselected in " in run(tree, text).summaries[0]
    assert " 2 passed in " in run(tree, text, slow=True).summaries[0]


def test_a_part_without_its_folder_is_passed_over(tree: Path) -> None:
    outcome = parts.run_part(dataclasses.replace(PART, folders=("tests/spark",)), slow=False)
    assert (outcome.verdict, outcome.failed) == ("passed over", False)


def test_a_part_without_its_python_is_passed_over_where_it_may_be(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(environment: setup.Environment) -> str:
        raise setup.SetupError("no Python 3.10 found")

    monkeypatch.setattr(setup, "find_python", none)
    optional = dataclasses.replace(PART, is_optional=True)
    assert parts.run_part(optional, slow=False).verdict == "passed over"
    assert parts.set_up([optional]).verdict == "ok"
    assert run(tree, "def test_a(): pass").verdict == "ok"


def test_a_part_whose_environment_is_missing_fails_and_says_so(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(setup.ENVIRONMENTS, "dev", setup.Environment(".no-such-environment", ()))
    outcome = run(tree, "def test_a(): pass")
    assert outcome.failed
    assert ".no-such-environment/bin/python does not exist" in outcome.verdict


def test_every_command_of_a_part_runs_whatever_became_of_the_others(tree: Path) -> None:
    part = parts.Part("checks", "two of them", commands=(("sh", "-c", "exit 3"), ("sh", "-c", "echo second")))
    assert parts.run_part(part, slow=False).verdict == "exit 3 failed"
    assert "second" in (tree / "logs/checks.log").read_text()


def test_a_process_that_was_left_behind_does_not_hold_the_run(tree: Path) -> None:
    part = parts.Part("checks", "leaves something", commands=(("sh", "-c", "sleep 60 & echo started"),))
    outcome = parts.run_part(part, slow=False)
    assert outcome.verdict == "ok"
    assert outcome.seconds < 30


def test_a_command_that_hangs_is_ended(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LIMIT", 0.3)
    part = parts.Part("checks", "hangs", commands=(("sleep", "60"),))
    assert parts.run_part(part, slow=False).verdict.startswith("was killed")


def test_who_interrupts_a_run_leaves_nothing_that_goes_on(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command has a session of its own: Ctrl-C is not for it."""
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def noted(*command: Any, **how: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*command, **how))
        return started[-1]

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("parts.time.sleep", interrupted)
    monkeypatch.setattr("parts.subprocess.Popen", noted)
    with pytest.raises(KeyboardInterrupt):
        parts.run_command(("sleep", "60"), dict(os.environ), tree / "log", 60)
    try:
        assert started[0].returncode == -signal.SIGKILL
    finally:
        started[0].kill()
        started[0].wait()


ENDED = """
import sys
from pathlib import Path
import parts
parts.PARTS = (parts.Part("sleeps", "sleeps", commands=(("sh", "-c", "echo $$; exec sleep 60"),)),)
parts.LOGS = Path(sys.argv.pop())
parts.set_up = lambda _: parts.Outcome("set-up", "ok")
sys.exit(parts.main())
"""


def test_who_ends_a_run_leaves_nothing_that_goes_on(tmp_path: Path, checkout: Path) -> None:
    """SIGTERM comes to the runner alone, as from `kill` or a service that gives up."""
    command = [sys.executable, "-u", "-c", ENDED, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "tools")}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as runner:
        assert runner.stdout is not None
        sleeper = int(next(line for line in runner.stdout if line.strip().isdigit()))
        runner.terminate()
        assert runner.wait(30) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(sleeper, signal.SIGKILL)


def test_a_set_up_that_failed_alone_is_no_part_to_run_again(capsys: pytest.CaptureFixture[str]) -> None:
    parts.report([parts.Outcome("set-up", "failed"), parts.Outcome("checks", "ok")])
    assert capsys.readouterr().out.splitlines()[-1] == "failed: set-up; what it said stands above"
    parts.report([parts.Outcome("set-up", "failed"), parts.Outcome("checks", "failed")])
    assert "failed: set-up, checks; one part again: tools/parts.py checks;" in capsys.readouterr().out


def test_every_test_belongs_to_exactly_one_part(tree: Path) -> None:
    by_markers = {part.tests for part in parts.PARTS if part.tests}
    for spark in (True, False):
        for etcd in (True, False):
            for faults in (True, False):
                facts = {"spark": spark, "etcd": etcd, "faults": faults, "remote": False}
                assert sum(eval(markers, {}, facts) for markers in by_markers) == 1
    facts = {"spark": False, "etcd": False, "faults": False, "remote": True}
    assert sum(eval(markers, {}, facts) for markers in by_markers) == 1
