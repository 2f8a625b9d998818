"""`shufflectl simulate`: policies side by side, over logs of ours and of Spark's, and a store's applications."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coordinator.cli.recordings import is_spread
from coordinator.cli.simulating import _named
from coordinator.core.commands import Command, EndApplication, ReportGap, ReportJobEnded, Resync
from coordinator.core.ids import ApplicationId, JobId
from coordinator.core.values import Ending, Policy, Rule
from replay.simulate.recordings import Recording
from tests.support.history_logs import chain, packed
from tests.unit.cli.calling import Shufflectl, log_file, store
from tests.unit.replay.logs import APP, Told, deleted_and_missed


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return log_file(tmp_path / "app.log", deleted_and_missed())


def test_policies_stand_between_spark_alone_and_the_oracle(shufflectl: Shufflectl, log: Path) -> None:
    lines = shufflectl("simulate", str(log), "--policy", "frontier", "--policy", "observe").out.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["POLICY", "Spark alone", "frontier", "observe", "oracle"]
    assert lines[0].split()[:3] == ["POLICY", "HELD", "OF"]
    assert "100.0 %" in lines[3]


def test_every_figure_is_in_json(shufflectl: Shufflectl, log: Path) -> None:
    data = shufflectl("simulate", str(log), "--policy", "frontier", "-o", "json").data
    [total], [application] = data["policies"], data["applications"]
    assert (application["application"], application["name"]) == (APP, "chain")
    assert application["summaries"] == [total]
    assert (total["policy"], total["deletions"], total["premature"], total["recomputed_bytes"]) == (
        "frontier", 1, 1, 120_000_000,
    )  # fmt: skip
    assert total["saved_byte_seconds"] == total["never_byte_seconds"] - total["held_byte_seconds"]


def test_a_store_has_applications(shufflectl: Shufflectl, tmp_path: Path) -> None:
    flags = "--store", store(tmp_path / "store.db", deleted_and_missed())
    one = shufflectl("simulate", "chain", *flags, "--policy", "eager", "-o", "json").data
    all_of_them = shufflectl("simulate", *flags, "--policy", "eager", "-o", "json").data
    assert one["policies"] == all_of_them["policies"]


def test_a_folder_is_all_that_is_in_it_and_what_is_no_log_costs_a_line(
    shufflectl: Shufflectl, log: Path, tmp_path: Path
) -> None:
    log_file(tmp_path / "second.log", Told(application=ApplicationId("second")))
    (tmp_path / "notes.txt").write_text("no log at all\n")
    start = {"Event": "SparkListenerApplicationStart", "App Name": "empty", "App ID": "app-1", "Timestamp": 5}
    (tmp_path / "app-1").write_text(json.dumps(start, separators=(",", ":")) + "\n")
    called = shufflectl("simulate", str(tmp_path), "--policy", "frontier", "--each", "--master", "none")
    assert (called.code, "notes" in called.err) == (0, True)
    assert "3 applications" in called.out
    assert called.out.count("Spark alone") == 4


@pytest.mark.parametrize(
    ("policies", "told"),
    [
        (["reachable"], "`reachable` keeps all."),
        (["delayed"], "`delayed(reachable, 60 s)` keeps all."),
        (["reachable", "delayed:reachable:5s"], "`reachable`, `delayed(reachable, 5 s)` keep all."),
        (["frontier", "delayed:frontier:60s"], ""),
    ],
)
def test_where_nobody_looked_a_policy_that_goes_by_looks_says_so(
    shufflectl: Shufflectl, tmp_path: Path, policies: list[str], told: str
) -> None:
    log = chain().write(tmp_path / "app-1")
    out = shufflectl("simulate", str(log), *(word for one in policies for word in ("--policy", one))).out
    assert [line for line in out.splitlines() if "without looks" in line] == (
        [f"1 record without looks: what the program held is not known, {told}"] if told else []
    )
    assert ("the program's variables are not in them" in out) is bool(told)


def test_copies_of_one_run_count_once(shufflectl: Shufflectl, log: Path, tmp_path: Path) -> None:
    (tmp_path / "copy.log").write_bytes(log.read_bytes())
    once, twice = (shufflectl("simulate", place, "--policy", "frontier", "-o", "json") for place in (log, tmp_path))
    assert twice.data["policies"] == once.data["policies"]
    assert f"{tmp_path}/copy.log: it is the same run as {log}, which holds no less: left out" in twice.err


#: How far a log of ours tells a run.
TOLD: dict[str, tuple[list[Command], list[Command]]] = {
    "whole": ([], [EndApplication()]),
    "begun late": ([ReportGap(0, "attach"), Resync()], [EndApplication()]),
    "detached": ([], [EndApplication(Ending.DETACHED)]),
    "lost": ([], [EndApplication(Ending.LOST)]),
    "not ended": ([], []),
}


def ours_told(path: Path, how: str, application: ApplicationId = APP) -> Path:
    begun, ended = TOLD[how]
    told = Told(application)
    for command in begun:
        told.say(command)
    told.whole_chain()
    told.stage(2, "count at chain.py:20", reads=(1,))
    told.done(2)
    for command in (ReportJobEnded(JobId(0)), *ended):
        told.say(command)
    return log_file(path, told)


@pytest.mark.parametrize("verb", ["simulate", "learn"])
@pytest.mark.parametrize("how", TOLD)
def test_a_run_that_spark_has_recorded_too_counts_once(
    shufflectl: Shufflectl, tmp_path: Path, verb: str, how: str
) -> None:
    """By the log of ours, which says more, where it tells the run from its beginning to its end; else by Spark's."""
    ours, to = ours_told(tmp_path / "ours.log", how), tmp_path / "lessons.json"
    history, other = chain(Told().spark_id).write(tmp_path / Told().spark_id), chain("app-7").write(tmp_path / "app-7")
    more = {"simulate": ("--policy", "frontier", "-o", "json"), "learn": ("--output", str(to), "--master", "none")}
    called = shufflectl(verb, str(ours), str(history), str(other), *more[verb])
    said = {
        "whole": f"{history}: it is the same run as {ours}, which is a log of ours: left out",
        "not ended": f"{ours}: it has not ended, so later reads are not in it: left out" if verb == "learn" else "",
    }.get(how, "") or f"{ours}: it is the same run as {history}, which tells all of it: left out"
    assert called.code == 0
    assert said in called.err
    if verb == "simulate":
        runs = [one["recording"] for one in called.data["applications"]]
        assert runs == [str(ours if how == "whole" else history), str(other)]
    else:
        assert " 2 runs, " in called.out


