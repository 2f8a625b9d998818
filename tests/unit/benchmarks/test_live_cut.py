"""The live cut's benchmark tells what came out: results, recomputations, ratios."""

from __future__ import annotations

import argparse
import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import live_cut
from benchmarks.program_run import Mode, Outcome, map_stages, missing_for, programs
from coordinator.demo.disk import Held


def _outcome(result: str = "7", recomputed: int = 0, area: float = 8e6, oracle: float | None = None) -> Outcome:
    held = None if oracle is None else Held(1, oracle)
    look_ms, looked_s = ((10.0, 30.0), 0.01) if held else ((), 0.0)
    return Outcome(result, "", 2.0, 5, 4, recomputed, Held(2_000_000, area), held, look_ms=look_ms, looked_s=looked_s)


def _printed(monkeypatch: pytest.MonkeyPatch, by_mode: dict[str, Outcome]) -> str:
    def run_program(folder: Path, path: Path, mode: Mode, scale: float) -> Outcome:
        return by_mode[mode.name]

    monkeypatch.setattr(live_cut, "run_program", run_program)
    wishes = argparse.Namespace(quick=True, scale=None, modes="alone,reachable", only=["pagerank"])
    console = Console(file=StringIO(), width=200)
    live_cut.run(console, wishes)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_ratios_stand_beside_spark_alone_and_the_oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = _printed(monkeypatch, {"alone": _outcome(), "reachable": _outcome(area=2e6, oracle=1e6)})
    row = next(line for line in printed.splitlines() if "plugin, reachable" in line)
    assert [cell.strip() for cell in row.split("│")[3:-1]] == [
        "equal",
        "5",
        "4",
        "0",
        "2.0",
        "2.0",
        "0.25",
        "2.00",
        "2.0",
    ]
    assert "1 of 1 equal" in printed
    assert "recomputed under reachable" not in printed


def test_looks_are_told_by_the_clock_and_of_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = _printed(monkeypatch, {"alone": _outcome(), "reachable": _outcome(oracle=1e6)})
    row = next(line for line in printed.split("Looks at the program")[1].splitlines() if "pagerank" in line)
    assert [cell.strip() for cell in row.split("│")[3:-1]] == ["2", "20.0", "30.0", "2.00%", "0.50%"]


def test_a_different_result_and_a_recomputation_are_told_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = _printed(monkeypatch, {"alone": _outcome(), "reachable": _outcome("8", recomputed=2)})
    assert "pagerank under reachable: 8\n  alone: 7" in printed
    assert "pagerank: 2 recomputed under reachable" in printed


def test_a_program_that_failed_counts_in_no_total(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = _printed(monkeypatch, {"alone": _outcome(), "reachable": Outcome(failure="exit code 1")})
    assert "pagerank under reachable failed: exit code 1" in printed
    assert "0 of 0 equal" in printed


def test_a_map_stage_that_ended_twice_was_computed_again(tmp_path: Path) -> None:
    def ended(rdd: int, failure: str = "") -> str:
        wrote = [{"Name": "internal.metrics.shuffle.write.recordsWritten"}]
        stage = {"RDD Info": [{"RDD ID": rdd}], "Accumulables": wrote}
        if failure:
            stage["Failure Reason"] = failure
        return json.dumps({"Event": "SparkListenerStageCompleted", "Stage Info": stage})

    lines = [ended(3), ended(4), ended(3), ended(9, "fetch failed")]
    (tmp_path / "local-1").write_text("\n".join(lines))
    assert map_stages(tmp_path) == (2, 1)


def test_a_program_says_what_it_needs(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text('"""Something. Needs json, no_such_library."""\n')
    assert missing_for(program).startswith("no_such_library cannot be imported")
    program.write_text('"""Something. Needs json."""\n')
    assert not missing_for(program)


@pytest.mark.parametrize("name", programs())
def test_every_program_prints_a_result_and_takes_a_scale(name: str) -> None:
    source = programs()[name].read_text()
    compile(source, name, "exec")
    assert source.count('print("result:"') == 1
    assert "sys.argv[1]" in source
