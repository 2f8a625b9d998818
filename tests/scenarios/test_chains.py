"""Scenarios 1 to 8: chains, diamonds and loops of shuffles, and the end of their last reader.

Responsible for what jobs alone let go and take back: who reads, who will still read, by policy. Refuses to know what
else holds it. Invariant: what a live job will still read is there.
"""

from __future__ import annotations

import pytest

from coordinator.core import commands as c
from coordinator.core.events import LineageLearned
from coordinator.core.ids import AppShuffle, ExecutionId, JobId, StageId
from coordinator.core.values import Lineage
from tests.scenarios.story import EAGER, FRONTIER, REACHABLE, Story, delayed

A = AppShuffle(0)


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


def test_2_under_frontier_what_is_being_fenced_covers_what_it_was_made_from() -> None:
    story = Story(FRONTIER)
    story.job("s0>A, s1:A>B, s2:B>C, s3:C!")
    story.job("s4>A, s5:A>D, s6:D!")
    assert story.run("s0", "s1", "s2")[-1] == "fence B1"
    assert story.run("s5")[-2:] == ["A1 expired: every reader's output is on disk", "fence A1"]
    assert story.lives() == "A1 fencing, B1 fencing, C1 readable, D1 readable"


def test_2_under_frontier_also_what_had_lost_outputs_before_from_its_fence_on() -> None:
    story = Story(FRONTIER)
    story.job("s0>A, s1:A>B, s2:B>C, s3:C!")
    story.job("s4>A, s5:A>D, s6:D!")
    story.do(c.SetPin(AppShuffle(1), "mine"))
    story.run("s0", "s1", "s2")
    story.lose(B=4)
    story.run("s5")
    assert story.lives() == "A1 readable, B1 expired, C1 readable, D1 readable"
    assert story.do(c.RemovePin(AppShuffle(1))) == [
        "B unpinned",
        "fence B1",
        "A1 expired: every reader's output is on disk",
        "fence A1",
    ]


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


@pytest.mark.parametrize("writes", [True, False], ids=["it writes", "it counts"])
def test_2_nor_is_an_execution_unless_it_runs_a_command_that_writes(writes: bool) -> None:
    story = Story(EAGER)
    story.do(c.ReportExecutionStarted(ExecutionId(0), writes_output=writes))
    story.whole("s0>A, s1:A.", execution=0)
    assert story.life("A1") == ("fencing" if writes else "readable")


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


def test_6_lineage_is_learned_once_and_anew_where_it_is_another_one() -> None:
    story = Story()
    for lineage, is_news in ((Lineage(A), True), (Lineage(A), False), (Lineage(A, maps=10), True)):
        story.do(c.ReportJobStarted(JobId(0), StageId(1), (A,), lineage=(lineage,)))
        learned = [recorded.event for recorded in story.log if isinstance(recorded.event, LineageLearned)]
        assert learned == ([LineageLearned(lineage)] if is_news else [])


def test_6_also_of_what_somebody_has_begun_to_write_before() -> None:
    story = Story()
    story.write("A", "s0")
    assert not story.state.shuffles[A].told
    story.do(c.ReportJobStarted(JobId(0), StageId(1), (A,), lineage=(Lineage(A),)))
    assert story.state.shuffles[A].told


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


def test_frontier_takes_back_what_its_reader_no_longer_covers() -> None:
    story = Story(delayed(FRONTIER, 1_000))
    story.whole("s0>A, s1:A>B, s2:B.")
    assert story.lives() == "A1 expired, B1 readable"
    assert story.lose(B=4) == ["B1 partial, 4 of 10", "A1 rescued: its policy does not let it go (frontier)"]


def test_a_shared_stage_runs_for_the_first_of_its_jobs_in_whatever_order_they_were_told() -> None:
    story = Story(FRONTIER)
    story.job("s0>A, s1:A.", job=5, execution=1)
    story.job("s0>A, s1:A.", job=3, execution=0)
    story.run("s0", "s1")
    assert story.state.generations[1].job == 3
    assert story.state.generations[1].last_read_execution == 0