@pytest.mark.parametrize("ended", [True, False])
def test_a_run_with_two_attachments_counts_once(shufflectl: Shufflectl, tmp_path: Path, ended: bool) -> None:
    """Neither log of ours tells all of it. Where Spark's does not either, ours say more."""
    first = ours_told(tmp_path / "first.log", "detached")
    second = ours_told(tmp_path / "second.log", "begun late", ApplicationId("6f1c2d3e-0000-4000-8000-000000000002"))
    history = chain(Told().spark_id)
    if not ended:
        history.lines.pop()
    theirs = history.write(tmp_path / Told().spark_id)
    found = shufflectl("simulate", str(first), str(second), str(theirs), "--policy", "frontier", "-o", "json")
    runs = [one["recording"] for one in found.data["applications"]]
    assert runs == ([str(theirs)] if ended else [str(first), str(second)])


def test_a_record_that_is_named_twice_is_one(shufflectl: Shufflectl, log: Path) -> None:
    once, twice = (shufflectl("simulate", *places, "--policy", "frontier") for places in ((log,), (log, log)))
    assert (twice.out, twice.err) == (once.out, "")


def test_an_application_of_the_shared_file_is_found_wherever_that_lies(shufflectl: Shufflectl, tmp_path: Path) -> None:
    folder = tmp_path / "50% of #1" / "shuffle-lifecycle"
    folder.mkdir(parents=True, mode=0o700)
    store(folder / "coordinator.db", deleted_and_missed())
    shufflectl.env("XDG_STATE_HOME", str(folder.parent))
    called = shufflectl("simulate", "chain", "--policy", "observe")
    assert (called.code, "observe" in called.out) == (0, True), called


def test_of_several_places_one_may_be_missing(shufflectl: Shufflectl, log: Path, tmp_path: Path) -> None:
    missing, lessons = tmp_path / "gone.log", tmp_path / "lessons.json"
    told = f"shufflectl: {missing}: it is not there; expected a log, or a folder of logs\n"
    alone = shufflectl("simulate", log, "--policy", "frontier")
    called = shufflectl("simulate", log, missing, "--policy", "frontier")
    assert (called.code, called.out, called.err) == (0, alone.out, alone.err + told)
    learnt = shufflectl("learn", log, missing, "--output", lessons)
    assert told in learnt.err
    assert shufflectl("simulate", missing, tmp_path / "too.log").code == 3


def test_what_is_not_there_is_said(shufflectl: Shufflectl, tmp_path: Path) -> None:
    called = shufflectl("simulate", str(tmp_path / "no.log"))
    assert called.code == 3
    assert "it is not there" in called.err
    for verb in (("simulate", "no.log"), ("learn", "no.log", "--output", str(tmp_path / "lessons.json"))):
        called = shufflectl(*verb)
        assert (called.code, "no.log: there is no such file" in called.err) == (3, True), called
    assert shufflectl("simulate", str(tmp_path), "--policy", "clever").code == 2


