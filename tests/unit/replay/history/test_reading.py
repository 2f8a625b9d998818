"""A log becomes what the driver part would have told; what is wrong with a file costs a warning and no more."""

from __future__ import annotations

import errno
import gzip
import json
import os
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, TypeVar

import pytest
import zstandard

from coordinator.core import commands as c
from coordinator.core.ids import AppShuffle, StageAttempt, StageId
from coordinator.core.values import Outputs, RootKind
from coordinator.wire.logfile import MAGIC
from replay.history import lines
from replay.history.finding import Log as Found
from replay.history.finding import Part, local_parts, sort
from replay.history.reading import NotALog, read
from replay.history.run import Run
from replay.simulate.baseline import Costs
from replay.simulate.facts import Fact
from tests.support.history_logs import FIRST, LAST, SECOND, Log, Stage, at, chain, packed

C = TypeVar("C")


def run_of(path: Path) -> Run:
    return read(Found(path.name, (Part(str(path), path.stat().st_size),)))


def run_of_text(tmp_path: Path, text: bytes) -> Run:
    path = tmp_path / "log"
    path.write_bytes(text)
    return run_of(path)


def told(run: Run, kind: type[C]) -> list[C]:
    return [command for _, command in run.facts if isinstance(command, kind)]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return run_of(chain().write(tmp_path / "app-1"))


def test_events_that_a_tool_has_written_again_with_blanks(tmp_path: Path, run: Run) -> None:
    text = "".join(json.dumps(line) + "\n" for line in chain().lines).encode()
    assert text.startswith(b'{"Event": "')
    again = run_of_text(tmp_path, text)
    assert (again.warnings, again.shuffles, again.facts) == (run.warnings, run.shuffles, run.facts)


def test_a_run_says_whose_it_is_and_when_it_was(run: Run) -> None:
    assert (run.application_id, run.name, run.user, run.spark_version) == ("app-1", "a job", "ann", "4.0.1")
    assert (run.started_ms, run.ended_ms, run.ended, run.warnings) == (at(0), at(110), True, ())


def test_shuffles_are_weighed(run: Run) -> None:
    assert [(s.app_shuffle, s.maps, s.bytes, s.task_ms) for s in run.shuffles] == [
        (1, 2, 1000, 1000),
        (3, 2, 500, 1000),
    ]
    assert run.task_ms == 3000


def test_a_job_is_told_with_its_lineage(run: Run) -> None:
    [job] = told(run, c.ReportJobStarted)
    assert (job.final_stage, job.reads, job.writes) == (2, (3,), None)
    assert [(lineage.app_shuffle, lineage.reads, lineage.maps) for lineage in job.lineage] == [(1, (), 2), (3, (1,), 2)]


def test_stages_are_told_with_what_they_read_and_write(run: Run) -> None:
    assert [(s.stage.stage, s.reads, s.writes) for s in told(run, c.ReportStageSubmitted)] == [
        (0, (), 1), (1, (1,), 3), (2, (3,), None),
    ]  # fmt: skip
    assert [s.shuffle_bytes_written for s in told(run, c.ReportStageCompleted)] == [1000, 500, 0]


def test_a_final_stage_that_writes_is_known_by_its_first_task(tmp_path: Path) -> None:
    """Adaptive SQL runs map stages as jobs of their own."""
    log = Log().start().job(0, 0, FIRST).stage(FIRST, 0, 10, written=1000).job_end(0, 10).end(20)
    run = run_of(log.write(tmp_path / "app-1"))
    [job], [submitted] = told(run, c.ReportJobStarted), told(run, c.ReportStageSubmitted)
    assert job.writes == submitted.writes == 1
    assert [lineage.app_shuffle for lineage in job.lineage] == [1]


def test_a_map_stage_without_tasks_is_known_by_its_reader(tmp_path: Path) -> None:
    empty, again, reader = Stage(0, rdd=1, tasks=0), Stage(1, rdd=1, tasks=0), Stage(2, rdd=5, parents=(1,))
    log = Log().start().job(0, 0, empty).stage(empty, 0, 1).job_end(0, 1)
    log.job(1, 1, again, reader).stage(reader, 1, 2).job_end(1, 2).end(3)
    run = run_of(log.write(tmp_path / "app-1"))
    assert [s.writes for s in told(run, c.ReportStageSubmitted)] == [1, None]


