"""What runs teach, the file that keeps it, and what policy `history` makes of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, JobId, Span, StageId
from coordinator.core.lineages import kind_of
from coordinator.core.values import Driver, Expiry, Lesson, Lineage, Outputs, Policy, Rule, Settings
from coordinator.wire import lessons
from coordinator.wire.errors import Corrupt, Malformed, TooNew
from replay.history.finding import Log as Found
from replay.history.finding import Part, local_parts, sort
from replay.learn import Learned, learn, learned, together
from replay.simulate import Pace, facts_of, simulate
from replay.simulate.recordings import Recording, of_history
from tests.support.history_logs import chain, chain_read_again, packed
from tests.unit.replay.logs import APP, Told, attempt, lineage

HISTORY = Policy(Rule.HISTORY, observe=False)
FRONTIER = Policy(Rule.FRONTIER, observe=False)
OBSERVE = Policy(Rule.FRONTIER, observe=True)
AT_ONCE = Pace(0, 0)


def read_again(first: int = 0, ended: bool = True) -> Told:
    """App shuffle `first` is read by a map stage, and once more by a later job; numbers differ from run to run."""
    told = Told(policy=OBSERVE)
    a, b = AppShuffle(first), AppShuffle(first + 1)
    told.say(
        c.ReportJobStarted(
            JobId(first), StageId(first + 2), (b,), None, (Span(first, first + 2),),
            (lineage(first, "map at p.py:1"), lineage(first + 1, "map at p.py:2", reads=(first,))),
        )
    )  # fmt: skip
    told.stage(first, "a", writes=a)
    told.done(first, 1_000)
    told.stage(first + 1, "b", reads=(a,), writes=b)
    told.done(first + 1, 1_000)
    told.stage(first + 2, "c", reads=(b,))
    told.done(first + 2)
    told.say(c.ReportJobEnded(JobId(first)))
    told.say(c.ReportJobStarted(JobId(first + 1), StageId(first + 4), (a,), None, (Span(first + 3, first + 4),)))
    told.stage(first + 4, "d", reads=(a,))
    told.done(first + 4)
    told.say(c.ReportJobEnded(JobId(first + 1)))
    if ended:
        told.say(c.EndApplication())
    return told


def test_a_kind_is_the_same_whether_or_not_the_programs_line_is_known() -> None:
    """A history log of Spark's has no line; what it taught shall hold for a run that knows it."""
    plain = {AppShuffle(0): lineage(0, "at Pool.java:9"), AppShuffle(1): lineage(1, "at Pool.java:9", reads=(0,))}
    known = {key: replace(one, call_site=f"show at {key}", stage_name=one.call_site) for key, one in plain.items()}
    kinds = [kind_of(plain.get, shuffle) for shuffle in plain]
    assert [kind_of(known.get, shuffle) for shuffle in known] == kinds
    assert len(set(kinds)) == 2


@pytest.mark.parametrize("is_truth", [False, True], ids=["ahead of its job", "with the truth after a gap"])
def test_lineage_that_its_job_did_not_bring_is_known_all_the_same(is_truth: bool) -> None:
    whole = read_again()
    told = Told(policy=OBSERVE)
    for command in whole.said[1:]:
        if not isinstance(command, c.ReportJobStarted) or not command.lineage:
            told.say(command)
        elif is_truth:
            told.say(c.ReportGap(1, "bus"), c.Resync((command,)))
        else:
            told.say(*(c.ReportLineage((one,)) for one in command.lineage), replace(command, lineage=()))
    assert learn(facts_of(told.log)) == learn(facts_of(whole.log))


def test_a_run_teaches_how_often_each_kind_is_read() -> None:
    taught = learn(facts_of(read_again().log))
    assert {kind.call_site: (kind.reads, kind.seen) for kind in taught.kinds} == {
        "map at p.py:1": (2, 1),
        "map at p.py:2": (1, 1),
        "map at p.py": (2, 1),  # what was late, wherever its line has moved to
    }


def being_read() -> Told:
    """App shuffle 0, and 1 that was made from it; the stage that reads 1 has begun."""
    told = Told(policy=OBSERVE)
    told.chain_job()
    told.stage(0, "a", writes=0)
    told.done(0, 1_000)
    told.stage(1, "b", reads=(0,), writes=1)
    told.done(1, 1_000)
    told.stage(2, "c", reads=(1,))
    return told


