"""Scenarios 1 to 18f: tracking who reads and writes what, and deciding when it is no longer needed."""

from __future__ import annotations

from coordinator.core import commands as c
from coordinator.core.ids import ExecutionId, JobId, LookId, StageId
from coordinator.core.lineages import kind_of
from coordinator.core.values import (
    Capabilities,
    DirectiveKind,
    Lesson,
    Level,
    Lineage,
    Outputs,
    Policy,
    RootKind,
    Rule,
    Settings,
)
from tests.scenarios.story import EAGER, FRONTIER, OBSERVE, REACHABLE, Story, attempt_of, delayed, shuffle

OBSERVE_EAGER = Policy(Rule.EAGER, observe=True)


def test_1_a_chain_is_deleted_behind_the_job() -> None:
    story = Story()
    assert story.job("s0>A, s1:A>B, s2:B>C, s3:C!") == ["job 0"]
    assert story.run("s0") == ["s0.0 submitted", "A1 begun by s0.0", "s0.0 completed", "A1 complete"]
    story.look("C")
    assert story.run("s1") == [
        "s1.0 submitted",
        "A1 read by s1.0",
        "B1 begun by s1.0",
        "s1.0 completed",
        "B1 complete",
        "A1 expired: in no live cut",
        "fence A1",
    ]
    assert story.fenced() == ["A1 fenced", "delete A1"]
    assert story.freed() == ["A1 deleted: policy, 100 bytes"]
    story.look("C")
    assert story.run("s2") == [
        "s2.0 submitted",
        "B1 read by s2.0",
        "C1 begun by s2.0",
        "s2.0 completed",
        "C1 complete",
        "B1 expired: in no live cut",
        "fence B1",
    ]
    story.delete_all()
    story.look("C")
    assert story.run("s3") == ["s3.0 submitted", "C1 read by s3.0", "s3.0 completed"]
    assert story.end() == ["job 0 ended"]
    assert story.look("") == ["look", "root C gone", "look ended", "C1 expired: in no live cut", "fence C1"]
    story.delete_all()
    assert story.lives() == ""
    assert story.state.meta.bytes_freed == 300


def test_2_under_frontier_the_last_one_stays() -> None:
    story = Story(FRONTIER)
    story.job("s0>A, s1:A>B, s2:B>C, s3:C!")
    assert story.run("s0", "s1") == [
        "s0.0 submitted",
        "A1 begun by s0.0",
        "s0.0 completed",
        "A1 complete",
        "s1.0 submitted",
        "A1 read by s1.0",
        "B1 begun by s1.0",
        "s1.0 completed",
        "B1 complete",
        "A1 expired: every reader's output is on disk",
        "fence A1",
    ]
    assert story.run("s2") == [
        "s2.0 submitted",
        "B1 read by s2.0",
        "C1 begun by s2.0",
        "s2.0 completed",
        "C1 complete",
        "B1 expired: every reader's output is on disk",
        "fence B1",
    ]
    story.run("s3")
    story.end()
    story.delete_all()
    assert story.lives() == "C1 readable"


def test_2_under_eager_the_last_one_goes_with_its_reader() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A>B, s2:B>C, s3:C!")
    story.run("s0", "s1", "s2")
    assert story.run("s3") == [
        "s3.0 submitted",
        "C1 read by s3.0",
        "s3.0 completed",
        "C1 expired: read by a stage that wrote",
        "fence C1",
    ]


def test_2_a_count_is_no_reason_for_eager() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A.")
    story.run("s0", "s1")
    story.end()
    assert story.lives() == "A1 readable"


def test_2_what_was_given_up_half_written_is_on_no_disk() -> None:
    story = Story(FRONTIER)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.job("s3>A, s4:A.", job=5)
    story.run("s1")
    story.lose(B=0)
    story.end(0, succeeded=False)
    story.end(5)
    story.job("s5>A, s6:A>B, s7:B!")
    story.submit("s6")
    assert story.end(6, succeeded=False) == [
        "job 6 failed",
        "recovery 1 closed",
        "B2 expired: given up half-written",
        "fence B2",
    ]
    assert story.fenced() == ["B2 fenced", "delete B2"]
    assert story.freed() == ["B2 deleted: policy, 100 bytes"]
    assert story.lives() == "A1 readable"


