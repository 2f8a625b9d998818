"""Whatever a program calls itself and its lines, a terminal shows it and obeys none of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from coordinator.core import commands as c
from coordinator.core.ids import AppShuffle, JobId, Span, StageId
from tests.unit.cli.calling import Shufflectl, log_file
from tests.unit.replay.logs import Told, lineage

EVIL = "\x1b]0;owned\x07\u202e\n\x9b2Jend"
SHOWN = r"\x1b]0;owned\x07\u202e\n\x9b2Jend"


def evil() -> Told:
    """What is missed has an evil name everywhere."""
    told = Told(name=EVIL)
    lines = lineage(0, EVIL), lineage(1, EVIL, reads=(0,))
    span = (Span(0, 2),)
    told.say(c.ReportJobStarted(JobId(0), StageId(2), (AppShuffle(1),), None, span, lines, call_site=EVIL, group=EVIL))
    told.stage(0, EVIL, writes=0)
    told.done(0, 120_000_000)
    told.stage(1, EVIL, reads=(0,), writes=1)
    told.done(1, 60_000_000)
    told.carried_out()
    told.stage(2, EVIL, reads=(1,))
    told.done(2, failure=EVIL)
    told.stage(3, EVIL, writes=0)
    return told


@pytest.mark.parametrize(
    "arguments",
    [
        ("apps",),
        ("shuffles", "-"),
        ("graph", "-"),
        ("graph", "-", "-o", "dot"),
        ("events", "-"),
        ("explain", "-", "0"),
        ("holders", "-"),
        ("premature", "-"),
        ("replay", "-"),
        ("replay", "-", "--step"),
    ],
    ids=" ".join,
)
def test_a_name_reaches_no_terminal_as_it_is(
    shufflectl: Shufflectl, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    log = log_file(tmp_path / "evil.log", evil())
    said = shufflectl(*arguments, "--log", log)
    assert said.code == 0, said.err
    assert {one for one in said.out if not one.isprintable()} <= {"\n"}
    assert "end" not in {line.strip() for line in said.out.splitlines()}
    assert SHOWN in said.out.replace("\\\\", "\\")  # as Graphviz escapes it


def test_a_complaint_keeps_to_its_line(shufflectl: Shufflectl, tmp_path: Path) -> None:
    said = shufflectl("apps", "--log", tmp_path / EVIL)
    assert said.code == 3
    assert (SHOWN in said.err, said.err.count("\n")) == (True, 1)


def test_programs_read_names_as_they_are(shufflectl: Shufflectl, tmp_path: Path) -> None:
    log = log_file(tmp_path / "evil.log", evil())
    (row,) = shufflectl("apps", "--log", log, "-o", "json").data
    assert row["name"] == EVIL


@pytest.mark.parametrize("verb", ["apps", "events"])
@pytest.mark.parametrize("form", ["json", "yaml"])
def test_what_programs_read_is_obeyed_by_no_terminal_either(
    shufflectl: Shufflectl, tmp_path: Path, verb: str, form: str
) -> None:
    log = log_file(tmp_path / "evil.log", evil())
    out = shufflectl(verb, "--log", log, *(("-",) if verb == "events" else ()), "-o", form).out
    assert {one for one in out if not one.isprintable()} <= {"\n"}
    first = (yaml.safe_load(out) if form == "yaml" else json.loads(out))[0]
    assert (first["name"] if verb == "apps" else first["event"]["driver"]["name"]) == EVIL


@pytest.mark.parametrize("encoding", ["ascii", "iso-8859-1"])
def test_a_terminal_without_utf_8_shows_signs_that_it_lacks_by_number(tmp_path: Path, encoding: str) -> None:
    name = "größe → 😀"
    log = log_file(tmp_path / "app.log", Told(name=name))

    def printed(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "coordinator.cli.main", "--log", str(log), *arguments],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": encoding},
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode(encoding)

    headings, row = printed("apps").splitlines()
    assert r"\u2192 \U0001f600" in row
    assert headings.index("SPARK ID") == row.index("local-")
    assert json.loads(printed("apps", "-o", "json"))[0]["name"] == name
    assert yaml.safe_load(printed("apps", "-o", "yaml"))[0]["name"] == name
    assert json.loads(printed("events", "-", "-o", "json"))