def fails_for_good(tries: int, then: str = "") -> Told:
    """A map stage reads app shuffle 0; another one that reads it too fails so often, and so does its job."""
    told = being_read()
    told.done(2)
    told.say(c.ReportJobEnded(JobId(0)))
    told.say(
        c.ReportJobStarted(
            JobId(1), StageId(5), (AppShuffle(2),), None, (Span(3, 5),), (lineage(2, "map at p.py:3", reads=(0,)),)
        )
    )
    for number in range(tries):
        failure = then if number == tries - 1 else "a task failed four times"
        told.say(c.ReportStageSubmitted(attempt(4, number), (AppShuffle(0),), AppShuffle(2), 4, "d"))
        told.say(c.ReportStageCompleted(attempt(4, number), failure))
    told.say(c.ReportJobEnded(JobId(1), False, then))
    told.say(c.EndApplication())
    return told


@pytest.mark.parametrize(("tries", "failure"), [(1, "a task failed four times"), (3, "cut off"), (1, ""), (3, "")])
def test_who_failed_while_it_read_will_read_in_another_run(tries: int, failure: str) -> None:
    taught = learn(facts_of(fails_for_good(tries, failure).log))
    assert {kind.call_site: kind.reads for kind in taught.kinds} == {
        "map at chain.py:12": 2,
        "map at chain.py": 2,
        "groupBy at chain.py:14": 1,
        "map at p.py:3": 0,
    }


def repaired(then_read: bool = False) -> Told:
    """App shuffle 0 is read by the map stage of 1, and once more by it, since outputs of 1 were lost."""
    told = being_read()
    told.now_ms += 5_000
    told.say(c.ReportOutputs((Outputs(AppShuffle(1), 2, 4),)))
    told.say(c.ReportStageCompleted(attempt(2), "a fetch failed"))
    told.say(c.ReportStageSubmitted(attempt(1, 1), (AppShuffle(0),), AppShuffle(1), 2, "b"))
    told.say(c.ReportStageCompleted(attempt(1, 1), shuffle_bytes_written=500))
    told.say(
        c.ReportStageSubmitted(attempt(2, 1), (AppShuffle(1),), None, 4, "c"), c.ReportStageCompleted(attempt(2, 1))
    )
    told.say(c.ReportJobEnded(JobId(0)))
    if then_read:
        told.say(c.ReportJobStarted(JobId(1), StageId(4), (AppShuffle(0),), None, (Span(3, 4),)))
        told.stage(4, "d", reads=(0,))
        told.done(4)
        told.say(c.ReportJobEnded(JobId(1)))
    told.say(c.EndApplication())
    return told


@pytest.mark.parametrize(("then_read", "reads", "late"), [(False, 1, False), (True, 2, True)])
def test_who_repairs_what_it_wrote_is_no_other_reader(then_read: bool, reads: int, late: bool) -> None:
    """Under `frontier` it misses what it reads; the loss of outputs teaches nothing, a reader after it does."""
    first, *_ = learn(facts_of(repaired(then_read).log)).kinds
    assert (first.reads, first.loops, first.late) == (reads, False, late)


def at_line(place: str, policy: Policy = OBSERVE, comes_back: bool = True) -> Told:
    """App shuffle 0, made at this line, is read by a job, and a minute later by another one."""
    told = Told(policy=policy)
    made = (lineage(0, f"groupByKey at {place}"), lineage(1, f"join at {place}0", reads=(0,)))
    told.say(c.ReportJobStarted(JobId(0), StageId(2), (AppShuffle(1),), None, (Span(0, 2),), made))
    told.stage(0, "a", writes=0)
    told.done(0, 1_000)
    told.stage(1, "b", reads=(0,), writes=1)
    told.done(1, 1_000)
    told.stage(2, "c", reads=(1,))
    told.done(2)
    told.say(c.ReportJobEnded(JobId(0)))
    if not comes_back:
        told.say(c.EndApplication())
        return told
    told.now_ms += 60_000
    told.say(c.ReportJobStarted(JobId(1), StageId(4), (AppShuffle(0),), None, (Span(3, 4),)))
    told.stage(4, "d", reads=(0,))
    told.done(4)
    told.say(c.ReportJobEnded(JobId(1)), c.EndApplication())
    return told


@pytest.mark.parametrize(
    ("place", "missed"),
    [
        ("/yarn/container_2/job.py:7", 0),
        ("job.py:7", 0),
        ("C:\\jobs\\job.py:7", 0),
        ("/jobs/job.py:8", 0),
        ("/a/b.py:7", 1),
    ],
)
def test_the_folder_of_a_program_and_where_its_lines_have_moved_to_make_no_difference(place: str, missed: int) -> None:
    """YARN and Kubernetes put it into another folder for each run, and people edit it."""
    taught = learn(facts_of(at_line("/yarn/container_1/job.py:7").log))
    found = simulate(facts_of(at_line(place).log), HISTORY, pace=AT_ONCE, lessons=taught.lessons)
    assert found.premature == missed


