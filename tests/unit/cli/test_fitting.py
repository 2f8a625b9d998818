"""Tables on narrow terminals: headings are whole words, figures are whole, and where there is room nothing changes."""

from __future__ import annotations

import re
from contextlib import nullcontext
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from coordinator.cli import advising
from coordinator.cli.output import Column, table
from coordinator.core import commands as c
from coordinator.core.ids import AppShuffle, JobId, Span, StageId
from tests.support.fake_spark import FakeSpark
from tests.support.history_logs import chain
from tests.support.terminals import terminal
from tests.unit.cli.calling import Shufflectl, log_file
from tests.unit.replay.logs import Told, deleted_and_missed, lineage

COLUMNS = (
    Column("APPLICATION", lambda r: r["0"], titles=True),
    Column("ID", lambda r: r["1"], spare=True),
    Column("RAN", lambda r: r["2"], right=True, spare=True),
    Column("GIVES BACK", lambda r: r["3"], right=True),
    Column("ADVICE", lambda r: r["4"]),
)
ROW = ("nightly report", "application_1751493828576_0001", "2 h 41 min", "124 GB·h", "leave as it is")


def drawn(width: int, columns: tuple[Column, ...] = COLUMNS) -> list[str]:
    made = StringIO()
    rows = [{str(at): cell for at, cell in enumerate(ROW)}]
    Console(file=made, width=width, color_system=None).print(table(rows, columns))
    lines = [line.rstrip() for line in made.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    return lines


def test_where_there_is_room_a_row_is_a_line() -> None:
    assert drawn(200) == [
        "APPLICATION     ID                                     RAN  GIVES BACK  ADVICE",
        "nightly report  application_1751493828576_0001  2 h 41 min    124 GB·h  leave as it is",
    ]


def test_columns_move_together_and_words_go_to_the_next_line() -> None:
    above, headings, row, *_ = drawn(72)
    assert above.split() == ["GIVES"]
    assert headings.split() == ["APPLICATION", "ID", "RAN", "BACK", "ADVICE"]
    assert "application_1751493828576_0001 2 h 41 min" in row


def test_the_spare_ones_are_left_out_one_after_the_other() -> None:
    assert drawn(48)[1].split() == ["APPLICATION", "RAN", "BACK", "ADVICE"]
    assert "2 h 41 min" not in "".join(drawn(36))


def test_names_go_on_lines_of_their_own() -> None:
    lines = drawn(22)
    assert lines[0] == "APPLICATION"
    assert "nightly report" in lines
    assert any("124 GB·h" in line for line in lines)


def test_where_nothing_helps_it_is_a_table_still() -> None:
    assert "".join(drawn(9))


def test_advice_on_80_columns(shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advising, "_session", lambda master, conf: nullcontext(FakeSpark()))
    log = chain("application_1751493828576_0001", name="a-name-that-is-of-one-word-and-long")
    log.write(tmp_path / "logs" / "app-1")
    terminal(monkeypatch, 80)
    out = shufflectl("advise", tmp_path / "logs").out
    words = {"APPLICATION", "PEAK", "NEEDED", "HELD", "GIVES", "BACK", "AT", "MOST", "TOO", "EARLY", "ADVICE"}
    assert words <= set(out.split())
    assert "reachabl\n" not in out


@pytest.mark.parametrize("policy", ["frontier", "delayed:reachable:60s"])
def test_a_simulation_on_80_columns(
    shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    log = log_file(tmp_path / "chain.log", deleted_and_missed())
    terminal(monkeypatch, 80)
    lines = shufflectl("simulate", log, "--policy", policy).out.splitlines()
    words = " ".join(lines).split()
    assert {"POLICY", "HELD", "SPARK", "ALONE", "PEAK", "DELETED", "EARLY", "RECOMPUTED", "TASK", "TIME"} <= set(words)
    assert any(line.startswith("Spark alone ") for line in lines)
    assert max(map(len, lines)) <= 80


def test_columns_that_are_short_of_room_share_it(
    shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told()
    place = "reduceByKey at /home/ann/jobs/aggregate_by_region_and_month.py:112"
    lines = tuple(lineage(number, place, reads=tuple(range(number))) for number in range(2))
    told.say(c.ReportJobStarted(JobId(0), StageId(1), (AppShuffle(1),), None, (Span(0, 1),), lineage=lines))
    log = log_file(tmp_path / "long.log", told)
    terminal(monkeypatch, 80)
    out = shufflectl("diff", "--log", log, "-", 1).out.splitlines()
    assert max(map(len, out)) <= 80
    assert len(out) == 8, "ends, headings, two lines a shuffle, the job: changes are not squeezed to a word a line"


def test_no_time_is_broken_of_what_is_gone(
    shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    terminal(monkeypatch, 60)
    lines = shufflectl("replay", "--log", log, "-").out.splitlines()
    gone = lines[lines.index("GONE") + 1 :]
    assert gone[0].split() == ["CAUSE", "CALL", "SITE"]
    assert {"SHUFFLE", "EVENT", "AT"} <= set(" ".join(gone).split())
    assert any(re.search(r"#1 +deleted .* \d\d:\d\d:\d\d\.\d\d\d$", line.rstrip()) for line in gone), gone


def test_further_lines_of_a_verdict_stand_in_as_its_first(
    shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    terminal(monkeypatch, 60)
    for verb in (("explain", "--log", log, "-", 0), ("premature", "--log", log, "-")):
        lines = shufflectl(*verb).out.splitlines()
        first = next(at for at, line in enumerate(lines) if line.startswith(("  Deleted", "  Let go")))
        assert (lines[first + 1][:2], lines[first + 1][2] != " ") == ("  ", True), lines


def test_every_table_of_a_moment_has_headings(shufflectl: Shufflectl, tmp_path: Path) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    lines = [line.split() for line in shufflectl("replay", "--log", log, "-", "--at", 12).out.splitlines()]
    assert lines[lines.index(["JOBS"]) + 1] == ["JOB", "READS", "WRITES", "GROUP"]
    lines = [line.split() for line in shufflectl("replay", "--log", log, "-", "--at", 10).out.splitlines()]
    assert lines[lines.index(["STAGES"]) + 1] == ["STAGE", "READS", "WRITES", "GENERATIONS"]