def test_a_file_that_may_not_be_opened_says_so_in_words(tmp_path: Path) -> None:
    def closed(part: Part) -> IO[bytes]:
        raise PermissionError(errno.EACCES, "Permission denied", part.path)

    def half_open(part: Part) -> IO[bytes]:
        return closed(part) if part.path.endswith("2") else Path(part.path).open("rb")

    for name in ("events_1", "events_2"):
        (tmp_path / name).write_bytes(chain().text)
    first, second = (Part(str(tmp_path / name), 1) for name in ("events_1", "events_2"))
    with pytest.raises(NotALog) as caught:
        read(Found("app", (first,)), closed)
    assert str(caught.value) == "it cannot be read (Permission denied); expected a file that may be"
    assert f"events_2: {caught.value}" in read(Found("app", (first, second)), half_open).warnings


def test_what_is_written_again_was_lost(tmp_path: Path) -> None:
    log = chain()
    log.lines[-2:] = []
    log.stage(FIRST, 40, 45, written=500, attempt=1, tasks=1).stage(LAST, 45, 50, attempt=1).job_end(0, 50).end(60)
    run = run_of(log.write(tmp_path / "app-1"))
    assert [one.outputs for one in told(run, c.ReportOutputs)] == [(Outputs(AppShuffle(1), 1, 2),)]
    assert run.shuffles[0].bytes == 1000


WIDE = Stage(0, rdd=1, tasks=10)


def written(run: Run) -> list[int]:
    """What each attempt is told to have added."""
    return [one.shuffle_bytes_written for one in told(run, c.ReportStageCompleted)]


def test_what_a_failed_attempt_wrote_is_there_when_it_ends(tmp_path: Path) -> None:
    log = Log().start().job(0, 0, WIDE, SECOND).stage(WIDE, 0, 10, 9_000, tasks=10, failure="fetch failed", ends=9)
    log.stage(WIDE, 10, 12, 1_000, attempt=1, tasks=1).stage(SECOND, 12, 20).job_end(0, 20).end(30)
    run = run_of(log.write(tmp_path / "app-1"))
    assert (run.shuffles[0].bytes, run.shuffles[0].task_ms) == (9 * 900 + 1_000, 5_000)
    assert written(run) == [9 * 900, 1_000, 0]
    costs = Costs()
    costs.hear(Fact(time_ms, command) for time_ms, command in run.facts)
    assert costs.task_ms == {1: 5_000}


def test_repairs_of_a_part_add_nothing_and_a_whole_rewrite_counts_by_itself(tmp_path: Path) -> None:
    log = Log().start().job(0, 0, WIDE, SECOND).stage(WIDE, 0, 10, 10_000)
    for number in (1, 2, 3):
        log.stage(WIDE, 10 * number, 10 * number + 5, 9_000, attempt=number, tasks=9)
    log.stage(WIDE, 50, 55, 7_000, attempt=4, failure="fetch failed").stage(WIDE, 56, 57, 1_000, attempt=5, tasks=1)
    run = run_of(log.stage(SECOND, 60, 65).job_end(0, 65).end(70).write(tmp_path / "app-1"))
    assert written(run) == [10_000, 0, 0, 0, 6_300, 1_000, 0]  # nine of the ten outputs of 700 were left
    assert [one.outputs[0].available for one in told(run, c.ReportOutputs)] == [1, 1, 1, 0]
    assert run.shuffles[0].bytes == 7_300


def test_tasks_that_ran_again_within_an_attempt_count_once(tmp_path: Path) -> None:
    """An executor is lost while the stage runs: its outputs are written again, and nothing says that a task failed."""
    log = Log().start().job(0, 0, WIDE, SECOND).stage(WIDE, 0, 10, 10_000, ends=19).stage(SECOND, 10, 20)
    run = run_of(log.job_end(0, 20).end(30).write(tmp_path / "app-1"))
    assert (run.shuffles[0].bytes, run.shuffles[0].task_ms) == (10_000, 5_000)


@pytest.mark.parametrize(("ends", "task_ms"), [(10, 5_000), (6, 50_000)])
def test_sums_of_the_stage_count_only_where_ends_of_tasks_are_missing(tmp_path: Path, ends: int, task_ms: int) -> None:
    """They hold what failed tasks took, too."""
    sums = [{"ID": 1, "Name": "internal.metrics.executorRunTime", "Value": 50_000}]
    log = Log().start().job(0, 0, WIDE, SECOND).stage(WIDE, 0, 10, 10_000, ends=ends, Accumulables=sums)
    run = run_of(log.stage(SECOND, 10, 20).job_end(0, 20).end(30).write(tmp_path / "app-1"))
    assert run.shuffles[0].task_ms == task_ms