def test_a_line_that_has_not_moved_is_known_by_its_number() -> None:
    """Beside another one of the same name that is read late."""
    late, other = at_line("job.py:7"), at_line("job.py:9", comes_back=False)
    taught = together([Learned("1", "job", learn(facts_of(one.log))) for one in (late, other)])["job"]
    assert [kind.call_site for kind in taught.kinds if kind.late] == ["groupByKey at job.py", "groupByKey at job.py:7"]
    found = simulate(facts_of(other.log), HISTORY, pace=AT_ONCE, lessons=taught.lessons)
    assert Expiry.LEARNED in {life.why for life in found.lives if life.app_shuffle == 0}


def test_lessons_that_name_folders_hold_in_the_same_one() -> None:
    """As files say that were learned before."""
    lesson = Lesson("6d622cc853fda3f8", 2, late=True)
    found = simulate(facts_of(at_line("/jobs/job.py:7").log), HISTORY, pace=AT_ONCE, lessons=(lesson,))
    assert found.premature == 0


def test_numbers_of_stages_and_shuffles_make_no_difference() -> None:
    one, other = (learn(facts_of(read_again(first).log)) for first in (0, 40))
    assert one == other


def test_what_was_learned_keeps_what_is_read_again_and_lets_the_rest_go() -> None:
    told = read_again()
    taught = learn(facts_of(told.log)).lessons
    by_frontier = simulate(facts_of(read_again(40).log), FRONTIER, pace=AT_ONCE)
    by_history = simulate(facts_of(read_again(40).log), HISTORY, pace=AT_ONCE, lessons=taught)
    assert (by_frontier.premature, by_history.premature) == (1, 0)
    assert by_history.deletions == 2  # the second one too, which `frontier` keeps to the end
    assert {life.why for life in by_history.lives} == {Expiry.LEARNED}
    assert by_history.held_byte_seconds == by_history.needed_byte_seconds


def test_without_lessons_it_is_the_frontier() -> None:
    facts = list(facts_of(read_again().log))
    frontier, history = (simulate(facts, policy, pace=AT_ONCE) for policy in (FRONTIER, HISTORY))
    told = [[r.event for r in one.log if isinstance(r.event, e.GenerationExpired)] for one in (frontier, history)]
    assert told[0] == told[1] != []


def test_a_kind_that_no_run_has_shown_falls_back_to_the_frontier() -> None:
    outcome = simulate(facts_of(read_again().log), HISTORY, pace=AT_ONCE, lessons=(Lesson("ffff", 1),))
    assert {life.why for life in outcome.lives if life.why} == {Expiry.FRONTIER}


def test_all_rounds_of_a_loop_but_the_first_are_one_kind() -> None:
    known = {
        AppShuffle(n): Lineage(AppShuffle(n), (AppShuffle(n - 1),) if n else (), call_site="map at loop.py:4")
        for n in range(20)
    }
    kinds = [kind_of(known.get, AppShuffle(n)) for n in range(20)]
    assert len(set(kinds)) == 2
    assert len(set(kinds[1:])) == 1
    assert kind_of(known.get, AppShuffle(99)) == ""


def test_of_several_runs_the_most_counts() -> None:
    short = Told(policy=OBSERVE)
    short.say(
        c.ReportJobStarted(JobId(0), StageId(1), (AppShuffle(0),), None, (Span(0, 1),), (lineage(0, "map at p.py:1"),))
    )
    short.stage(0, "a", writes=0)
    short.done(0, 10)
    runs = [Learned("1", "job", learn(facts_of(short.log))), Learned("2", "job", learn(facts_of(read_again().log)))]
    taught = together([*runs, Learned("3", "job", why_not="damaged")])["job"]
    assert taught.runs == 2
    assert {kind.call_site: (kind.reads, kind.seen) for kind in taught.kinds}["map at p.py:1"] == (2, 2)


