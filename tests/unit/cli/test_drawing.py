"""The verbs `timeline` and `premature`, from a log and from a store."""

from __future__ import annotations

from pathlib import Path

from tests.unit.cli.calling import Shufflectl, log_file, store
from tests.unit.replay.logs import Told, deleted_and_missed


def test_a_timeline_of_a_file_and_of_a_store_is_the_same_page(shufflectl: Shufflectl, tmp_path: Path) -> None:
    told = deleted_and_missed()
    log, address = log_file(tmp_path / "app.log", told), store(tmp_path / "store.db", told)
    said = shufflectl("timeline", log, "-o", tmp_path / "a.html")
    assert (said.code, "3 shuffles of 32 events drawn" in said.out) == (0, True), said
    assert shufflectl("timeline", "chain", "--store", address, "-o", tmp_path / "b.html").code == 0
    page = (tmp_path / "a.html").read_text()
    assert (page.startswith("<!doctype html>"), "map at chain.py:12" in page) == (True, True)
    again = shufflectl("timeline", log, "-o", tmp_path / "a.html")
    assert (again.code, "is there already" in again.err) == (2, True)
    assert shufflectl("timeline", log, "-o", tmp_path / "a.html", "--force").code == 0
    assert shufflectl("timeline", log, "-o", tmp_path / "no" / "a.html").code == 3
    dash = shufflectl("timeline", log, "-o", "-")
    assert (dash.code, "the file to write is '-'" in dash.err) == (2, True)


def test_premature_deletions_are_listed_with_what_would_have_kept_them(shufflectl: Shufflectl, tmp_path: Path) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    told = shufflectl("premature", "--log", log, "-")
    assert "1 premature deletion: 120 MB written again" in told.out
    assert "The smallest change that keeps it: pin app shuffle 0" in told.out
    (row,) = shufflectl("premature", "--log", log, "-", "-o", "json").data
    assert (row["shuffle_id"], row["sequence"], row["recomputed_bytes"]) == (1, 25, 120_000_000)


def test_what_is_told_of_a_damaged_log_is_what_can_be_folded(shufflectl: Shufflectl, tmp_path: Path) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 0xFF
    log.write_bytes(content)
    told = shufflectl("premature", "--log", log, "-")
    assert (told.code, told.out) == (6, "Nothing was deleted too early up to event 8.\n")
    drawn = shufflectl("timeline", log, "-o", tmp_path / "a.html")
    assert (drawn.code, (tmp_path / "a.html").exists()) == (6, True)


def test_a_file_that_is_not_there_is_told_as_one(shufflectl: Shufflectl, tmp_path: Path) -> None:
    address = store(tmp_path / "store.db", deleted_and_missed())
    for named in (f"{tmp_path}/no.log", "./chain", "no.log"):
        told = shufflectl("timeline", named, "--store", address, "-o", tmp_path / "a.html")
        assert (told.code, f"there is no file {named}" in told.err) == (3, True), told


def test_an_application_may_be_called_like_a_file(shufflectl: Shufflectl, tmp_path: Path) -> None:
    for number, name in enumerate(("nightly.log", "./job")):
        told = Told(name=name)
        told.whole_chain()
        address = store(tmp_path / f"{number}.db", told)
        drawn = shufflectl("timeline", name, "--store", address, "-o", tmp_path / f"{number}.html")
        assert (drawn.code, (tmp_path / f"{number}.html").exists()) == (0, True), drawn
