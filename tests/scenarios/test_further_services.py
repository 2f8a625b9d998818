"""More stories: tasks that ask, remote services, strict, two threads, numbered clients, and what is asked of nobody."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.ids import NO_SHUFFLE, ClientId, ExecutionId, JobId, StageId, spans_of
from coordinator.core.lineages import kind_of
from coordinator.core.sweep import next_due_ms
from coordinator.core.values import (
    Capabilities,
    DirectiveKind,
    Ending,
    Lesson,
    Level,
    Lineage,
    Policy,
    Refused,
    RootKind,
    Rule,
    Settings,
)
from tests.scenarios.further import CUT, READ, REMOTE, found, job_of
from tests.scenarios.story import EAGER, FRONTIER, OBSERVE, PRESSURE, Story, attempt_of, delayed, shuffle

FENCE, DELETE, INVALIDATE = DirectiveKind.FENCE, DirectiveKind.DELETE, DirectiveKind.INVALIDATE


def test_tasks_of_a_future_attempt_ask_and_it_fails_before_it_is_told() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.fail("s1")
    assert story.read("A", "s1.1") == "ready A1"
    assert story.submit("s1.2") == ["s1.2 submitted", "A1 read by s1.2"]
    story.complete("s1.2")
    assert story.life("A1") == "readable"  # s1.1 asked and nobody has told of its end
    assert story.end() == ["job 0 ended", f"A1 {READ}", "fence A1"]


def test_a_reader_that_asks_before_its_job_is_told_and_whose_job_is_never_told() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A.")
    story.read("A", "s7")
    story.whole("-s2>A, s3:A!", job=3)
    assert story.life("A1") == "readable"
    assert story.whole("s8>B, s9:B!", job=9)[0:3] == ["job 9", f"A1 {READ}", "fence A1"]


def test_a_writer_asks_for_what_nobody_announced() -> None:
    story = Story(EAGER)
    assert story.write("A", "s0") == "ready A1"
    assert story.read("A", "s1") == "not ready: being written"
    assert story.job("s0>A, s1:A!") == ["job 0"]
    story.run("s0", "s1")
    assert story.life("A1") == "fencing"


def test_writer_and_reader_ask_again_and_again_and_leave_one_event_each() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    for _ in range(3):
        assert story.write("A", "s0") == "ready A1"
    story.run("s0")
    for _ in range(3):
        assert story.read("A", "s1") == "ready A1"
    kinds = [type(r.event).__name__ for r in story.witness.log]
    assert (kinds.count("GenerationStarted"), kinds.count("WriterJoined"), kinds.count("ReaderRegistered")) == (1, 0, 1)


def test_a_remote_chain_under_three_losses_is_bounded() -> None:
    story = Story(EAGER, REMOTE, Settings(recoveries_per_shuffle=2))
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    for attempt in range(3):
        suffix = f".{attempt}" if attempt else ""
        story.submit(f"s1{suffix}")
        said = story.miss(f"A{attempt + 1}", f"s1{suffix}")
        assert said == ("exhausted" if attempt == 2 else f"recover A{attempt + 1}: recovery {attempt + 1} of AB")
        story.fail(f"s1{suffix}")
        story.submit(f"s0.{attempt + 1}")
        story.complete(f"s0.{attempt + 1}")
    assert story.state.meta.suspended is not None
    story.run("s1.3", "s2")
    story.end()
    story.do(c.ResumeDeletion("me"))
    story.delete_all()
    assert story.lives() == ""


def test_two_stages_miss_two_inputs_of_a_remote_service_in_one_instant() -> None:
    story = Story(EAGER, REMOTE)
    story.job("s0>A, s1>D, s2:A,D>B, s3:A,D>C, s4:B,C!")
    story.run("s0", "s1")
    story.submit("s2")
    story.submit("s3")
    assert story.miss("A1", "s2") == "recover A1: recovery 1 of AB"
    assert story.miss("D1", "s3").startswith("recover D1: recovery 2 of ")
    assert story.miss("A1", "s3").startswith("recover A1: recovery 1 of ")
    assert story.miss("D1", "s2").startswith("recover D1: recovery 2 of ")
    named = [gone for r in story.state.recoveries.values() for gone, _ in r.gone]
    assert len(named) == len(set(named))
    for name in ("s2", "s3"):
        story.fail(name)
    story.run("s0.1", "s1.1", "s2.1", "s3.1", "s4")
    assert not [r for r in story.state.recoveries.values() if r.open]
    story.end()
    story.delete_all()
    assert story.lives() == ""
    assert story.recoveries == 2


def test_strict_keeps_only_what_is_indeterminate() -> None:
    story = Story(settings=Settings(strict=True), levels={"B": Level.INDETERMINATE})
    story.whole("s0>A, s1:A>B, s2:B>C, s3:C!")
    story.look("")
    assert story.lives() == "A1 fencing, B1 readable, C1 fencing"


def test_declared_deterministic_a_half_written_one_is_completed_after_the_recovery() -> None:
    story = Story(EAGER, settings=Settings(declared_deterministic=True))
    story.job("s0>A, s1:A>B, s2:B>C, s3:C!")
    story.run("s0", "s1")
    story.delete_all()
    story.submit("s2")
    story.lose(B=9)
    story.fail("s2")
    assert story.submit("s0.1")[1:3] == ["A1 missed by s0.1", "recovery 1 of A1"]
    story.complete("s0.1")
    story.submit("s1.1", tasks=1)
    assert story.complete("s1.1")[:3] == [
        "s1.1 completed, recovered A",
        "B1 complete",
        "A2 expired: read by a stage that wrote, held: missed before",
    ]
    assert story.submit("s2.1")[-1] == "C1 continued by s2.1"


def test_two_threads_one_cancelled_in_the_middle_of_the_recovery_that_both_joined() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A>B, s2:B!")
    story.delete_all()
    story.job("s3>A, s4:A>B, s5:B!")
    story.job("s3>A, s4:A>B, s6:B.")
    story.submit("s3")
    assert story.end(1, False) == ["job 1 failed"]
    assert story.life("A2") == "writing"
    story.complete("s3")
    assert "recovery 1 closed" in story.run("s4")
    story.run("s6")
    assert story.end(2) == ["job 2 ended"]
    assert story.life("B2") == "readable"  # a count is no reason for eager


def test_an_ended_application_counts_whoever_goes_on_asking_and_nothing_else() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    me = ClientId("me")
    story.witness.answer([c.Request(me, 1, c.RegisterClient(me))], 2_000)
    story.do(c.EndApplication())
    answers, log = story.witness.answer(
        [c.Request(me, n, c.GetShuffleId(shuffle("A"), attempt_of("s1"))) for n in range(2, 12)], 3_000
    )
    assert {story.answered(a) for a in answers} == {"failed precondition"}
    assert [type(r.event).__name__ for r in log] == ["RequestsAnswered"]
    again, log = story.witness.answer([c.Request(me, 2, c.GetShuffleId(shuffle("A"), attempt_of("s1")))], 3_000)
    assert (story.answered(again[0]), log) == ("failed precondition", [])
    assert story.do(c.DropClient(me)) == ["client me dropped"]


def test_a_client_that_confirms_nothing_is_held_back_and_goes_on_when_it_does() -> None:
    story = Story()
    me = ClientId("me")
    story.witness.answer(
        [c.Request(me, n, c.RegisterClient(me) if n == 1 else c.Tick()) for n in range(1, 4_097)], 2_000
    )
    (held,), log = story.witness.answer([c.Request(me, 4_097, c.Tick())], 2_000)
    assert story.answered(held) == "failed precondition"
    counted = Refused("failed precondition", NO_SHUFFLE)
    assert [r.event for r in log] == [e.RequestsAnswered(me, (), confirmed=0, refused=(counted,))]
    (now,), _ = story.witness.answer([c.Request(me, 4_097, c.Tick(), confirmed=4_000)], 2_000)
    assert story.answered(now) == "accepted"


def test_history_with_a_lesson_lets_go_when_it_was_read_as_often() -> None:
    kind = kind_of({shuffle("A"): Lineage(shuffle("A"))}.get, shuffle("A"))
    story = Story(Policy(Rule.HISTORY, observe=False), settings=Settings(lessons=(Lesson(kind, 2, late=True),)))
    story.whole("s0>A, s1:A>B, s2:B.")
    assert story.life("A1") == "readable"  # frontier would have let it go: the lesson says it is read late
    story.job("-s3>A, s4:A.", job=5)
    assert story.run("s4")[-2:] == ["A1 expired: read as often as in earlier runs", "fence A1"]


def test_history_with_a_lesson_of_more_reads_lets_go_behind_the_frontier_what_was_never_read_late() -> None:
    kind = kind_of({shuffle("A"): Lineage(shuffle("A"))}.get, shuffle("A"))
    story = Story(Policy(Rule.HISTORY, observe=False), settings=Settings(lessons=(Lesson(kind, 3),)))
    story.job("s0>A, s1:A>B, s2:B.")
    assert story.run("s0", "s1")[-2:] == ["A1 expired: every reader's output is on disk", "fence A1"]


def test_pressure_of_one_job_alone() -> None:
    story = Story(OBSERVE)
    story.whole("s0>A, s1:A!", policy=PRESSURE)
    story.whole("s2>B, s3:B!")
    story.look("")
    assert story.disk(900, 100)[-1] == "fence A1"
    assert story.delete_all()[-1] == "A1 deleted: policy, 100 bytes"
    assert story.lives() == "B1 expired"


def test_a_disk_that_is_full_and_a_reader_that_asks_for_what_was_let_go() -> None:
    story = Story(PRESSURE)
    story.whole("s0>A, s1:A!")
    story.look("A")
    story.now_ms += 1_000
    assert story.disk(900, 100)[-1] == "fence A1"
    story.outcome(FENCE, c.Busy(("x",)))
    assert story.life("A1") == "expired"
    assert story.read("A", "s9") == "ready A1"
    assert story.life("A1") == "readable"
    assert story.tick(60_000) == []


def test_grace_and_back_off_do_not_add_up() -> None:
    story = Story(delayed(EAGER, 1_000))
    story.whole("s0>A, s1:A!")
    story.tick(1_000)
    assert story.outcome(FENCE, c.Busy(("x",))) == ["A1 fence refused: busy, again at 2050"]
    assert next_due_ms(story.state) == 2_050
    assert story.tick(50) == ["fence A1"]


def test_a_fence_refused_to_a_known_reader_begins_the_grace_anew() -> None:
    story = Story(delayed(EAGER, 1_000))
    story.whole("s0>A, s1:A!")
    story.tick(1_000)
    story.job("-s2>A, s3:A!")
    story.submit("s3")
    story.outcome(FENCE, c.Busy(("3.0",)))
    story.now_ms += 10
    assert story.complete("s3")[-1] == f"A1 {READ}, held: grace until 3010"


def test_a_clock_that_runs_backwards_counts_no_grace() -> None:
    story = Story(delayed(EAGER, 1_000))
    story.at(5_000)
    story.whole("s0>A, s1:A!")
    story.at(2_000)
    assert story.do(c.Tick()) == []
    story.at(5_999)
    assert story.do(c.Tick()) == []
    story.at(6_000)
    assert story.do(c.Tick()) == ["fence A1"]


def test_an_execution_that_is_cancelled_in_the_middle_and_its_successor() -> None:
    story = Story(FRONTIER)
    story.do(c.ReportExecutionStarted(ExecutionId(0)))
    story.whole("s0>A", execution=0)
    story.job("-s1>A, s2:A>B", execution=0)
    story.submit("s2")
    story.fail("s2")
    story.end(1, False)
    assert story.do(c.ReportExecutionEnded(ExecutionId(0), True))[-2:] == [
        "A1 expired: its SQL execution ended",
        "fence A1",
    ]
    story.delete_all()
    assert story.lives() == ""


def test_a_streaming_graph_holds_its_last_batches_only() -> None:
    story = Story()
    for n, name in enumerate("ABCD"):
        story.whole(f"s{2 * n}>{name}, s{2 * n + 1}:{name}!")
        story.look(" ".join("ABCD"[max(0, n - 1) : n + 1]), RootKind.STREAM)
        story.delete_all()
    assert story.lives() == "C1 readable, D1 readable"


def test_a_loss_after_the_job_s_final_stage_is_done_and_before_its_end() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A.")
    story.run("s0", "s1")
    assert story.lose(A=0) == ["A1 lost: outputs gone"]
    assert story.end() == ["job 0 ended"]
    assert not story.state.recoveries


def test_a_half_lost_intermediate_that_only_a_handle_wants() -> None:
    story = Story()
    story.whole("s0>A, s1:A>B, s2:B.")
    story.look("B")
    story.delete_all()
    assert story.lose(B=5) == ["B1 partial, 5 of 10"]
    story.look("AB")
    story.job("s3>A, s4:A>B, s5:B!")
    assert story.submit("s3")[1:3] == ["A1 missed by s3.0", "recovery 1 of A1, would mix B1"]
    story.complete("s3")
    assert story.submit("s4")[-1] == "B2 begun by s4.0 for recovery 1"


def test_what_a_fenced_reader_asked_for_is_closed_when_its_job_is_cancelled() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.job("-s2>A, s3:A!")
    story.submit("s3")
    assert "recovery 1 of A1" in story.fenced()
    assert "recovery 1 closed" in [*story.fail("s3"), *story.end(1, False)]
    assert story.freed() == ["A1 deleted: policy, 100 bytes"]
    assert story.lives() == ""


def test_what_a_gap_has_swallowed_is_let_go_by_the_next_look_after_the_resync() -> None:
    story = Story()
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.do(c.ReportGap(7, "outbox"))
    story.look("")
    story.do(c.ReportOutputs(found(A=10, B=10)))
    story.do(c.Resync((), (), (), found(A=10, B=10)))
    assert story.lives() == "A1 readable, B1 readable"
    story.look("B")
    assert story.lives() == "A1 fencing, B1 readable"
    story.look("")
    story.delete_all()
    assert story.lives() == ""


def test_a_resync_while_a_recovery_is_open_and_its_writer_was_missed() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.delete_all()
    story.job("s2>A, s3:A!")
    assert story.read("A", "s3") == "recover A1: recovery 1 of A"
    story.do(c.ReportGap(1, "bus"))
    lines = story.do(c.Resync((job_of(1, 3, "A", (2, 3)),), (), (), found(A=10)))
    assert lines == ["A2 found, 10 of 10", "resync, until jobs [1] have ended", "recovery 1 closed"]
    story.run("s3")
    story.end(1)
    assert story.state.shuffles[0].missed == 1
    assert story.lives() == "A2 expired"


def test_a_service_that_cannot_delete_invalidates_nothing_either() -> None:
    story = Story(EAGER, Capabilities(deletes=False, completes_after_loss=False, why_not="push-based"), barrier="A")
    story.job("s0>A, s1:A!")
    story.submit("s0")
    story.fail("s0")
    assert story.submit("s0.1") == ["s0.1 submitted", "A1 lost: invalidated", "A2 begun by s0.1"]
    assert story.state.directives == {}


def test_the_application_s_end_in_the_middle_of_a_sweep() -> None:
    story = Story(Policy(Rule.EAGER, observe=True))
    for n in range(26):
        story.whole(f"s{2 * n}>{chr(65 + n)}, s{2 * n + 1}:{chr(65 + n)}!")
    assert story.do(c.SetPolicy(EAGER))[-1] == "more to sweep"
    lines = story.do(c.EndApplication(Ending.LOST))
    assert len([line for line in lines if "deleted: application lost" in line]) == 24
    story.tick()
    assert (story.lives(), story.state.directives, story.state.meta.sweeping) == ("", {}, False)


@pytest.mark.parametrize("order", ["look job end", "job look end", "job end look", "look end job"])
def test_a_plan_root_goes_and_a_job_comes_in_every_order(order: str) -> None:
    story = Story()
    story.whole("s0>A")
    story.look("A", RootKind.PLAN)
    steps: dict[str, Callable[[], object]] = {
        "look": story.begin_look,
        "job": lambda: story.job("-s1>A, s2:A!"),
        "end": lambda: story.report(""),
    }
    for step in order.split():
        steps[step]()
    if order == "look end job":
        assert story.life("A1") == "fencing"
        story.outcome(FENCE, c.Busy(("2.0",)))
        assert story.life("A1") == "readable"
    if order == "job end look":
        story.report("")
    assert story.life("A1") == "readable"
    story.run("s2")
    assert story.life("A1") == "fencing"
    assert story.end(1) == ["job 1 ended"]


def test_spark_cleans_under_a_reader_and_under_a_writer() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    assert story.do(c.ReportShuffleCleaned(shuffle("A"))) == ["A1 deleted: spark, 0 bytes", "A cleaned"]
    assert story.do(c.ReportShuffleCleaned(shuffle("B"))) == ["B1 deleted: spark, 0 bytes", "B cleaned"]
    assert story.complete("s1") == ["s1.0 completed"]
    assert story.end() == ["job 0 ended"]
    assert (story.lives(), story.state.attempts, story.state.shuffles) == ("", {}, {})


def test_what_was_cleaned_is_announced_anew_and_begins_from_nothing() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.delete_all()
    story.whole("s2>A, s3:A!")
    story.do(c.ReportShuffleCleaned(shuffle("A")))
    job = c.ReportJobStarted(
        JobId(9), StageId(9), (shuffle("A"),), None, spans_of((8, 9)), (Lineage(shuffle("A"), maps=10),)
    )
    story.do(job)
    assert story.read("A", "s9") == "not ready: announced and not yet written"
    story.do(c.ReportStageSubmitted(attempt_of("s8"), (), shuffle("A"), 10))
    assert story.lives() == "A3 writing"
    assert story.state.shuffles[0].missed is None


def test_the_replica_dies_with_an_invalidation_outstanding() -> None:
    story = Story(EAGER, barrier="A")
    story.job("s0>A, s1:A!")
    story.submit("s0")
    story.fail("s0")
    story.submit("s0.1")
    kept = dict(story.state.directives)
    assert [d.kind for d in kept.values()] == [INVALIDATE]
    assert story.tick(1_000_000) == []
    assert story.state.directives == kept
    assert story.outcome(INVALIDATE, c.Revoked("detached")) == ["A1 failed: revoked: detached, again at 1001200"]
    assert story.outcome(INVALIDATE, c.Superseded("2")) == ["A1 invalidated, 0 bytes"]


def test_a_job_within_a_job_that_reads_the_outer_one_s_output() -> None:
    story = Story()
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.job("-s3>A, s4:A.")
    story.submit("s4")
    story.submit("s1")
    story.look("")
    assert story.complete("s1") == ["s1.0 completed", "B1 complete"]
    assert story.complete("s4") == ["s4.0 completed", f"A1 {CUT}", "fence A1"]
    story.end(1)
    assert story.life("B1") == "readable"


def test_ten_rounds_with_a_loss_in_every_third_one_delete_all_but_the_last() -> None:
    story = Story(EAGER, settings=Settings(premature_budget=99, recoveries_per_shuffle=9))
    names = "ABCDEFGHIJ"
    story.whole("s0>A")
    for n in range(1, 10):
        previous, name, stage = names[n - 1], names[n], 10 * n
        story.job(f"s{stage}>{previous}, s{stage + 1}:{previous}>{name}, s{stage + 2}:{name}.", job=n)
        story.submit(f"s{stage + 1}")
        if n % 3 == 0:
            story.lose(**{previous: 9})
            story.fail(f"s{stage + 1}")
            story.submit(f"s{stage}", tasks=1)
            story.complete(f"s{stage}")
            story.submit(f"s{stage + 1}.1")
            story.complete(f"s{stage + 1}.1")
        else:
            story.complete(f"s{stage + 1}")
        story.run(f"s{stage + 2}")
        story.end(n)
        story.delete_all()
        assert story.lives() == f"{name}1 readable"
    assert (story.state.meta.premature, story.recoveries) == (0, 0)