def test_a_second_application_in_one_log_is_named_and_not_counted(tmp_path: Path) -> None:
    later = Log().start("app-2", "another").job(0, 0, FIRST).stage(FIRST, 0, 10, 5_000)
    later.lines[1] = {**later.lines[1], "Timestamp": at(90_000)}
    run = run_of_text(tmp_path, packed([*chain().lines, *later.lines]))
    assert (run.application_id, run.started_ms, run.ended_ms) == ("app-1", at(0), at(110))
    assert [shuffle.bytes for shuffle in run.shuffles] == [1_000, 500]
    assert "a second application starts in it" in run.warnings[0]


def test_a_log_behind_itself_in_one_file_counts_once(tmp_path: Path, run: Run) -> None:
    """As `cat` makes it of a log and its copy; rolled files may repeat the start, but not behind the end."""
    twice = run_of_text(tmp_path, chain().text * 2)
    assert (twice.facts, twice.shuffles) == (run.facts, run.shuffles)
    assert twice.warnings == ("it starts again behind its end, which is not counted; expected one application a log",)


@pytest.mark.parametrize("name", ["collect at job.py:3", "count at DirectMethodHandleAccessor.java:103"])
def test_python_is_known_by_its_call_sites(tmp_path: Path, name: str) -> None:
    stage = Stage(0, rdd=1, name=name)
    log = Log().start().job(0, 0, stage).stage(stage, 0, 10).job_end(0, 10).end(20)
    assert run_of(log.write(tmp_path / "app-1")).is_python


def test_a_failed_attempt_is_told_as_failed(tmp_path: Path) -> None:
    log = Log().start().job(0, 0, FIRST, SECOND)
    log.stage(FIRST, 0, 10, written=1000).stage(SECOND, 10, 12, failure="fetch failed")
    run = run_of(log.write(tmp_path / "app-1"))
    last = told(run, c.ReportStageCompleted)[-1]
    assert (last.stage, last.failure) == (StageAttempt(StageId(1), 0), "fetch failed")


def test_without_parents_the_rdds_tell(tmp_path: Path) -> None:
    reader = Stage(1, rdd=5, parents=None, outside=(1,))
    log = Log().start().job(0, 0, FIRST, reader).stage(FIRST, 0, 10, written=1000).stage(reader, 10, 20).end(30)
    run = run_of(log.write(tmp_path / "app-1"))
    assert told(run, c.ReportStageSubmitted)[1].reads == (1,)


def test_where_no_stage_names_its_parents_and_the_rdds_do_the_readers_are_known(tmp_path: Path) -> None:
    first, reader = Stage(0, rdd=1, parents=None), Stage(1, rdd=5, parents=None, outside=(1,))
    log = Log().start().job(0, 0, first, reader).stage(first, 0, 10, written=1000).stage(reader, 10, 20).end(30)
    run = run_of(log.write(tmp_path / "app-1"))
    assert (run.readers_known, run.warnings) == (True, ())
    untold = Stage(1, rdd=5, parents=None)
    log = Log().start().job(0, 0, first, untold).stage(first, 0, 10, written=1000).stage(untold, 10, 20).end(30)
    assert not run_of(log.write(tmp_path / "app-2")).readers_known


def test_a_plan_is_a_root_while_it_reads(tmp_path: Path) -> None:
    reader, again = Stage(2, rdd=5, parents=(1,)), Stage(1, rdd=1)
    log = Log().start().execution(7, 0).job(0, 0, FIRST, execution=7).stage(FIRST, 0, 10, written=1000).job_end(0, 10)
    log.job(1, 10, again, reader, execution=7).stage(reader, 10, 20).job_end(1, 20).execution_end(7, 25).end(30)
    run = run_of(log.write(tmp_path / "app-1"))
    cuts = [(time, command) for time, command in run.facts if isinstance(command, c.ReportCut)]
    assert [(time, [(r.root, r.kind, r.needs) for r in cut.roots], cut.gone) for time, cut in cuts] == [
        (at(0), [("plan 7", RootKind.PLAN, (1,))], ()),
        (at(20), [], ("plan 7",)),
    ]