def test_3_what_a_sampling_job_has_read_is_read_again() -> None:
    for policy in (REACHABLE, FRONTIER, EAGER):
        story = Story(policy)
        story.whole("s0>A, s1:A.")
        story.look("A")
        assert story.job("s2>A, s3:A>B, s4:B!") == ["job 1"]
        assert story.run("s3")[:3] == ["s3.0 submitted", "A1 read by s3.0", "B1 begun by s3.0"]
        assert not [line for line in story.run("s4") if "recovery" in line]


def test_3_what_one_who_asked_early_for_nothing_has_held_goes_with_the_next_job() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.read("A", "s3")
    story.run("s1")
    assert story.end() == ["job 0 ended"]
    assert story.job("s5>B, s6:B!", job=7) == ["job 7", "A1 expired: read by a stage that wrote", "fence A1"]


def test_4_a_diamond_keeps_what_its_second_side_reads() -> None:
    for policy in (REACHABLE, FRONTIER, EAGER):
        story = Story(policy)
        story.job("s0>A, s1:A>B, s2:A,B!")
        story.run("s0")
        story.look("")
        story.run("s1")
        story.look("")
        assert story.lives() == "A1 readable, B1 readable"
        story.submit("s2")
        story.complete("s2")
        story.end()
        expected = {"reachable": "A1 fencing, B1 fencing", "frontier": "A1 readable, B1 readable"}
        assert story.lives() == expected.get(policy.name, "A1 fencing, B1 fencing")


def test_5_two_jobs_read_it_and_the_second_one_counts_too() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.job("s2>A, s3:A!")
    story.submit("s1")
    story.submit("s3")
    story.look("")
    assert story.complete("s1") == ["s1.0 completed"]
    story.end(0)
    assert story.lives() == "A1 readable"
    assert story.complete("s3") == ["s3.0 completed", "A1 expired: in no live cut", "fence A1"]


def test_5_a_shared_stage_belongs_to_both_jobs() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.job("s0>A, s2:A!")
    story.submit("s0")
    assert story.end(0, succeeded=False) == ["job 0 failed"]
    assert story.complete("s0") == ["s0.0 completed", "A1 complete"]


def test_6_a_loop_leaves_only_the_last_one() -> None:
    for policy in (REACHABLE, FRONTIER):
        story = Story(policy)
        story.whole("s0>A, s1:A.")
        previous, listed, recomputed = "A", "s0>A", 0
        for number, name in enumerate("BCDEFG", start=1):
            stage = 2 * number
            listed += f", s{stage}:{previous}>{name}"
            story.look(previous)
            story.job(f"{listed}, s{stage + 1}:{name}.")
            story.run(f"s{stage}")
            story.look(name)
            story.run(f"s{stage + 1}")
            story.end(number)
            recomputed += sum("missed" in line for line in story.delete_all())
            assert story.lives() == f"{name}1 readable"
            previous = name
        assert not recomputed
        assert not story.state.recoveries


def test_7_a_cancelled_job_stops_reading() -> None:
    story = Story()
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    story.look("A")
    assert story.fail("s1") == ["s1.0 failed"]
    assert story.state.generations[1].retrying
    assert story.end(succeeded=False) == ["job 0 failed"]
    assert story.lives() == "A1 readable, B1 writing"
    assert story.look("") == [
        "look",
        "root A gone",
        "look ended",
        "A1 expired: in no live cut",
        "fence A1",
        "B1 expired: given up half-written",
        "fence B1",
    ]


def test_7_half_written_outputs_go_at_once_under_a_guessing_policy() -> None:
    story = Story(FRONTIER)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    assert story.end(succeeded=False) == ["job 0 failed", "B1 expired: given up half-written", "fence B1"]