def test_a_file_says_what_was_written() -> None:
    taught = {"job": learn(facts_of(read_again().log))}
    text = lessons.text_of(taught)
    assert lessons.parse(text, "f") == taught
    assert "map at p.py:1" in text
    by_hand = json.loads(text)
    del by_hand["checksum"]
    by_hand["applications"]["job"]["shuffles"][0]["reads"] = 7
    assert lessons.parse(json.dumps(by_hand), "f")["job"].kinds[0].reads == 7


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"version": 2}, TooNew, "2"),
        ({"format": "something else"}, Corrupt, "holds no lessons"),
        ({"checksum": "00"}, Corrupt, "checksum"),
        ({"applications": {"job": {"runs": 1}}, "checksum": None}, Corrupt, "checksum"),
    ],
)
def test_a_file_that_is_not_what_it_was_is_an_error(change: dict[str, object], error: type, says: str) -> None:
    written = json.loads(lessons.text_of({"job": learn(facts_of(read_again().log))})) | change
    with pytest.raises(error, match=says):
        lessons.parse(json.dumps(written), "f")


def test_a_file_that_makes_no_sense_is_an_error() -> None:
    head = {"format": lessons.FORMAT, "version": 1}
    with pytest.raises(Malformed):
        lessons.parse(json.dumps({**head, "applications": {"job": {"runs": 1}}}), "f")
    with pytest.raises(Corrupt):
        lessons.parse("{", "f")


@pytest.mark.parametrize(
    ("edited", "told"),
    [
        ({"reads": "2"}, 'shuffle 1: reads is "2"; expected a whole number from 0 on'),
        ({"reads": 2.5}, "reads is 2.5; expected a whole number"),
        ({"reads": -1}, "reads is -1; expected a whole number"),
        ({"reads": True}, "reads is true; expected a whole number"),
        ({"seen": 10**30}, "seen is 1000000000000000000000000000000; expected a whole number"),
        ({"late": "no"}, 'late is "no"; expected true or false'),
        ({"lineage": None}, "lineage is missing; expected text"),
        ({"lineage": "\ud800"}, "expected text"),
        ({"raeds": 3}, "it has a field 'raeds'; expected no others than lineage, call_site, reads, loops, late, seen"),
    ],
)
def test_a_slip_in_a_file_that_a_person_has_edited_is_named_with_its_place(
    edited: dict[str, object], told: str
) -> None:
    kind = {"lineage": "aa", "call_site": "map at a.py:1", "reads": 1, "seen": 1, **edited}
    written = {"format": lessons.FORMAT, "version": 1, "applications": {"job": {"runs": 1, "shuffles": [kind]}}}
    with pytest.raises(Malformed, match="f: application 'job', shuffle 1: ") as refused:
        lessons.parse(json.dumps(written), "f")
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("applications", "told"),
    [
        ([], "f: applications: it is []; expected names and values in braces"),
        (None, "f: applications: it is missing"),
        ({"job": 3}, "f: application 'job': it is 3"),
        ({"job": {"runs": 1, "shuffles": {}}}, "f: application 'job': shuffles is {}; expected a list in brackets"),
        ({"job": {"shuffles": []}}, "f: application 'job': runs is missing"),
        ({"job": {"runs": 1, "shuffles": [3]}}, "f: application 'job', shuffle 1: it is 3"),
    ],
)
def test_so_is_a_wrong_shape(applications: object, told: str) -> None:
    written = {"format": lessons.FORMAT, "version": 1, "applications": applications}
    with pytest.raises(Malformed) as refused:
        lessons.parse(json.dumps(written), "f")
    assert told in str(refused.value)


@pytest.mark.parametrize("version", [0, -1, True, "1", None])
def test_a_version_that_never_was_is_not_called_a_newer_one(version: object) -> None:
    with pytest.raises(Corrupt, match="expected a number from 1 to 1"):
        lessons.parse(json.dumps({"format": lessons.FORMAT, "version": version, "applications": {}}), "f")


def test_half_a_character_and_what_is_nested_too_deep_are_errors_too() -> None:
    written = json.loads(lessons.text_of({"job": learn(facts_of(read_again().log))}))
    written["applications"]["\ud800"] = written["applications"]["job"]
    with pytest.raises(Corrupt, match="checksum"):
        lessons.parse(json.dumps(written), "f")
    with pytest.raises(Corrupt, match="no JSON"):
        lessons.parse("[" * 100_000, "f")


def test_a_run_that_has_not_ended_is_left_out(tmp_path: Path) -> None:
    from coordinator.wire.logfile import write_log

    for name, ended in (("a.log", True), ("b.log", False)):
        (tmp_path / name).write_bytes(b"".join(write_log(read_again(ended=ended).segments())))
    whole, cut = (learned(Recording(name, 1, paths=(str(tmp_path / name),))) for name in ("a.log", "b.log"))
    assert (whole.why_not, whole.name) == ("", "chain")
    assert "has not ended" in cut.why_not


