"""What the demo says when its program fails is what the program said."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.demo import __main__ as demo
from coordinator.demo.run import Run, RunFailedError


def test_what_a_program_printed_is_no_markup(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(folder: Path, sizes: object) -> Run:
        raise RunFailedError("the run failed: [red]x[0] [/nothing]")

    monkeypatch.setattr(demo, "run", run)
    assert demo.main() == 1
    assert capsys.readouterr().err == "the run failed: [red]x[0] [/nothing]\n"