def test_8_an_expiry_is_taken_back_by_a_job() -> None:
    story = Story(delayed(REACHABLE, 1_000))
    story.whole("s0>A, s1:A!")
    assert story.look("") == ["look", "look ended", "A1 expired: in no live cut, held: grace until 2000"]
    assert story.job("s2>A, s3:A!") == ["job 1", "A1 rescued: a live job reaches it (job 1)"]
    assert story.lives() == "A1 readable"


def test_8_and_by_a_root() -> None:
    story = Story(delayed(REACHABLE, 1_000))
    story.whole("s0>A, s1:A!")
    story.look("")
    assert story.look("A") == ["look", "root A needs +A", "look ended", "A1 rescued: a root reaches it (held by a)"]


def test_8_and_by_a_reader_that_asks() -> None:
    story = Story(delayed(REACHABLE, 1_000))
    story.whole("s0>A, s1:A!")
    story.look("")
    assert story.read("A", "s9") == "ready A1"
    assert story.teller.tell(story.log) == ["A1 rescued: a reader asked (stage 9.0)", "A1 read by s9.0"]


def test_9_being_listed_is_nothing() -> None:
    story = Story()
    story.whole("s0>A, s1:A>B, s2:B.")
    story.look("B")
    story.delete_all()
    assert story.life("A1") == "deleted"
    assert story.job("s3>A, s4:A>B, s5:B!") == ["job 1"]
    assert story.run("s5") == ["s5.0 submitted", "B1 read by s5.0", "s5.0 completed"]
    assert story.end(1) == ["job 1 ended"]


def test_9_being_submitted_is_a_premature_deletion() -> None:
    story = Story()
    story.whole("s0>A, s1:A>B, s2:B.")
    story.look("B")
    story.delete_all()
    story.job("s3>A, s4:A>C, s5:C!")
    assert story.submit("s3") == [
        "s3.0 submitted",
        "A1 missed by s3.0",
        "recovery 1 of A1",
        "A2 begun by s3.0 for recovery 1",
    ]
    assert story.complete("s3") == ["s3.0 completed", "A2 complete", "recovery 1 closed"]
    assert story.state.meta.premature == 1
    story.run("s4", "s5")
    story.end(1)
    assert story.state.meta.premature == 1


def test_9_a_reader_before_its_map_stage_is_counted_once() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    story.look("")
    assert story.lives() == "A1 fencing"
    story.fenced()
    story.job("s2>A, s3:A!")
    assert story.read("A", "s3") == "recover A1: recovery 1 of A"
    assert story.teller.tell(story.log) == ["A1 missed by s3.0", "recovery 1 of A1"]
    assert story.submit("s2") == ["s2.0 submitted", "A2 begun by s2.0 for recovery 1"]
    assert story.freed() == ["A1 deleted: policy, 100 bytes"]
    assert story.complete("s2")[1:] == ["A2 complete", "recovery 1 closed"]


def test_10_its_bytes_are_what_all_attempts_left_of_it() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.submit("s0")
    story.do(c.ReportStageCompleted(attempt_of("s0"), "executor lost", shuffle_bytes_written=60))
    story.submit("s0.1", tasks=4)
    story.do(c.ReportStageCompleted(attempt_of("s0.1"), shuffle_bytes_written=40))
    assert story.state.generations[1].bytes == 100
    story.lose(A=7)
    assert story.state.generations[1].bytes == 70
    story.submit("s0.2", tasks=3)
    story.do(c.ReportStageCompleted(attempt_of("s0.2"), shuffle_bytes_written=30))
    assert story.state.generations[1].bytes == 100


def taught(reads: int) -> Story:
    """Under `history`: what is made from nothing was read so often in earlier runs, and late."""
    kind = kind_of({shuffle("A"): Lineage(shuffle("A"))}.get, shuffle("A"))
    lessons = (Lesson(kind, reads, late=True),)
    return Story(Policy(Rule.HISTORY, observe=False), settings=Settings(lessons=lessons))


def test_10_a_map_stage_that_repairs_what_it_wrote_is_no_other_reader() -> None:
    story = taught(reads=2)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0", "s1")
    story.submit("s2")
    story.lose(B=9)
    story.fail("s2")
    story.submit("s1.1", tasks=1)
    assert story.complete("s1.1") == ["s1.1 completed", "B1 complete"]
    assert story.whole("-s3>A, s4:A.")[-4:] == [
        "s4.0 completed",
        "A1 expired: read as often as in earlier runs",
        "fence A1",
        "job 1 ended",
    ]


