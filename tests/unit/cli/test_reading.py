"""Reading verbs give the same from an exported log and from a store, in every form."""

from __future__ import annotations

import asyncio
import re
import tracemalloc
from pathlib import Path

import pytest
import yaml

from coordinator.cli.exits import Exit
from coordinator.cli.sources.log import LogSource
from coordinator.core import commands as c
from coordinator.core.ids import ApplicationId, AppShuffle, ClientId, JobId, Span, StageId
from coordinator.core.values import Ending, Outputs, Policy, Settings
from coordinator.runtime import places
from coordinator.wire.logfile import write_log
from coordinator.wire.records import SessionRecord, encode
from state_backend.open import open_backend
from state_backend.values import Keyspace
from tests.unit.cli.calling import Shufflectl, log_file, store
from tests.unit.replay.logs import APP, Told, deleted_and_missed, lineage
from tests.unit.replay.test_holders import looked_at, root

OTHER = ApplicationId("6f1c2d3e-0000-4000-8000-0000000000ff")


@pytest.fixture(params=["log", "store"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """Flag and value of a source that holds the same application."""
    told = deleted_and_missed()
    if request.param == "log":
        return "--log", str(log_file(tmp_path / "app.log", told))
    return "--store", store(tmp_path / "store.db", told)


def test_apps_tells_who_is_there(shufflectl: Shufflectl, source: tuple[str, str]) -> None:
    (row,) = shufflectl("apps", *source, "-o", "json").data
    assert (row["application"], row["name"], row["policy"], row["state"]) == (APP, "chain", "frontier", "running")
    table = shufflectl("apps", *source).out.splitlines()
    assert table[0].split() == ["APPLICATION", "NAME", "SPARK", "ID", "SPARK", "POLICY", "REGISTERED", "STATE"]
    assert table[1].startswith("6f1c2d3e  ")


def test_apps_tells_since_when_nobody_has_heard_of_a_driver(shufflectl: Shufflectl, tmp_path: Path) -> None:
    """Its store may be one that nobody serves, who would say that it is gone: the embedded default after a crash."""
    address = store(tmp_path / "store.db", deleted_and_missed())
    assert "silent" not in shufflectl("apps", "--store", address).out
    asyncio.run(last_heard(address, APP, 1_767_225_600_000))
    (row,) = shufflectl("apps", "--store", address, "-o", "json").data
    assert (row["state"], row["heard_ms"], row["replica"]) == ("running", 1_767_225_600_000, "r1")
    assert "running, silent since 2026-01-01 00:00:00 UTC" in shufflectl("apps", "--store", address).out


async def last_heard(address: str, application: ApplicationId, heartbeat_ms: int) -> None:
    sign = SessionRecord(application, ClientId("driver"), "r1", heartbeat_ms)
    async with await open_backend(address) as backend:
        await backend.put(Keyspace.SESSIONS, places.of_application(application), encode(sign))


def test_apps_tells_the_policy_that_is_in_force(shufflectl: Shufflectl, tmp_path: Path) -> None:
    address = store(tmp_path / "store.db", Told(policy=Policy()))
    told = [shufflectl("apps", "--store", address, "-o", "json").data[0]["policy"]]
    for change in (("frontier",), ("eager", "--group", "nightly"), ("delayed", "--rule", "eager", "--grace", "30s")):
        assert shufflectl("policy", "--store", address, "-", *change).code == 0
        told.append(shufflectl("apps", "--store", address, "-o", "json").data[0]["policy"])
    assert told == ["observe", "frontier", "frontier", "delayed(eager, 30 s)"]


def test_apps_tells_whose_deletion_is_suspended(shufflectl: Shufflectl, tmp_path: Path) -> None:
    address = store(tmp_path / "store.db", deleted_and_missed(Settings(premature_budget=0)))
    told = [shufflectl("apps", "--store", address, "-o", "json").data[0]["suspended"]]
    assert "running, suspended" in shufflectl("apps", "--store", address).out
    assert shufflectl("resume", "--store", address, "-").code == 0
    told.append(shufflectl("apps", "--store", address, "-o", "json").data[0]["suspended"])
    assert told == ["premature deletions passed the budget", None]


@pytest.mark.parametrize(
    "words",
    [
        ("shuffles",), ("graph",), ("events",), ("holders",), ("premature",), ("replay",), ("replay", "--at", "9"),
        ("explain", "1"), ("explain", "#1"), ("diff", "3"), ("diff", "3", "9"), ("diff", "3", "end"), ("verify",),
    ],
    ids=" ".join,
)  # fmt: skip
def test_in_a_log_the_application_need_not_be_named(
    shufflectl: Shufflectl, tmp_path: Path, words: tuple[str, ...]
) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    verb, *more = words
    alone = shufflectl(verb, *more, "--log", log, "-o", "json")
    assert alone.code == 0, alone.err
    for named in ("-", "chain", APP):
        assert shufflectl(verb, named, *more, "--log", log, "-o", "json").data == alone.data


def test_a_point_in_a_log_is_no_beginning_of_its_application_s_id(shufflectl: Shufflectl, tmp_path: Path) -> None:
    told = Told(application=ApplicationId("3e7d1c90"))
    told.whole_chain()
    log = log_file(tmp_path / "app.log", told)
    found = shufflectl("diff", "3", "9", "--log", log, "-o", "json").data
    assert (found["before"], found["after"]) == (3, 9)
    assert shufflectl("diff", "3e", "9", "--log", log, "-o", "json").data["before"] == 9


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("replay",), "no application is named"),
        (("explain", "5"), "the first word, '5', is for the application"),
        (("explain", "#7"), "Where there is one application: `shufflectl explain - '#7'`"),
        (("explain", "chain"), "no shuffle is named; expected an app shuffle such as 5"),
        (("pin", "5"), "Where there is one application: `shufflectl pin - 5`"),
        (("unpin", "chain"), "no shuffle is named; expected an app shuffle such as 5"),
        (("explain", "--log", "{log}"), "no shuffle is named"),
        (("explain", "--log", "{log}", "-"), "no shuffle is named"),
        (("diff", "5"), "no point is named"),
        (("diff", "--log", "{log}"), "no point is named"),
        (("diff", "--log", "{log}", "chian", "3"), "no application at log {log} is called 'chian'"),
        (("diff", "--log", "{log}", "3", "chian"), "the point is 'chian'"),
        (("timeline", "-o", "page.html"), "no application is named"),
        (("replay", "--log", "{log}", ""), "the application is ''"),
    ],
    ids=str,
)
def test_what_is_not_named_and_must_be_is_told(
    shufflectl: Shufflectl, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    called = shufflectl(*(word.format(log=log) for word in words))
    assert called.code in (Exit.USAGE, Exit.NOT_FOUND)
    assert told.format(log=log) in called.err


@pytest.mark.parametrize("there", [True, False], ids=["a store", "no store"])
@pytest.mark.parametrize("words", [("replay",), ("explain", "0"), ("premature",), ("verify",), ("events",), ("graph",)])
def test_a_log_that_stands_for_an_application_is_pointed_to(
    shufflectl: Shufflectl, tmp_path: Path, words: tuple[str, ...], there: bool
) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    source = ("--store", store(tmp_path / "store.db", Told())) if there else ()
    verb, *more = words
    called = shufflectl(verb, log, *more, *source)
    told = f"{log} is a file, and no application is called so; expected an application. To read it as a log, say --log"
    assert (called.code, told in called.err) == (Exit.NOT_FOUND, True), called.err
    assert f"`shufflectl {verb} --log {log}`" in called.err
    called = shufflectl(verb, tmp_path, *more, *source)
    assert f"{tmp_path} is a folder, and no application is called so" in called.err


def test_an_application_may_be_called_like_a_file(
    shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chain").write_text("")
    assert shufflectl("replay", "chain", "--store", store(tmp_path / "store.db", Told())).code == 0


def test_a_log_is_drawn_and_exported_without_a_name(shufflectl: Shufflectl, tmp_path: Path) -> None:
    log = log_file(tmp_path / "app.log", deleted_and_missed())
    assert shufflectl("timeline", "--log", log, "-o", tmp_path / "page.html").code == 0
    assert shufflectl("export", "--log", log, "-o", tmp_path / "copy.log").code == 0
    assert shufflectl("events", "--log", tmp_path / "copy.log").out == shufflectl("events", "--log", log).out


def test_a_generation_that_its_driver_has_left_to_spark_is_not_called_deleted(
    shufflectl: Shufflectl, tmp_path: Path
) -> None:
    told = Told(policy=Policy())
    told.whole_chain()
    told.say(c.EndApplication(Ending.DETACHED))
    log = log_file(tmp_path / "app.log", told)
    graphs = (("graph",), ("graph", "-o", "dot"))
    for words in (("explain", "0"), ("shuffles",), ("replay",), ("events", "--kind", "GenerationDeleted"), *graphs):
        lines = [line for line in shufflectl(*words, "--log", log).out.splitlines() if "#" in line]
        assert any("left to Spark" in line for line in lines), words
        assert not any(re.search(r"\bdeleted\b", line) for line in lines), lines
    before = len(told.log) - 3  # two generations are closed, then the application ends
    changed = shufflectl("diff", "--log", log, "-", before, "end").out
    assert (changed.count("is left to Spark"), changed.count("is deleted")) == (2, 0)
    summary = next(line for line in shufflectl("replay", "--log", log).out.splitlines() if "freed early" in line)
    assert summary.endswith("; 2 left to Spark (180 MB)")
    [counted] = shufflectl("replay", "--log", log, "-o", "json").data["counts"]
    assert counted == {"life": "deleted", "became": "left to Spark", "generations": 2, "bytes": 180_000_000}


def test_shuffles_says_why_a_shuffle_is_lost(shufflectl: Shufflectl, tmp_path: Path) -> None:
    told = Told(policy=Policy())
    told.whole_chain()
    told.say(c.ReportOutputs((Outputs(AppShuffle(0), 0, 4),)))
    address = store(tmp_path / "store.db", told)
    (row,) = shufflectl("shuffles", "--store", address, "-", "--state", "lost", "-o", "json").data
    assert (row["lost_because"], row["deleted_because"]) == ("outputs gone", None)
    table = shufflectl("shuffles", "--store", address, "-").out.splitlines()
    assert table[1].split()[2:7] == ["lost", "120", "MB", "outputs", "gone"]


def test_shuffles_in_every_form(shufflectl: Shufflectl, source: tuple[str, str]) -> None:
    rows = shufflectl("shuffles", *source, "chain", "-o", "json").data
    assert [(r["shuffle_id"], r["app_shuffle"], r["state"], r["bytes"]) for r in rows] == [
        (2, 1, "readable", 60_000_000),
        (3, 0, "readable", 120_000_000),
    ]
    assert yaml.safe_load(shufflectl("shuffles", *source, "chain", "-o", "yaml").out) == rows
    assert "120 MB  reads 4.0" in shufflectl("shuffles", *source, "chain").out
    assert shufflectl("shuffles", *source, "chain", "--state", "lost").out == "No shuffles that are lost.\n"


def test_generations_that_no_state_knows_are_counted(shufflectl: Shufflectl, source: tuple[str, str]) -> None:
    """Generation 1 was written again; no list but that of the log has it."""
    assert "not listed: 1 generation" in shufflectl("shuffles", *source, "chain").err
    assert "not listed: 1 generation" in shufflectl("shuffles", *source, "chain", "--state", "deleted").err
    assert shufflectl("shuffles", *source, "chain", "--state", "readable").err == ""
    unknown = shufflectl("explain", *source, "chain", "99")
    assert (unknown.code, "`shufflectl replay APP -o json` lists all" in unknown.err) == (3, True)


def test_resuming_tells_what_was_so(shufflectl: Shufflectl, tmp_path: Path) -> None:
    address = store(tmp_path / "store.db", deleted_and_missed())
    assert (
        "Deletion was not suspended: nothing has changed; policy frontier"
        in shufflectl("resume", "--store", address, "chain").out
    )


def test_graph_as_tree_as_dot_and_as_data(shufflectl: Shufflectl, source: tuple[str, str]) -> None:
    tree = shufflectl("graph", *source, "-").out
    assert tree.index("app shuffle 1  groupBy at chain.py:14") < tree.index("app shuffle 0  map at chain.py:12")
    assert "s0 -> s1;" in shufflectl("graph", *source, "-", "-o", "dot").out
    data = shufflectl("graph", *source, "-", "-o", "json").data
    assert [one["reads"] for one in data["shuffles"]] == [[], [0]]


def test_the_lineage_of_a_loop_of_thousands_of_rounds_is_drawn(shufflectl: Shufflectl, tmp_path: Path) -> None:
    rounds = 3_000
    told, last = Told(), AppShuffle(rounds - 1)
    lines = tuple(lineage(at, f"round at loop.py:{at}", reads=(at - 1,) if at else ()) for at in range(rounds))
    told.say(c.ReportJobStarted(JobId(0), StageId(rounds), (last,), None, (Span(0, rounds),), lines))
    called = shufflectl("graph", "--log", log_file(tmp_path / "loop.log", told), "-")
    assert (called.code, called.err) == (0, "")
    drawn = [int(at) for at in re.findall(r"round at loop\.py:(\d+)", called.out)]
    assert drawn == list(range(rounds - 1, -1, -1))
    assert max(map(len, called.out.splitlines())) < 200


def test_a_number_that_no_event_has_is_refused_in_a_sentence(shufflectl: Shufflectl, source: tuple[str, str]) -> None:
    called = shufflectl("events", *source, APP, "--after", 10**22)
    assert (called.code, "9223372036854775807" in called.err, "join_key" in called.err) == (2, True, False)


def test_events_by_place_kind_and_number(shufflectl: Shufflectl, source: tuple[str, str]) -> None:
    some = shufflectl("events", *source, APP, "--after", 10, "--limit", 2, "-o", "json")
    assert [row["sequence"] for row in some.data] == [11, 12]
    assert "more follow: --after 12, or a larger --limit" in some.err
    (expired,) = shufflectl("events", *source, APP, "--kind", "generation-expired", "-o", "json").data
    assert expired["event"]["why"] == "every reader's output is on disk"
    table = shufflectl("events", *source, APP, "--limit", 3)
    assert "job 0 (count at chain.py:20) started" in table.out
    assert "more follow: --after 3" in table.err


def test_what_was_named_before_the_first_event_that_is_shown_is_called_by_its_name(
    shufflectl: Shufflectl, source: tuple[str, str]
) -> None:
    all_of_it = shufflectl("events", *source, APP, "-o", "json").data
    assert "#1 of app shuffle 0 expired" in "\n".join(row["text"] for row in all_of_it)
    for after in range(len(all_of_it)):
        assert shufflectl("events", *source, APP, "--after", after, "-o", "json").data == all_of_it[after:]


def test_programs_get_all_events_and_a_table_says_that_more_follow(shufflectl: Shufflectl, tmp_path: Path) -> None:
    told = Told()
    told.chain_job()
    told.say(*(c.ReportDisk("/d", used_bytes, 1) for used_bytes in range(1_100)))
    log = log_file(tmp_path / "app.log", told)
    assert len(told.log) > 1_000
    rows = shufflectl("events", "--log", log, "-", "-o", "json")
    assert ([row["sequence"] for row in rows.data], rows.err) == ([one.sequence for one in told.log], "")
    table = shufflectl("events", "--log", log, "-")
    assert ("more follow: --after 1000," in table.err, len(table.out.splitlines())) == (True, 1_001)


def test_programs_get_all_holders_and_a_table_says_that_there_are_more(shufflectl: Shufflectl, tmp_path: Path) -> None:
    told = looked_at(*(root(f"o{number}", f"`n{number}`", 0) for number in range(33)))
    log = log_file(tmp_path / "app.log", told)
    rows = shufflectl("holders", "--log", log, "-", "-o", "json")
    assert (len(rows.data), rows.err) == (33, "")
    assert "3 more hold some: a larger --limit shows them" in shufflectl("holders", "--log", log, "-").err
    some = shufflectl("holders", "--log", log, "-", "-o", "json", "--limit", 5)
    assert (len(some.data), "28 more hold some" in some.err) == (5, True)


def test_what_no_job_plan_or_name_holds_is_told_to_be_there(shufflectl: Shufflectl, tmp_path: Path) -> None:
    told = Told(policy=Policy())
    told.whole_chain()
    told.say(c.ReportJobEnded(JobId(0)))
    log = log_file(tmp_path / "app.log", told)
    found = shufflectl("holders", "--log", log, "-")
    assert "No job, plan or name holds any shuffle data; 180 MB are kept all the same" in found.out + found.err
    told.say(c.EndApplication(Ending.ENDED))
    found = shufflectl("holders", "--log", log_file(tmp_path / "over.log", told), "-")
    assert "Nothing holds any shuffle data" in found.out + found.err


def test_what_held_data_when_the_application_ended_is_told_behind_its_end(
    shufflectl: Shufflectl, tmp_path: Path
) -> None:
    told = looked_at(root("o1", "`ranks` in pagerank.py:41", 1))
    told.say(c.EndApplication(Ending.ENDED))
    found = shufflectl("holders", "--log", log_file(tmp_path / "over.log", told), "-")
    assert "`ranks` in pagerank.py:41" in found.out
    assert "this was so when the application ended" in found.err


def test_explain_tells_the_story(shufflectl: Shufflectl, source: tuple[str, str]) -> None:
    told = shufflectl("explain", *source, "chain", 0).out
    assert "Deleted early at event 18 by policy frontier" in told
    assert "missed by stage 3.0 (map at chain.py:12) of job 1 (collect at chain.py:31)" in told
    assert "Held: stage 4.0 (collect at chain.py:31)" in told
    data = shufflectl("explain", *source, "chain", "#1", "-o", "json").data
    assert [(c["shuffle_id"], c["life"], c["bytes"]) for c in data["chapters"]] == [(1, "deleted", 120_000_000)]
    assert shufflectl("explain", *source, "chain", 1, "--id", "-o", "json").data == data


def test_an_export_reads_as_what_it_was_made_from(
    shufflectl: Shufflectl, source: tuple[str, str], tmp_path: Path
) -> None:
    copy = tmp_path / "copy.log"
    assert "32 events written" in shufflectl("export", *source, "chain", "-o", copy).out
    events = [shufflectl("events", *one, "-", "-o", "json").data for one in (source, ("--log", copy))]
    assert events[0] == events[1]
    again = shufflectl("export", *source, "chain", "-o", copy)
    assert (again.code, "is there already" in again.err) == (2, True)
    assert shufflectl("export", *source, "chain", "-o", copy, "--force").code == 0


def test_all_that_there_is_fits_into_a_log_file_where_it_is_one_application(
    shufflectl: Shufflectl, tmp_path: Path
) -> None:
    one, two = store(tmp_path / "one.db", Told()), store(tmp_path / "two.db", Told(), Told(application=OTHER))
    copy = tmp_path / "copy.log"
    refused = shufflectl("export", "--store", two, "--all", "-o", copy)
    assert (refused.code, "2 applications, and a log file holds one" in refused.err, copy.exists()) == (2, True, False)
    assert shufflectl("export", "--store", one, "--all", "-o", copy).code == 0
    assert shufflectl("apps", "--log", copy, "-o", "json").data[0]["application"] == APP


@pytest.mark.parametrize("named", ["nightly", "nightly-2", "Weekly", "week"])
def test_an_application_by_an_id_of_its_own_choice(shufflectl: Shufflectl, tmp_path: Path, named: str) -> None:
    """One id may begin another one, or be the name of another one; a UUID is none of that."""
    ids = ("nightly", "nightly-2", "Weekly")
    names = {"nightly": "", "nightly-2": "nightly", "Weekly": ""}
    address = store(tmp_path / "store.db", *(Told(application=ApplicationId(id_), name=names[id_]) for id_ in ids))
    called = shufflectl("events", "--store", address, named, "-o", "json")
    assert (called.code, called.err) == (0, "")
    assert called.data[0]["event"]["application"].lower().startswith(named.lower())
    assert called.data[0]["event"]["application"] in (named, "Weekly")


def test_an_application_by_id_beginning_spark_s_id_and_name(shufflectl: Shufflectl, tmp_path: Path) -> None:
    other = Told(application=OTHER, name="other", spark_id="local-2")
    address = store(tmp_path / "store.db", Told(), other)
    for named in (OTHER, OTHER.upper()[:-1] + "F", "local-2", "other"):
        assert (
            shufflectl("events", "--store", address, named.lower(), "-o", "json").data[0]["event"]["application"]
            == OTHER
        )
    both = shufflectl("shuffles", "--store", address, "6f1c")
    assert (both.code, both.err.count("6f1c2d3e-0000")) == (2, 2)
    none = shufflectl("shuffles", "--store", address, "nope")
    assert (none.code, "(other)" in none.err, "(chain)" in none.err) == (3, True, True)
    rows = shufflectl("apps", "--store", address).out.splitlines()[1:]
    assert len({row.split()[0] for row in rows}) == 2


def test_runs_of_one_name_are_told_apart_the_newest_first(shufflectl: Shufflectl, tmp_path: Path) -> None:
    address = store(tmp_path / "store.db", Told(), Told(application=OTHER, spark_id="local-2"))
    both = shufflectl("shuffles", "--store", address, "chain")
    assert (both.code, both.err.count("registered 2026-")) == (2, 2)
    assert both.err.index(OTHER) < both.err.index(APP)


def test_a_whole_name_goes_before_the_beginning_of_an_id(shufflectl: Shufflectl, tmp_path: Path) -> None:
    address = store(tmp_path / "store.db", Told(), Told(application=OTHER, spark_id=APP[:6]))
    assert shufflectl("export", "--store", address, APP[:6], "-o", tmp_path / "copy.log").code == 0
    [copied] = shufflectl("apps", "--log", tmp_path / "copy.log", "-o", "json").data
    assert copied["application"] == OTHER


def test_an_empty_name_is_no_application_s(shufflectl: Shufflectl, tmp_path: Path) -> None:
    address = store(tmp_path / "store.db", Told())
    for verb in (("shuffles", ""), ("resume", ""), ("pin", "", "0"), ("export", "", "-o", tmp_path / "copy.log")):
        called = shufflectl("--store", address, *verb)
        assert (called.code, "the application is ''" in called.err) == (2, True), called


def test_options_stand_before_or_behind_the_verb(shufflectl: Shufflectl, tmp_path: Path) -> None:
    log = log_file(tmp_path / "app.log", Told())
    assert shufflectl("--log", log, "-o", "json", "apps").data == shufflectl("apps", "--log", log, "-o", "json").data
    shufflectl.env("SHUFFLECTL_STORE", "sqlite:///nowhere.db")
    assert shufflectl("apps", "--log", log).code == 0, "a flag hides what the environment names"
    assert shufflectl("apps").code == 3


def test_completion_and_help_exist(shufflectl: Shufflectl) -> None:
    told = shufflectl("--help").out
    assert "--install-completion" in told
    assert "where none is named, against the file" in " ".join(told.replace("│", " ").split())
    assert "Exit codes: 0 it was done" in " ".join(told.split())
    assert "shuffle_lifecycle" in shufflectl("version").out


def test_versions_are_one_object_and_ours_alone_is_a_line(shufflectl: Shufflectl) -> None:
    told = shufflectl("version", "-o", "json").data
    assert list(told) == ["shuffle_lifecycle", "grpcio", "protobuf", "pyspark", "python", "log_format"]
    called = shufflectl("--version")
    assert (called.code, called.out, called.err) == (0, f"shufflectl {told['shuffle_lifecycle']}\n", "")


def test_holders_by_what_each_alone_holds(shufflectl: Shufflectl, source: tuple[str, str]) -> None:
    (row,) = shufflectl("holders", *source, "-", "-o", "json").data
    assert (row["kind"], row["who"], row["app_shuffles"]) == ("job", "job 1 (collect at chain.py:31)", [0])
    assert row["bytes"] == row["alone_bytes"] == 120_000_000
    table = shufflectl("holders", *source, "-").out.splitlines()
    assert table[0].split() == ["ALONE", "HOLDS", "KIND", "WHO", "SHUFFLES", "WRITTEN", "AT"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("apps",),
        ("events", "-"),
        ("explain", "-", "0"),
        ("replay", "-"),
        ("replay", "-", "--at", "1"),
        ("verify",),
        ("premature", "-"),
    ],
    ids=" ".join,
)
def test_a_segment_that_is_missing_is_named(shufflectl: Shufflectl, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    first, second, third, *_ = deleted_and_missed().segments()
    log = tmp_path / "app.log"
    log.write_bytes(b"".join(write_log((first, third))))
    told = shufflectl(*arguments, "--log", log)
    assert told.code == 6
    assert f"a segment begins with record {third.first_sequence}; expected record {second.first_sequence}" in told.err


def test_a_log_without_its_beginning_is_not_called_empty(shufflectl: Shufflectl, tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_bytes(b"".join(write_log(deleted_and_missed().segments()[1:])))
    told = shufflectl("apps", "--log", log)
    assert (told.code, "begins with record 9; expected record 1." in told.err) == (6, True)


def test_a_log_may_be_longer_than_memory(tmp_path: Path) -> None:
    peaks = []
    for events in (500, 4_000):
        told = Told()
        told.say(*(c.ReportDisk("/d", used_bytes, 1) for used_bytes in range(events)))
        log = log_file(tmp_path / f"{events}.log", told)
        del told
        tracemalloc.start()
        found = asyncio.run(_length(LogSource(log)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert found > events
    assert peaks[1] < peaks[0] + 300_000


async def _length(source: LogSource) -> int:
    found = 0
    async for _ in source.events(APP):
        found += 1
    return found
