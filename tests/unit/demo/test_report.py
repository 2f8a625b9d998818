"""The demo's table: whole on a terminal of 80 columns, and in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.demo import report
from coordinator.demo.disk import Held
from coordinator.demo.run import Run, Workload
from tests.support.terminals import terminal


def a_run(value: str, byte_seconds: float) -> Run:
    held = Held(360_000_000, byte_seconds)
    workload = Workload("chain", 14.1, value, held, frozenset(), 0.0, 14.1)
    return Run(Path(), "app", "4.3.0", 8, (workload,), [])


def shown(capsys: pytest.CaptureFixture[str]) -> list[str]:
    report.show(a_run("1", 2.46e9), a_run("2", 1.42e9), {"chain": Held(286_000_000, 1.39e9)})
    return capsys.readouterr().out.splitlines()


def test_in_a_file_a_row_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    title, headings, row, *_ = shown(capsys)
    assert title == "Shuffle data on disk, Spark 4.3.0"
    assert headings.split("  ")[0] == "workload"
    assert [one.strip() for one in headings.split("  ") if one.strip()][-2:] == ["on / ideal", "results"]
    assert row.split() == ["chain", "360", "MB", "360", "MB", "286", "MB", "2.46", "1.42", "1.39", "1.022", "DIFFERENT"]


def test_on_80_columns_words_and_figures_are_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal(monkeypatch, 80)
    text = "\n".join(shown(capsys))
    assert max(map(len, text.splitlines()[:5])) <= 80
    assert {"workload", "peak", "off", "GB·s", "ideal", "results", "chain", "DIFFERENT", "1.022"} <= set(text.split())
    assert "360 MB" in text