def test_10_what_nobody_ever_read_is_not_let_go_before_anybody_has() -> None:
    story = taught(reads=0)
    story.whole("s0>A")
    assert story.lives() == "A1 readable"


def test_11_a_stage_that_reads_blocks_misses_nothing() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    story.look("")
    story.delete_all()
    story.job("s2>A, s3:A!")
    assert story.submit("s3", cached=True) == ["s3.0 submitted"]
    assert story.complete("s3") == ["s3.0 completed"]
    assert story.state.meta.premature == 0


def test_11_a_stage_above_persisted_blocks_reads_what_is_there() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    story.job("s2>A, s3:A!")
    assert story.submit("s3", cached=True) == ["s3.0 submitted", "A1 read by s3.0"]


def test_11_a_block_that_was_lost_is_a_recovery() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    story.look("")
    story.delete_all()
    story.job("s2>A, s3:A!")
    assert "recovery 1 of A1" in story.submit("s2")
    story.complete("s2")
    assert story.submit("s3", cached=True) == ["s3.0 submitted", "A2 read by s3.0"]


def test_10_a_partial_retry_keeps_the_id() -> None:
    story = Story()
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    story.look("")
    assert story.lose(A=7) == ["A1 partial, 7 of 10"]
    assert story.fail("s1") == ["s1.0 failed"]
    assert story.submit("s0.1", tasks=3) == ["s0.1 submitted", "A1 continued by s0.1"]
    assert story.complete("s0.1") == ["s0.1 completed", "A1 complete"]
    story.look("")
    assert story.submit("s1.1") == ["s1.1 submitted", "A1 read by s1.1", "B1 continued by s1.1"]
    assert story.state.generations[1].retrying
    assert story.state.generations[1].readers
    assert story.complete("s1.1") == ["s1.1 completed", "B1 complete", "A1 expired: in no live cut", "fence A1"]


def test_10_two_attempts_are_two_readers() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.submit("s1.1")
    assert len(story.state.generations[1].readers) == 2


def test_11_a_persisted_root_holds_what_its_unfilled_partitions_need() -> None:
    for policy in (REACHABLE, FRONTIER):
        story = Story(policy)
        story.do(c.ReportExecutionStarted(ExecutionId(0)))
        story.job("s0>A, s1:A.", execution=0)
        story.run("s0")
        story.look("A", RootKind.PERSISTED)
        story.run("s1")
        story.end()
        assert story.do(c.ReportExecutionEnded(ExecutionId(0))) == ["execution 0 ended"]
        assert story.look("")[-1] == "fence A1"


def test_12_a_root_that_is_now_of_another_kind_counts_as_that() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.look("A")
    assert story.look("A", RootKind.PLAN) == ["look", "root A needs", "look ended"]
    story.run("s1")
    assert story.end() == ["job 0 ended"]
    assert story.lives() == "A1 readable"


def test_12_a_plan_holds_what_it_will_reuse() -> None:
    for policy in (REACHABLE, FRONTIER, EAGER):
        story = Story(policy)
        story.do(c.ReportExecutionStarted(ExecutionId(0)))
        story.whole("s0>A", execution=0)
        story.look("A", RootKind.PLAN)
        story.whole("-s1>A, s2:A>B", execution=0)
        story.look("AB", RootKind.PLAN)
        assert story.lives() == "A1 readable, B1 readable"
        story.whole("-s3>A, -s4:A>B, s5:A,B!", execution=0)
        story.look("")
        story.do(c.ReportExecutionEnded(ExecutionId(0)))
        story.delete_all()
        assert story.lives() == ""
        assert not story.state.recoveries


def test_12_a_map_stage_that_completes_before_the_plan_shows_it_is_needed() -> None:
    story = Story()
    story.begin_look()
    story.whole("s0>A", execution=0)
    assert story.report("") == ["look ended"]
    assert story.lives() == "A1 readable"