def test_a_plan_is_a_root_behind_its_end_where_an_iterator_reads_on(tmp_path: Path) -> None:
    """`toLocalIterator` runs its jobs one by one, the last ones when Spark has told the end of the execution."""
    reader, again = Stage(2, rdd=5, parents=(1,)), Stage(1, rdd=1)
    log = Log().start().execution(7, 0).job(0, 0, FIRST, execution=7).stage(FIRST, 0, 10, written=1000).job_end(0, 10)
    log.execution_end(7, 11).job(1, 12, again, reader, execution=7).stage(reader, 12, 20).job_end(1, 20).end(30)
    run = run_of(log.write(tmp_path / "app-1"))
    cuts = [(time, cut.gone) for time, cut in run.facts if isinstance(cut, c.ReportCut)]
    assert cuts == [(at(0), ()), (at(20), ("plan 7",))]


POOL = "$anonfun$withThreadLocalCaptured$1 at CompletableFuture.java:1768"


@pytest.mark.parametrize(
    ("stage", "call", "site"),
    [
        (POOL, "count at etl.scala:12", "count at etl.scala:12"),
        (POOL, "\ndef cell():\n  rows", "def cell(): rows"),
        (POOL, "", POOL),
        ("collect at etl.scala:14", "count at etl.scala:12", "collect at etl.scala:14"),
    ],
)
def test_a_stage_that_a_pool_submits_is_called_as_its_execution_is(
    tmp_path: Path, stage: str, call: str, site: str
) -> None:
    """An adaptive plan's stages have a line of Java's for their own; what is learned from is as Spark names it."""
    first, again = Stage(0, rdd=1, name=stage), Stage(1, rdd=1, name=stage)
    log = Log().start().execution(3, 0, call).job(0, 0, first, execution=3).stage(first, 0, 10, written=1000)
    log.job_end(0, 10).execution_end(3, 20).execution(4, 20, "show at etl.scala:30")
    log.job(1, 20, again, Stage(2, rdd=5, parents=(1,)), execution=4).end(30)
    run = run_of(log.write(tmp_path / "app-1"))
    assert [one.call_site for one in run.shuffles] == [site]
    assert [one.call_site for job in told(run, c.ReportJobStarted) for one in job.lineage] == [stage]


def test_a_program_of_which_only_sql_is_seen_is_known_to_be_python(tmp_path: Path) -> None:
    stage = Stage(0, rdd=1, name=POOL)
    for call in ("count at NativeMethodAccessorImpl.java:0", "collect at /home/ann/etl.py:12"):
        log = Log().start().execution(3, 0, call).job(0, 0, stage, execution=3).end(30)
        assert run_of(log.write(tmp_path / "app-1")).is_python


def test_a_persisted_rdd_is_a_root_until_it_is_unpersisted(tmp_path: Path) -> None:
    reader = Stage(1, rdd=5, parents=(0,), outside=(1,), persisted=True)
    log = Log().start().job(0, 0, FIRST, reader).stage(FIRST, 0, 10, written=1000).stage(reader, 10, 20).job_end(0, 20)
    log.event("SparkListenerUnpersistRDD", **{"RDD ID": 5}).end(30)
    run = run_of(log.write(tmp_path / "app-1"))
    assert [([(r.root, r.needs) for r in cut.roots], cut.gone) for cut in told(run, c.ReportCut)] == [
        ([("rdd 5", (1,))], ()),
        ([], ("rdd 5",)),
    ]
    assert told(run, c.ReportStageSubmitted)[1].cached


def test_an_rdd_that_is_persisted_anew_is_a_root_again(tmp_path: Path) -> None:
    """As by `rdd.unpersist(); rdd.persist(level); rdd.count()`: no fact lies between the two."""
    reader, again = (Stage(n, rdd=5, parents=(0,), outside=(1,), persisted=True) for n in (1, 2))
    log = Log().start().job(0, 0, FIRST, reader).stage(FIRST, 0, 10, written=1000).stage(reader, 10, 20).job_end(0, 20)
    log.event("SparkListenerUnpersistRDD", **{"RDD ID": 5})
    log.job(1, 30, FIRST, again).stage(again, 30, 40).job_end(1, 40).end(50)
    cuts = told(run_of(log.write(tmp_path / "app-1")), c.ReportCut)
    assert [([root.root for root in cut.roots], cut.gone) for cut in cuts] == [
        (["rdd 5"], ()),
        ([], ("rdd 5",)),
        (["rdd 5"], ()),
    ]