@pytest.mark.parametrize("verb", [("simulate",), ("learn", "--output", "lessons.json")], ids=str)
def test_a_url_is_refused_as_one(
    shufflectl: Shufflectl, verb: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    called = shufflectl(*verb, "hdfs://here/logs")
    assert (called.code, "hdfs://here/logs is a URL, and records are read from a disk" in called.err) == (2, True)


def test_parts_of_a_run_in_files_of_their_own_are_one(shufflectl: Shufflectl, tmp_path: Path) -> None:
    lines = chain().lines
    (tmp_path / "app-1").write_bytes(packed(lines[:7]))
    (tmp_path / "app-1.tail").write_bytes(packed(lines[7:]))
    (tmp_path / "app-1.tail.copy").write_bytes(packed(lines[7:]))
    flags = "--policy", "frontier", "-o", "json", "--master", "none"
    called = shufflectl("simulate", tmp_path, *flags)
    [application] = called.data["applications"]
    assert (called.code, application["facts"], "piece" in application) == (0, 11, False)
    assert f"app-1.tail.copy: it tells a part of the run that is in {tmp_path}/app-1 too" in called.err
    learned = shufflectl("learn", tmp_path, "--output", tmp_path / "lessons.json", "--master", "none")
    assert learned.out.startswith("1 application, 1 run, 2 kinds"), learned


def test_an_empty_folder_and_a_link_to_nowhere_are_told_in_one_sentence(shufflectl: Shufflectl, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "empty").mkdir()
    told = {name: shufflectl("simulate", tmp_path / name) for name in ("link", "empty")}
    assert [called.code for called in told.values()] == [3, 3]
    assert all(called.err.count("expected") == 1 for called in told.values()), told
    assert "it is a link that leads nowhere" in told["link"].err


def test_learn_ends_as_simulate_does_where_nothing_can_be_read(
    shufflectl: Shufflectl, log: Path, tmp_path: Path
) -> None:
    names = "newer", "damaged", "cut", "text", "goes on"
    content, files = log.read_bytes(), {name: tmp_path / name for name in names}
    files["newer"].write_bytes(content.replace(b"log 1\n", b"log 9\n", 1))
    files["damaged"].write_bytes(content[:60] + b"?" + content[61:])
    files["cut"].write_bytes(content[:-5])
    files["text"].write_text("no log at all\n")
    files["goes on"].write_bytes(content)
    codes = {name: shufflectl("learn", file, "-o", tmp_path / "lessons.json").code for name, file in files.items()}
    assert codes == {"newer": 7, "damaged": 6, "cut": 6, "text": 3, "goes on": 1}
    several = {name: shufflectl("learn", files["goes on"], files[name], "-o", tmp_path / "lessons.json").code
               for name in ("newer", "damaged", "text")}  # fmt: skip
    assert several == {"newer": 7, "damaged": 6, "text": 1}


def test_learn_says_by_its_exit_code_that_lessons_are_missing(
    shufflectl: Shufflectl, log: Path, tmp_path: Path
) -> None:
    content, to = log.read_bytes(), tmp_path / "lessons.json"
    told = Told(application=ApplicationId("second"))
    told.whole_chain()
    told.say(EndApplication())
    whole, codes = log_file(tmp_path / "whole.log", told), {}
    others = {"goes on": content, "text": b"no log at all\n", "cut": content[:-5], "damaged": content[:60]}
    for name, other in others.items():
        log.write_bytes(other)
        called = shufflectl("learn", whole, log, "-o", to, "--master", "none")
        codes[name] = called.code, to.exists(), "could not be read to the end" in called.err
        to.unlink()
    left_out = 0, True, False
    assert codes == {"goes on": left_out, "text": left_out, "cut": (6, True, True), "damaged": (6, True, True)}


def test_a_policy_that_is_named_twice_is_simulated_once(shufflectl: Shufflectl, log: Path) -> None:
    once = shufflectl("simulate", log, "--policy", "frontier", "-o", "json").data
    assert shufflectl("simulate", log, "--policy", "frontier", "--policy", "frontier", "-o", "json").data == once


def test_policies_of_one_name_stay_apart(shufflectl: Shufflectl, log: Path) -> None:
    policies = "observe:frontier", "observe:eager", "observe"
    flags = [word for policy in policies for word in ("--policy", policy)]
    [application] = (data := shufflectl("simulate", log, *flags, "-o", "json").data)["applications"]
    assert [one["policy"] for one in data["policies"]] == ["observe(frontier)", "observe(eager)", "observe"]
    assert data["policies"] == application["summaries"]


def test_what_could_not_be_read_is_told_by_the_exit_code(shufflectl: Shufflectl, log: Path, tmp_path: Path) -> None:
    log.write_bytes(log.read_bytes()[:-5])
    cut = shufflectl("simulate", log)
    assert (cut.code, "POLICY" in cut.out, "read up to here" in cut.err) == (6, True, True)
    assert "B·s" in cut.out, "as in every other table"
    (tmp_path / "notes").write_text("no log at all\n")
    nothing = shufflectl("simulate", tmp_path / "notes")
    assert (nothing.code, "nothing was simulated; expected one record" in nothing.err, nothing.out) == (3, True, "")
    head, body = log.read_bytes()[:24], log.read_bytes()[24:]
    log.write_bytes(head + bytes(byte ^ 0x5A for byte in body))
    damaged = shufflectl("simulate", log)
    assert (damaged.code, "nothing was simulated; expected one record" in damaged.err) == (6, True)


def test_policies_as_people_write_them() -> None:
    assert _named("as-recorded") == ("as recorded", None)
    assert _named("frontier")[1] == Policy(Rule.FRONTIER, observe=False)
    assert _named("delayed:eager:30s")[1] == Policy(Rule.EAGER, observe=False, grace_ms=30_000)


@pytest.mark.parametrize(
    "text",
    ["eager:", "eager:frontier", "eager:frontier:5s", "delayed:", "delayed::5s", "delayed:eager:", "observe:a:b:c"],
)
def test_a_policy_with_a_part_that_is_empty_or_says_nothing_is_refused(
    shufflectl: Shufflectl, log: Path, text: str
) -> None:
    called = shufflectl("simulate", log, "--policy", text)
    assert (called.code, f"the policy is {text!r}; expected a policy's name" in called.err) == (2, True), called


def test_a_capacity_is_what_pressure_goes_by(shufflectl: Shufflectl, log: Path) -> None:
    by_pressure = ("--policy", "pressure", "-o", "json")
    roomy, narrow = (
        shufflectl("simulate", str(log), "--capacity", size, *by_pressure).data["policies"][0]
        for size in ("20g", "150000000b")
    )
    assert (roomy["deletions"], narrow["deletions"]) == (0, 1)
    unknown = "`pressure` without --capacity SIZE goes by the disks"
    assert unknown in shufflectl("simulate", str(log), *by_pressure[:2]).out
    assert unknown not in shufflectl("simulate", str(log), "--capacity", "20g", *by_pressure[:2]).out
    called = shufflectl("simulate", str(log), "--capacity", "20", *by_pressure)
    assert called.code == 2
    assert ("'20' is no size" in called.err, called.err.count("expected")) == (True, 1)


def test_a_session_is_for_many_bytes_or_who_asks_for_it() -> None:
    small, large = Recording("a", 1), Recording("b", 1_000_000_000)
    assert not is_spread([small, small], "")
    assert not is_spread([large], "local[2]")
    assert is_spread([small, small], "local[2]")
    assert is_spread([small, large], "")
    assert not is_spread([small, large], "none")


def test_what_was_learned_is_what_history_goes_by(shufflectl: Shufflectl, log: Path, tmp_path: Path) -> None:
    told = deleted_and_missed()
    told.done(4)
    told.say(EndApplication())
    ended, learned = log_file(tmp_path / "ended.log", told), tmp_path / "lessons.json"
    called = shufflectl("learn", str(ended), str(log), "--output", str(learned), "--master", "none")
    assert called.out == f"1 application, 1 run, 3 kinds of shuffles written to {learned}.\n"
    assert "has not ended" in called.err
    by_history = ("--policy", "history", "-o", "json")
    first, second = (
        shufflectl("simulate", str(ended), *flags, *by_history).data["policies"][0]
        for flags in ((), ("--history", str(learned)))
    )
    assert (first["premature"], second["premature"]) == (1, 0)
    untaught = "`history` without --history"
    assert untaught in shufflectl("simulate", str(ended), *by_history[:2]).out
    assert untaught in shufflectl("simulate", str(ended), "--policy", "delayed:history:5s").out
    assert "`history` " not in shufflectl("simulate", str(ended), "--history", str(learned), *by_history[:2]).out
    others = tmp_path / "others.json"
    others.write_text('{"format": "shuffle-lifecycle lessons", "version": 1, "applications": {}}')
    of_others = shufflectl("simulate", str(ended), "--history", str(others), *by_history[:2])
    assert "The file of lessons has none of chain: `history` knows" in of_others.out
    assert shufflectl("simulate", str(ended), "--history", str(ended)).code == 6
    for no_file in (tmp_path / "no.json", tmp_path):
        called = shufflectl("simulate", str(ended), "--history", str(no_file))
        assert (called.code, "cannot be read" in called.err) == (3, True), called


def test_lessons_without_a_folder_are_refused_before_the_work(
    shufflectl: Shufflectl, log: Path, tmp_path: Path
) -> None:
    called = shufflectl("learn", str(log), "--output", str(tmp_path / "nowhere" / "lessons.json"), "--master", "none")
    assert called.code == 3
    assert "nowhere/lessons.json is not there" in called.err