@pytest.mark.parametrize(
    ("first", "told"), [("events_2_app-1.compact", "Spark has compacted it"), ("events_2_app-1", "number 1 is missing")]
)
def test_a_run_whose_jobs_are_missing_is_left_out(tmp_path: Path, first: str, told: str) -> None:
    """What they read would count as never read, and go before the next run reads it."""
    log = chain_read_again()
    for name, lines in ((first, log.lines[:2]), ("events_3_app-1", log.lines[-5:])):
        (tmp_path / name).write_bytes(packed(lines))
    [found] = sort(local_parts(str(tmp_path))[0])
    run = learned(of_history(found))
    assert (told in run.why_not, run.why_not.endswith("reads are missing: left out")) == (True, True), run.why_not
    assert together([run]) == {}


def test_what_is_wrong_with_a_history_log_that_teaches_is_told(tmp_path: Path) -> None:
    path = chain().write(tmp_path / "app-1")
    path.write_bytes(path.read_bytes() + b'{"Event":"SparkListenerJobStart","Job ID":"x"}\n')
    run = learned(of_history(Found("app-1", (Part(str(path), path.stat().st_size),))))
    assert (run.why_not, ["could not be read" in one for one in run.warnings]) == ("", [True])
    assert not run.is_missing


def test_a_run_that_says_nobodys_name_is_left_out(tmp_path: Path) -> None:
    """Two of them would be taken for runs of one job."""
    log = chain()
    log.lines = [line for line in log.lines if line["Event"] != "SparkListenerApplicationStart"]
    path = log.write(tmp_path / "app-1")
    headless = learned(of_history(Found("app-1", (Part(str(path), path.stat().st_size),))))
    assert (headless.why_not, together([headless])) == ("it does not say what its application is called: left out", {})


def test_a_lineage_that_changes_is_judged_again() -> None:
    """A checkpoint cuts what a shuffle was made from: whatever is made from it is of another kind from there on."""
    first = lineage(0, "map at p.py:1")
    known = {AppShuffle(0): Lineage(AppShuffle(0), call_site="other at p.py:9"), AppShuffle(1): lineage(1, "x", (0,))}
    kind = kind_of(known.get, AppShuffle(1))
    registered = c.RegisterApplication(APP, Driver(), policy=HISTORY, settings=Settings(lessons=(Lesson(kind, 1),)))
    stage = c.ReportStageSubmitted(attempt(1), (), AppShuffle(1), 4)
    commands: list[c.Command] = [
        registered,
        c.ReportJobStarted(JobId(0), StageId(2), (), None, (Span(0, 2),), (first, lineage(1, "x", (0,)))),
        stage,
        c.ReportStageCompleted(attempt(1), shuffle_bytes_written=5),
        c.ReportStageSubmitted(attempt(2), (AppShuffle(1),), None, 1),
        c.ReportStageCompleted(attempt(2)),
        c.ReportJobStarted(JobId(0), StageId(2), lineage=(known[AppShuffle(0)],)),
    ]
    outcome = simulate(enumerate(commands), HISTORY, pace=AT_ONCE)
    [expired] = [r for r in outcome.log if isinstance(r.event, e.GenerationExpired)]
    assert isinstance(outcome.log[expired.because - 1].event, e.LineageLearned)


def rounds(count: int) -> Told:
    """App shuffle 0 is read by the same line in every round of a loop."""
    told = Told(policy=OBSERVE)
    for n in range(count):
        made = (lineage(0, "map at loop.py:1"),) if n == 0 else ()
        stages = Span(2 * n, 2 * n + 1)
        told.say(c.ReportJobStarted(JobId(n), StageId(2 * n + 1), (AppShuffle(0),), None, (stages,), made))
        if n == 0:
            told.stage(0, "map at loop.py:1", writes=0)
            told.done(0, 1_000)
        told.stage(2 * n + 1, "count at loop.py:3", reads=(0,))
        told.done(2 * n + 1)
        told.say(c.ReportJobEnded(JobId(n)))
    told.say(c.EndApplication())
    return told


def test_a_run_of_fewer_rounds_teaches_nothing_wrong_about_more() -> None:
    taught = learn(facts_of(rounds(3).log))
    [kind] = taught.kinds
    assert (kind.reads, kind.loops) == (3, True)
    outcome = simulate(facts_of(rounds(6).log), HISTORY, pace=AT_ONCE, lessons=taught.lessons)
    assert (outcome.deletions, outcome.premature) == (0, 0)