def test_an_rdd_that_is_persisted_behind_something_else_needs_that_from_then_on(tmp_path: Path) -> None:
    """As after a checkpoint, which cuts its lineage off: until then it needed what was behind it then."""
    reader = Stage(1, rdd=5, parents=(0,), outside=(1,), persisted=True)
    other, again = Stage(2, rdd=9), Stage(3, rdd=5, parents=(2,), outside=(9,), persisted=True)
    log = Log().start().job(0, 0, FIRST, reader).stage(FIRST, 0, 10, written=100).stage(reader, 10, 20).job_end(0, 20)
    log.event("SparkListenerUnpersistRDD", **{"RDD ID": 5}).job(1, 20, other, again).stage(other, 20, 30, written=9)
    run = run_of(log.stage(again, 30, 40).job_end(1, 40).end(50).write(tmp_path / "app-1"))
    assert [([(r.root, r.needs) for r in cut.roots], cut.gone) for cut in told(run, c.ReportCut)] == [
        ([("rdd 5", (1,))], ()),
        ([], ("rdd 5",)),
        ([("rdd 5", (9,))], ()),
    ]


#: By name: RDD 9 joins 7 and 8; these are made of the shuffles of 1 and 2; and what of them lies behind a cache.
BEHIND: dict[str, tuple[dict[int, tuple[int, ...]], tuple[int, ...], tuple[int, ...]]] = {
    "nothing is persisted": ({7: (1,), 8: (2,)}, (), ()),
    "one side is": ({7: (1,), 8: (2,)}, (7,), (1,)),
    "both are": ({7: (1,), 8: (2,)}, (7, 8), (1, 2)),
    "below what is persisted": ({7: (6,), 6: (1,), 8: (2,)}, (7,), (1,)),
    "what is persisted reads what is read anyhow": ({7: (6,), 6: (1,), 8: (6, 2)}, (7,), ()),
    "two shuffles of one RDD": ({7: (1, 2), 8: (2,)}, (7,), (1, 2)),
    "the log does not say": ({7: (), 8: ()}, (7,), (1, 2)),
}


@pytest.mark.parametrize("name", BEHIND)
def test_what_lies_behind_persisted_rdds_is_told(tmp_path: Path, name: str) -> None:
    below, kept, behind = BEHIND[name]
    second = Stage(1, rdd=2)
    joined = Stage(2, rdd=9, parents=(0, 1), outside=(7, 8), below=below, kept=kept)
    log = Log().start().job(0, 0, FIRST, second, joined).stage(FIRST, 0, 10, written=1000)
    log.stage(second, 0, 10, written=1000).stage(joined, 10, 20).job_end(0, 20).end(30)
    last = told(run_of(log.write(tmp_path / "app-1")), c.ReportStageSubmitted)[2]
    assert (last.reads, last.cached, last.behind) == ((1, 2), bool(behind), behind)


# ---- bad input -------------------------------------------------------------------------------------------------------


def test_a_cut_last_line_costs_a_warning(tmp_path: Path) -> None:
    run = run_of_text(tmp_path, chain().text[:-30])
    assert run.warnings[0] == "its last line is cut; everything before it counts"
    assert len(run.shuffles) == 2
    assert not run.ended


def test_lines_that_cannot_be_read_cost_a_warning(tmp_path: Path) -> None:
    lines = chain().text.splitlines(keepends=True)
    lines[4:4] = [b'{"Event":"SparkListenerJobEnd","Job ID":{\n', b"not json\n"]
    run = run_of_text(tmp_path, b"".join(lines))
    assert len(run.warnings) == 1
    assert run.warnings[0].startswith("line 5 and 1 more could not be read (")
    assert [s.bytes for s in run.shuffles] == [1000, 500]


