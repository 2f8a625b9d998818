"""`shufflectl report` weighs the source that was named, and no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from coordinator.cli import reporting
from coordinator.cli.exits import Exit, Failure
from coordinator.cli.here import Here
from coordinator.cli.reporting import _options_told, _without_what_is_missing, cut, reading_of, settings
from coordinator.config import Config, Loaded
from replay.frames.options import reading_of as reading_of_options
from replay.frames.sources.opening import plan
from tests.unit.cli.calling import Shufflectl, log_file
from tests.unit.replay.logs import APP, deleted_and_missed


def here(origins: dict[str, str], **chosen: Any) -> Here:
    return Here(Loaded(Config(**chosen), origins), "table")


def test_a_flag_hides_what_the_environment_names() -> None:
    origins = {"store": "flag --store", "log": "environment SHUFFLECTL_LOG", "server": "file config.toml"}
    found = reading_of(here(origins, store="sqlite:///x.db", log="other.log", server="h:1", archive="/a"))
    assert found == {"url": "sqlite:///x.db", "archive": "/a"}


@pytest.mark.parametrize("place", ["no.log", "sqlite:{0}/no.db"])
def test_what_is_not_there_has_the_exit_code_of_that(tmp_path: Path, place: str) -> None:
    with pytest.raises(Failure) as ended, _options_told():
        plan(reading_of_options({"path": place.format(tmp_path)}))
    assert ended.value.exit_code is Exit.NOT_FOUND


@pytest.mark.parametrize("is_told", [False, True])
def test_an_archive_that_is_not_there_is_said_once_and_is_no_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_told: bool
) -> None:
    there, nowhere = tmp_path / "there", tmp_path / "nowhere"
    there.mkdir()
    assert _without_what_is_missing({"archive": str(nowhere), "url": "x"}, is_told) == {"archive": "", "url": "x"}
    assert ("is not there: nothing has moved" in capsys.readouterr().err) is not is_told
    for reading in ({"archive": str(there)}, {"archive": ""}, {"url": "x.log"}):
        assert _without_what_is_missing(reading, is_told) is reading
    assert capsys.readouterr().err == ""


def test_a_log_is_read_without_the_archive() -> None:
    assert reading_of(here({"log": "flag --log"}, log="app.log", archive="/a")) == {"url": "app.log"}


def test_a_password_is_no_part_of_the_address_that_spark_shows() -> None:
    store = "etcd://ann:se%40cret@a:2379,b:2379/shuffles?tls=true"
    assert reading_of(here({"store": "flag --store"}, store=store)) == {
        "url": "etcd://a:2379,b:2379/shuffles?tls=true", "archive": "", "user": "ann", "password": "se@cret",
    }  # fmt: skip


@pytest.mark.parametrize("named", [("--all",), ("chain",)], ids=str)
def test_a_server_is_refused_before_spark_starts(
    shufflectl: Shufflectl, tmp_path: Path, named: tuple[str, ...]
) -> None:
    shufflectl.env("SHUFFLECTL_SERVER", "127.0.0.1:1")
    told = shufflectl("report", *named)
    assert (told.code, "`server` is 127.0.0.1:1, which Spark's tasks do not read" in told.err) == (Exit.USAGE, True)


def test_of_a_log_all_is_weighed_unless_some_are_named(
    shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `export` takes a log; the help says it."""
    weighed: list[Any] = []
    monkeypatch.setattr(reporting, "_weigh", lambda *given: weighed.append(given[1]))
    log, store = log_file(tmp_path / "app.log", deleted_and_missed()), ("--store", f"sqlite:{tmp_path}/no.db")
    assert [shufflectl("report", "--log", log, *one).code for one in ((), ("--all",), ("chain",))] == [0, 0, 0]
    assert weighed == [[], [], [APP]]
    told = shufflectl("report", *store)
    assert (told.code, "one or more of them, or --all" in told.err) == (Exit.USAGE, True)
    assert shufflectl("report", "--log", log, "--all", "chain").code == Exit.USAGE
    assert "of --log all that is there" in " ".join(shufflectl("report", "--help").out.split())


@pytest.mark.parametrize("name", ["exports", "app.arrow"])
def test_of_an_export_only_ids_can_be_named(
    shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    weighed: list[Any] = []
    monkeypatch.setattr(reporting, "_weigh", lambda *given: weighed.append(given[1]))
    (tmp_path / "exports").mkdir()
    told = shufflectl("report", "--log", tmp_path / name, "chain")
    assert (told.code, "the application is 'chain'; expected whole ids" in told.err) == (Exit.USAGE, True), told
    assert shufflectl("report", "--log", tmp_path / name, APP).code == Exit.OK
    assert weighed == [[APP]]


def test_where_two_are_named_in_one_place_neither_is_taken(shufflectl: Shufflectl, tmp_path: Path) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    told = shufflectl("report", "--all", "--log", log, "--store", f"sqlite://{tmp_path}/x.db")
    assert (told.code, "are both named" in told.err) == (Exit.USAGE, True)


def test_what_a_limit_cuts_off_is_said_and_programs_set_none() -> None:
    answers: dict[str, list[Any]] = {"one": [{}, {}], "two": [{}, {}, {}]}
    assert cut(answers, 2) == (
        {"one": [{}, {}], "two": [{}, {}]},
        ["two: more rows follow; a larger --limit shows them"],
    )
    assert cut(answers, None) == (answers, [])
    forms = [Here(Loaded(Config(), {}), form) for form in ("table", "json", "yaml")]
    assert [one.most(None, 10) for one in forms] == [10, None, None]
    assert [one.most(30, 10) for one in forms] == [30, 30, 30]


def test_executors_elsewhere_are_not_sent_to_their_own_loopback() -> None:
    assert settings("", {})["spark.driver.host"] == "127.0.0.1"
    assert "spark.driver.host" not in settings("spark://10.0.0.1:7077", {})


def test_a_conf_that_is_given_counts_before_ours() -> None:
    given = {"spark.driver.host": "10.0.0.2", "spark.sql.shuffle.partitions": "400"}
    assert settings("", given).items() >= given.items()