def test_12_a_map_stage_job_needs_its_inputs_until_it_has_ended() -> None:
    story = Story(EAGER)
    story.whole("s0>A")
    story.job("s1>A, s2:A>B")
    story.run("s2")
    assert story.lives() == "A1 fencing, B1 readable"


def test_12a_exchanges_without_an_execution() -> None:
    for policy in (REACHABLE, FRONTIER):
        story = Story(policy)
        story.whole("s0>A")
        story.look("A", RootKind.ALGORITHM)
        story.whole("-s1>A, s2:A>B")
        story.look("AB", RootKind.ALGORITHM)
        assert story.lives() == "A1 readable, B1 readable"


def test_13_under_frontier_the_end_of_the_execution_lets_go() -> None:
    story = Story(FRONTIER)
    story.do(c.ReportExecutionStarted(ExecutionId(0)))
    assert story.whole("s0>A, s1:A.", execution=0) == [
        "job 0",
        "s0.0 submitted",
        "A1 begun by s0.0",
        "s0.0 completed",
        "A1 complete",
        "s1.0 submitted",
        "A1 read by s1.0",
        "s1.0 completed",
        "job 0 ended",
    ]
    assert story.do(c.ReportExecutionEnded(ExecutionId(0))) == [
        "execution 0 ended",
        "A1 expired: its SQL execution ended",
        "fence A1",
    ]
    story.delete_all()
    story.do(c.ReportExecutionStarted(ExecutionId(1)))
    story.job("s2>A, s3:A.", execution=1)
    assert story.submit("s2") == [
        "s2.0 submitted",
        "A1 missed by s2.0",
        "recovery 1 of A1",
        "A2 begun by s2.0 for recovery 1",
    ]


def test_13_an_execution_whose_start_was_not_told_runs_until_its_end_is_told() -> None:
    story = Story(FRONTIER)
    story.whole("s0>A, s1:A.", execution=4)
    assert story.lives() == "A1 readable"
    assert story.do(c.ReportExecutionEnded(ExecutionId(4))) == [
        "execution 4 ended",
        "A1 expired: its SQL execution ended",
        "fence A1",
    ]


def test_13_a_nested_execution_does_not_end_the_outer_one() -> None:
    story = Story(FRONTIER)
    story.do(c.ReportExecutionStarted(ExecutionId(0)))
    story.whole("s0>A, s1:A.", execution=0)
    story.do(c.ReportExecutionStarted(ExecutionId(1)))
    story.whole("-s2>A, s3:A.", execution=1)
    assert story.do(c.ReportExecutionEnded(ExecutionId(1))) == ["execution 1 ended"]
    assert story.do(c.ReportExecutionEnded(ExecutionId(0))) == [
        "execution 0 ended",
        "A1 expired: its SQL execution ended",
        "fence A1",
    ]


def test_13_held_a_second_collect_reads_it() -> None:
    story = Story()
    story.whole("s0>A, s1:A.", execution=0)
    story.look("A")
    assert story.whole("-s2>A, s3:A.", execution=1) == [
        "job 1",
        "s3.0 submitted",
        "A1 read by s3.0",
        "s3.0 completed",
        "job 1 ended",
    ]
    assert story.look("") == ["look", "root A gone", "look ended", "A1 expired: in no live cut", "fence A1"]


def test_14_observe_decides_and_fences_nothing() -> None:
    story = Story(OBSERVE)
    story.whole("s0>A, s1:A!")
    assert story.look("") == ["look", "look ended", "A1 expired: in no live cut, held: observe"]
    assert story.tick(10_000) == []


def test_14_a_pin_holds() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    assert story.do(c.SetPin(shuffle("A"), "mine")) == ["A pinned"]
    assert story.look("") == ["look", "look ended", "A1 expired: in no live cut, held: pin"]
    assert story.do(c.RemovePin(shuffle("A"))) == ["A unpinned", "fence A1"]


def test_14_a_group_is_switched_off() -> None:
    story = Story()
    story.do(c.SetPolicy(OBSERVE, group="reports"))
    story.whole("s0>A, s1:A!", group="reports")
    story.whole("s2>B, s3:B!")
    assert story.look("") == [
        "look",
        "look ended",
        "A1 expired: in no live cut, held: observe",
        "B1 expired: in no live cut",
        "fence B1",
    ]