def test_a_cut_packing_costs_a_warning(tmp_path: Path) -> None:
    packing = gzip.compress(chain().text * 200)
    run = run_of_text(tmp_path, packing[: len(packing) // 2])
    assert any("gzip data are cut" in warning for warning in run.warnings)
    assert run.application_id == "app-1"


def test_a_small_log_that_is_cut_counts_up_to_there(tmp_path: Path) -> None:
    whole = packed(chain().lines)
    assert len(whole) < 64 << 10
    first = zstandard.compress(whole[: len(whole) // 2])
    run = run_of_text(tmp_path, first + zstandard.compress(whole[len(whole) // 2 :])[:-20])
    assert (run.application_id, run.ended) == ("app-1", False)
    assert run.warnings


def test_a_missing_end_is_told(tmp_path: Path) -> None:
    run = run_of_text(tmp_path, packed(chain().lines[:-1]))
    assert run.warnings == (
        "the end of the application is missing (it runs still, or its log is cut): counted to its last event",
    )
    assert run.ended_ms == at(30)


def test_a_missing_start_leaves_the_name_of_the_file(tmp_path: Path) -> None:
    run = run_of_text(tmp_path, packed(chain().lines[2:]))
    assert run.application_id == "log"
    assert "the start of the application is missing" in run.warnings[0]


def test_a_newer_spark_is_told(tmp_path: Path) -> None:
    run = run_of_text(tmp_path, chain().text.replace(b"4.0.1", b"7.1.0"))
    assert "Spark 7.1.0, which is newer" in run.warnings[0]


def test_events_that_nobody_knows_are_passed_over(tmp_path: Path) -> None:
    unknown = b'{"Event":"SparkListenerOfTomorrow","x":[1,2,{"y":"\\u00e9"}]}\n'
    run = run_of_text(tmp_path, unknown.join(chain().text.splitlines(keepends=True)))
    assert run.warnings == ()
    assert len(run.shuffles) == 2


def test_a_log_that_an_editor_or_a_tool_wrote_again_is_read_as_before(tmp_path: Path) -> None:
    """With the sign that some editors begin a file with; with its keys sorted, as by `jq -cS`."""
    events = [json.dumps(line, separators=(",", ":"), sort_keys=True).encode() for line in chain().lines]
    assert not all(event.startswith(b'{"Event"') for event in events)
    before = run_of_text(tmp_path, chain().text)
    assert before.warnings == ()
    assert run_of_text(tmp_path, b"\xef\xbb\xbf" + chain().text).facts == before.facts
    again = run_of_text(tmp_path, b"\xef\xbb\xbf" + b"\r\n".join(events))
    assert replace(again, raw_bytes=before.raw_bytes) == before


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "it is empty"),
        (b"a,b\n1,2\n", "no history log"),
        (b'{"hello": 1}\n' * 10, "no history log"),
        (
            MAGIC + b"\0\0\0\7",
            "^`shufflectl export` wrote it; expected Spark's own history logs: `shufflectl simulate`",
        ),
        (b'{"Event":"click","at":1}\n' * 2, "^its events are not Spark's; expected Spark's events, one a line$"),
        (os.urandom(5000), "no history log"),
        (b"PK\x03\x04" + bytes(50), "a zip file"),
        (zstandard.ZstdCompressor().compress(b"nothing of Spark's"), "no history log"),
        (b"\x1f\x8b garbage", "gzip data are damaged"),
    ],
)
def test_what_is_no_log_is_named(tmp_path: Path, text: bytes, why: str) -> None:
    with pytest.raises(NotALog, match=why):
        run_of_text(tmp_path, text)


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotALog, match="No such file"):
        read(Found("gone", (Part(str(tmp_path / "gone"), 0),)))


def test_of_rolled_files_a_bad_one_loses_only_itself(tmp_path: Path) -> None:
    lines = chain().lines
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    (folder / "events_1_app-1").write_bytes(packed(lines[:5]))
    (folder / "events_2_app-1").write_bytes(b"\x1f\x8b damaged")
    (folder / "events_3_app-1").write_bytes(packed(lines[5:]))
    [log] = sort(_parts(tmp_path))
    run = read(log)
    assert run.ended
    assert run.files == tuple(str(folder / f"events_{n}_app-1") for n in (1, 2, 3))
    assert [warning for warning in run.warnings if warning.startswith("events_2_app-1: its gzip data are damaged")]


@pytest.mark.parametrize(
    ("again", "left"), [(10, 0), (5, 5), (1, 9)], ids=["all", "four were lost", "what was missing"]
)
def test_what_a_failed_attempt_left_counts_as_far_as_the_next_one_does_not_write_it(
    tmp_path: Path, again: int, left: int
) -> None:
    """Nine of ten tasks wrote 100 bytes each in half a second; the next attempt has so many tasks."""
    log = Log().start().job(0, 0, WIDE, Stage(1, rdd=3, parents=(0,)))
    log.stage(WIDE, 0, 10, written=1000, failure="FetchFailed", ends=9)
    log.stage(WIDE, 10, 20, written=100 * again, attempt=1, tasks=again).end(30)
    run = run_of_text(tmp_path, log.text)
    assert [(one.bytes, one.task_ms) for one in run.shuffles] == [(100 * (left + again), 500 * (left + again))]
    assert written(run) == [100 * left, 100 * again]


def test_what_ran_again_in_a_failed_attempt_is_no_further_output(tmp_path: Path) -> None:
    """Ten outputs, four of which were lost and written again before it failed; five of the ten are written anew."""
    log = Log().start().job(0, 0, WIDE, Stage(1, rdd=3, parents=(0,)))
    log.stage(WIDE, 0, 10, written=1000, failure="FetchFailed", ends=14)
    log.stage(WIDE, 10, 20, written=500, attempt=1, tasks=5).end(30)
    run = run_of_text(tmp_path, log.text)
    assert written(run) == [500, 500]
    assert [(one.bytes, one.task_ms) for one in run.shuffles] == [(1000, 5_000)]


def test_of_several_failed_attempts_each_counts_as_far_as_it_is_not_written_again(tmp_path: Path) -> None:
    """Five of ten outputs, then three of the other five; four of these eight go, and are written with the last two."""
    log = Log().start().job(0, 0, WIDE, Stage(1, rdd=3, parents=(0,)))
    log.stage(WIDE, 0, 10, written=1000, failure="FetchFailed", ends=5)
    log.stage(WIDE, 10, 20, written=500, attempt=1, tasks=5, failure="FetchFailed", ends=3)
    log.stage(WIDE, 20, 30, written=600, attempt=2, tasks=6).end(40)
    run = run_of_text(tmp_path, log.text)
    assert written(run) == [250, 150, 600]
    assert run.shuffles[0].bytes == 1000


def test_a_job_without_stages_says_nothing_of_another_ones(tmp_path: Path) -> None:
    """Spark posts one for an RDD without partitions, also while stage 0 runs."""
    log = Log().start().job(0, 0, FIRST, LAST).job(1, 1).job_end(1, 2)
    log.stage(FIRST, 0, 10, written=1000).stage(LAST, 10, 20).job_end(0, 20).end(30)
    told_of = [one for one in told(run_of_text(tmp_path, log.text), c.ReportJobStarted) if one.job == 1]
    assert [(one.writes, one.reads, one.lineage) for one in told_of] == [(None, (), ())]


def test_any_cut_and_any_flipped_byte_cost_what_stands_there_and_no_more(tmp_path: Path) -> None:
    text = chain().text
    whole = run_of_text(tmp_path, text)
    for place in range(150, len(text), 397):
        cut = run_of_text(tmp_path, text[:place])
        assert not cut.ended
        assert cut.warnings
        assert len(cut.shuffles) <= len(whole.shuffles)
        flipped = run_of_text(tmp_path, text[:place] + bytes([text[place] ^ 0x15]) + text[place + 1 :])
        assert len(flipped.shuffles) == len(whole.shuffles)
        assert len(flipped.facts) >= len(whole.facts) - 1


def test_memory_does_not_grow_with_tasks(tmp_path: Path) -> None:
    def peak(tasks: int) -> int:
        path = tmp_path / f"log-{tasks}"
        head, tail = chain().text.split(b'{"Event":"SparkListenerTaskEnd"', 1)
        task = b'{"Event":"SparkListenerTaskEnd"' + tail.splitlines(keepends=True)[0]
        path.write_bytes(head + task * tasks + tail[tail.index(b"\n") + 1 :])
        tracemalloc.start()
        run_of(path)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(20_000) < peak(5_000) + (2 << 20)


def _parts(folder: Path) -> Iterator[Part]:
    found, _ = local_parts(str(folder))
    return iter(found)


def test_numbers_may_be_strings_or_missing(tmp_path: Path) -> None:
    """As some versions and some vendors write them."""
    lines = [json.loads(line) for line in chain().text.splitlines()]
    for line in lines:
        line.pop("Task Metrics", None) if line.get("Stage ID") == 2 else None
        if "Job ID" in line:
            line["Job ID"] = str(line["Job ID"])
    run = run_of_text(tmp_path, packed(lines))
    assert run.warnings == ()
    assert len(told(run, c.ReportJobEnded)) == 1


def test_a_line_that_is_too_long_is_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE_BYTES", 1 << 20)
    begin, *rest = Log().start().end(10).text.splitlines(keepends=True)
    file = tmp_path / "app-1"
    file.write_bytes(begin + b'{"Event":"' + b"x" * (3 << 20) + b'"}\n' + b"".join(rest))
    run = read(sort(local_parts(str(file))[0])[0])
    assert (run.ended, run.warnings) == (
        True, ("line 2 could not be read (it has more than 268,435,456 bytes); the rest counts",),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("number", "why"),
    [(10**30, "Expected `int` <= 9007199254740992"), (-5, "Expected `int` >= 0"), (2**60, "Expected `int` <= 9007")],
)
def test_a_weight_that_cannot_be_costs_its_line(tmp_path: Path, number: int, why: str) -> None:
    """Figures stay what the other lines tell: none is negative, and none too large for a table's column."""
    log = chain()
    place = next(place for place, line in enumerate(log.lines) if "Task Metrics" in line)
    log.lines[place]["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"] = number
    run = run_of(log.write(tmp_path / "app-1"))
    assert [one.bytes for one in run.shuffles] == [500, 500]
    (warning,) = run.warnings
    assert f"line {place + 1} could not be read ({why}" in warning


@pytest.mark.parametrize("time", [10**30, 2**63, 10**15])
def test_a_time_that_cannot_be_costs_its_line(tmp_path: Path, time: int) -> None:
    """Times never run backwards: one that was believed would be the end of all that follows."""
    log = chain()
    lines_of_tasks = [line for line in log.lines if "Task Info" in line]
    lines_of_tasks[1]["Task Info"]["Finish Time"] = time
    run = run_of(log.write(tmp_path / "app-1"))
    assert (run.ended_ms, len(run.warnings)) == (at(110), 1)


@pytest.mark.parametrize(
    ("begin", "separator", "why"),
    [
        (b"", b" ", "its only line cannot be read (JSON is malformed: trailing characters (byte "),
        (b"[", b",\n ", "none of its 18 lines can be read (it is no event)"),
        (b"[", b",\n", "none of its 18 lines can be read (it is no event)"),
    ],
)
def test_of_a_file_of_which_nothing_counts_that_is_said(
    tmp_path: Path, begin: bytes, separator: bytes, why: str
) -> None:
    """Events in a list, as tools write them, or all in one line."""
    first, *others = chain().lines
    lines = [first, {"Event": "SparkListenerBlockManagerAdded", "Timestamp": at(1)}, *others]
    events = [json.dumps(line, separators=(",", ":")).encode() for line in lines]
    with pytest.raises(NotALog) as refused:
        run_of_text(tmp_path, begin + separator.join(events) + begin.replace(b"[", b"]"))
    assert why in str(refused.value)
    assert str(refused.value).endswith("; expected Spark's events, one a line")


def test_a_stage_s_own_sums_that_cannot_be_do_not_count(tmp_path: Path) -> None:
    sums = [
        {"Name": "internal.metrics.shuffle.write.bytesWritten", "Value": value} for value in (700, -(10**12), 10**30)
    ]
    log = Log().start().job(0, 0, FIRST, SECOND).stage(FIRST, 0, 10, written=1000, ends=1)
    log.lines[-1]["Stage Info"]["Accumulables"] = sums
    assert [one.bytes for one in run_of(log.stage(SECOND, 10, 20).end(30).write(tmp_path / "app-1")).shuffles] == [700]


def test_numbers_that_are_too_long_to_read_cost_nothing(tmp_path: Path) -> None:
    log = chain()
    log.lines[0] = {**log.lines[0], "Spark Version": "9" * 5_000}
    next(line for line in log.lines if "Job ID" in line)["Properties"]["spark.sql.execution.id"] = "9" * 5_000
    run = run_of(log.write(tmp_path / "app-1"))
    assert [one.bytes for one in run.shuffles] == [1000, 500]
    assert [job.execution for job in told(run, c.ReportJobStarted)] == [None]
    assert all(len(warning) < 400 for warning in run.warnings)


def test_an_application_that_does_not_know_when_it_began_begins_with_its_first_event(tmp_path: Path) -> None:
    log = chain()
    log.lines[1] = {**log.lines[1], "Timestamp": -1}
    assert run_of(log.write(tmp_path / "app-1")).started_ms == at(0)