def test_14_a_job_brings_its_own_policy() -> None:
    story = Story(OBSERVE)
    story.whole("s0>A, s1:A!", policy=EAGER)
    assert story.lives() == "A1 fencing"


def test_14_its_policy_counts_for_what_was_begun_before_the_job_was_told() -> None:
    story = Story(EAGER)
    story.write("A", "s0")
    assert story.whole("s0>A, s1:A!", policy=OBSERVE_EAGER)[-2:] == [
        "A1 expired: read by a stage that wrote, held: observe",
        "job 0 ended",
    ]
    story.write("B", "s2")
    story.do(c.SetPolicy(OBSERVE_EAGER, group="reports"))
    assert story.whole("s2>B, s3:B!", group="reports", execution=4)[-2:] == [
        "B1 expired: read by a stage that wrote, held: observe",
        "job 1 ended",
    ]
    assert story.state.generations[2].execution == 4


def test_14_and_for_what_a_resync_finds_that_it_lists() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A>B, s2:B!", policy=OBSERVE_EAGER)
    story.do(c.ReportGap(3, "outbox"))
    found = tuple(Outputs(shuffle(letter), 10, 10) for letter in "AZ")
    assert story.do(c.ReportOutputs(found)) == ["A1 found, 10 of 10", "Z1 found, 10 of 10"]
    running = c.ReportJobStarted(JobId(0), StageId(2), (shuffle("B"),))
    story.do(c.Resync((running,), (), (), found))
    assert [generation.policy for generation in story.state.generations.values()] == [OBSERVE_EAGER, None]
    story.run("s1", "s2")
    assert story.end() == [
        "job 0 ended",
        "A1 expired: read by a stage that wrote, held: observe",
        "B1 expired: read by a stage that wrote, held: observe",
    ]


def test_14_observed_then_switched_on() -> None:
    story = Story(OBSERVE)
    story.whole("s0>A, s1:A!")
    story.look("")
    assert story.do(c.SetPolicy(REACHABLE)) == ["policy reachable", "fence A1"]


def test_14_what_a_guess_let_go_waits_for_a_look_when_the_policy_becomes_reachable() -> None:
    story = Story(Policy(Rule.EAGER, observe=True))
    story.whole("s0>A, s1:A!")
    assert story.lives() == "A1 expired"
    assert story.do(c.SetPolicy(REACHABLE)) == [
        "policy reachable",
        "A1 rescued: a root reaches it (reachable does not let it go)",
    ]
    assert story.look("A")[-1] == "look ended"
    assert story.lives() == "A1 readable"
    story.look("")
    assert story.lives() == "A1 fencing"


def test_14_switched_to_observe_the_hold_changes_step_by_step() -> None:
    story = Story(delayed(EAGER, 60_000))
    for number in range(0, 60, 2):
        letter = chr(ord("A") + number // 2)
        if letter > "Z":
            break
        story.whole(f"s{number}>{letter}, s{number + 1}:{letter}!")
    lines = story.do(c.SetPolicy(OBSERVE_EAGER))
    assert len(lines) == 26
    assert lines[-1] == "more to sweep"
    assert story.tick() == ["Y1 held: observe", "Z1 held: observe", "swept"]


def test_14_a_service_that_cannot_delete_is_observed() -> None:
    story = Story(EAGER, Capabilities(deletes=False, why_not="push-based"))
    assert story.whole("s0>A, s1:A!")[-2:] == [
        "A1 expired: read by a stage that wrote, held: service cannot delete",
        "job 0 ended",
    ]


def test_15_sparks_own_cleaner_is_never_premature() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    assert story.do(c.ReportShuffleCleaned(shuffle("A"))) == ["A1 deleted: spark, 0 bytes", "A cleaned"]
    assert story.do(c.ReportShuffleCleaned(shuffle("A"))) == []


def test_15_the_cleaner_while_fencing_or_fenced() -> None:
    for fenced in (False, True):
        story = Story(EAGER)
        story.whole("s0>A, s1:A!")
        (fence,) = story.state.directives
        if fenced:
            story.fenced()
        assert story.do(c.ReportShuffleCleaned(shuffle("A"))) == ["A1 deleted: spark, 0 bytes", "A cleaned"]
        assert not story.state.directives
        assert story.outcome(DirectiveKind.FENCE, c.Fenced(), fence) == []


def test_16_a_gap_stops_expiry_until_the_jobs_of_then_have_ended() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.run("s0")
    assert story.do(c.ReportGap(12, "listener queue")) == ["gap, until jobs [0] have ended"]
    running = c.ReportJobStarted(JobId(0), StageId(1), (shuffle("A"),))
    assert story.do(c.Resync((running,), (), (), (Outputs(shuffle("A"), 10, 10),))) == [
        "resync, until jobs [0] have ended"
    ]
    story.run("s1")
    assert story.lives() == "A1 readable"
    assert story.end() == ["job 0 ended", "A1 expired: read by a stage that wrote", "fence A1"]


def test_16_what_was_expired_and_not_fenced_is_kept_in_a_gap() -> None:
    story = Story(delayed(EAGER, 1_000))
    story.whole("s0>A, s1:A!")
    assert story.do(c.ReportGap(0, "outbox")) == [
        "gap, until jobs [] have ended",
        "A1 rescued: facts were missed (facts were missed)",
    ]
    assert story.do(c.Resync((), (), (), (Outputs(shuffle("A"), 10, 10),))) == [
        "resync, until jobs [] have ended",
        "A1 expired: read by a stage that wrote, held: grace until 2000",
    ]


def test_17_grace_starts_again_with_use() -> None:
    story = Story(delayed(EAGER, 100))
    story.whole("s0>A, s1:A!")
    assert story.lives() == "A1 expired"
    story.at(1_005)
    story.job("s2>A, s3:A!")
    story.submit("s3")
    story.at(1_006)
    assert story.complete("s3") == ["s3.0 completed", "A1 expired: read by a stage that wrote, held: grace until 1106"]
    assert story.tick(99) == []
    assert story.tick(1) == ["fence A1"]


def test_18_the_budget_of_premature_deletions() -> None:
    story = Story(EAGER, settings=Settings(premature_budget=1))
    story.whole("s0>A, s1:A!")
    story.whole("s2>B, s3:B!")
    story.whole("s4>D, s5:D!")
    story.delete_all()
    story.job("s6>A, s7:A!")
    assert story.submit("s6")[1] == "A1 missed by s6.0"
    story.complete("s6")
    assert story.run("s7")[-1] == "A2 expired: read by a stage that wrote, held: missed before"
    story.end(3)
    story.job("s8>B, s9:B!")
    assert story.submit("s8")[1:3] == ["B1 missed by s8.0", "suspended: premature deletions passed the budget"]
    story.complete("s8")
    story.run("s9")
    story.end(4)
    assert story.whole("s10>C, s11:C!")[-2:] == [
        "C1 expired: read by a stage that wrote, held: suspended",
        "job 5 ended",
    ]
    assert story.do(c.ResumeDeletion("me")) == [
        "resumed",
        "A2 held: missed before",
        "B2 held: missed before",
        "fence C1",
    ]
    assert story.state.meta.premature == 0


def test_18_spark_s_cleaner_forgets_what_was_missed() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.delete_all()
    story.whole("s2>A, s3:A!")
    assert story.lives() == "A1 expired" or story.lives() == "A2 expired"
    assert story.state.shuffles[0].missed == 1
    story.do(c.ReportShuffleCleaned(shuffle("A")))
    assert not story.state.shuffles
    assert not story.state.recovered
    assert not story.state.recoveries


def test_18_indeterminate_is_not_guessed_about() -> None:
    story = Story(EAGER, levels={"A": Level.INDETERMINATE})
    story.whole("s0>A, s1:A!")
    assert story.lives() == "A1 readable"
    story = Story(EAGER, settings=Settings(delete_indeterminate=True), levels={"A": Level.INDETERMINATE})
    story.whole("s0>A, s1:A!")
    assert story.lives() == "A1 fencing"
    story = Story(levels={"A": Level.INDETERMINATE})
    story.whole("s0>A, s1:A!")
    story.look("")
    assert story.lives() == "A1 fencing"


def test_18_what_is_indeterminate_is_kept_under_strict_unless_the_user_says_so() -> None:
    """Its loss would fail a job that has delivered a part of its result: no look is worth that."""
    for allowed, life in ((False, "readable"), (True, "fencing")):
        settings = Settings(strict=True, delete_indeterminate=allowed)
        story = Story(settings=settings, levels={"A": Level.INDETERMINATE})
        story.whole("s0>A, s1:A!")
        story.look("")
        assert story.lives() == f"A1 {life}"


def test_18a_a_running_algorithm_holds_what_was_written_in_it() -> None:
    story = Story()
    story.whole("s0>A, s1:A>B, s2:B.")
    story.look("AB", RootKind.ALGORITHM)
    assert story.lives() == "A1 readable, B1 readable"
    story.look("B", RootKind.OBJECT)
    assert story.lives() == "A1 fencing, B1 readable"


def test_18f_what_completes_between_a_look_and_its_end_waits_for_the_next() -> None:
    story = Story()
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.begin_look()
    story.run("s1")
    assert story.report("") == ["look ended", "A1 expired: in no live cut", "fence A1"]
    story.run("s2")
    story.end()
    assert story.lives() == "A1 fencing, B1 readable"
    assert story.look("")[-2:] == ["B1 expired: in no live cut", "fence B1"]


def test_18f_a_later_look_may_speak_from_the_same_place() -> None:
    """What a name has let go since goes; what was complete only later waits for a look that begins there."""
    story = Story()
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0", "s1", "s2")
    story.end()
    assert story.look("A B")[-2:] == ["root B needs +B", "look ended"]
    assert story.report("B") == ["root A gone", "look ended", "A1 expired: in no live cut", "fence A1"]
    story.whole("s3:B>C, s4:C!")
    assert story.report("B") == ["look ended"]
    assert story.look("B")[-2:] == ["C1 expired: in no live cut", "fence C1"]


def test_18f_a_look_that_was_overtaken_says_nothing() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    story.begin_look()
    story.begin_look()
    assert story.do(c.ReportCut(LookId(1))) == []
    assert story.lives() == "A1 readable"


def test_a_root_whose_shuffle_lost_outputs_needs_what_is_behind() -> None:
    story = Story(delayed(REACHABLE, 1_000))
    story.whole("s0>A, s1:A>B, s2:B.")
    story.look("B")
    assert story.lives() == "A1 expired, B1 readable"
    assert story.lose(B=4) == ["B1 partial, 4 of 10", "A1 rescued: a root reaches it (held by b)"]


def test_frontier_takes_back_what_its_reader_no_longer_covers() -> None:
    story = Story(delayed(FRONTIER, 1_000))
    story.whole("s0>A, s1:A>B, s2:B.")
    assert story.lives() == "A1 expired, B1 readable"
    assert story.lose(B=4) == ["B1 partial, 4 of 10", "A1 rescued: a root reaches it (frontier does not let it go)"]


def test_what_is_partial_stays_as_long_as_a_job_lists_its_map_stage() -> None:
    story = Story()
    story.whole("s0>A, s1:A>B, s2:B.")
    story.look("A B")
    story.lose(A=4)
    story.job("s3>A, s4:A>B, s5:B.")
    assert story.look("B")[-1] == "look ended"
    assert story.lives() == "A1 partial, B1 readable"
    assert story.end(1) == ["job 1 ended", "A1 expired: given up half-written", "fence A1"]


def test_a_shared_stage_runs_for_the_first_of_its_jobs_in_whatever_order_they_were_told() -> None:
    story = Story(FRONTIER)
    story.job("s0>A, s1:A.", job=5, execution=1)
    story.job("s0>A, s1:A.", job=3, execution=0)
    story.run("s0", "s1")
    assert story.state.generations[1].job == 3
    assert story.state.generations[1].last_read_execution == 0
