"""Scenarios 11 to 13, 18a and 18f: what the program holds beside its jobs.

Responsible for persisted RDDs, plans, executions, algorithms and names, as looks report them. Refuses to know switches
and delays. Invariant: a look lets go nothing that was complete only after it had begun.
"""

from __future__ import annotations

from coordinator.core import commands as c
from coordinator.core.ids import ExecutionId, LookId
from coordinator.core.values import RootKind
from tests.scenarios.story import EAGER, FRONTIER, REACHABLE, Story, delayed, shuffle


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


def look_at_one(story: Story, needs: str) -> list[str]:
    """A look that finds the root `df` and says all that it needs."""
    story.begin_look()
    root = c.ReportedRoot("df", RootKind.HANDLE, tuple(map(shuffle, needs)), "held by df")
    return story.do(c.ReportCut(story.state.meta.look, (root,)))


def test_12_a_root_that_needs_more_or_less_by_now_counts_with_what_it_needs_now() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    assert look_at_one(story, "A") == ["root df needs +A", "look ended"]
    story.whole("s2>B, s3:B!")
    assert look_at_one(story, "AB") == ["root df needs +B", "look ended"]
    assert look_at_one(story, "AB") == ["look ended"]
    assert look_at_one(story, "B") == ["root df needs -A", "look ended", "A1 expired: in no live cut", "fence A1"]
    assert story.lives() == "A1 fencing, B1 readable"


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


def test_18f_so_does_what_has_lost_outputs_since() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    story.job("s2>A, s3:A!")
    story.look("")
    assert story.lose(A=4) == ["A1 partial, 4 of 10"]
    assert story.end(1) == ["job 1 ended"]
    assert story.look("")[-2:] == ["A1 expired: given up half-written", "fence A1"]


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


def test_what_is_partial_stays_as_long_as_a_job_lists_its_map_stage() -> None:
    story = Story()
    story.whole("s0>A, s1:A>B, s2:B.")
    story.look("A B")
    story.lose(A=4)
    story.job("s3>A, s4:A>B, s5:B.")
    assert story.look("B")[-1] == "look ended"
    assert story.lives() == "A1 partial, B1 readable"
    assert story.end(1) == ["job 1 ended", "A1 expired: given up half-written", "fence A1"]


def test_a_look_whose_begin_is_told_once_more_speaks_of_what_was_complete_at_the_first() -> None:
    story = Story()
    story.begin_look()
    story.whole("s0>A, s1:A!")
    assert story.do(c.BeginLook(LookId(1))) == []
    assert story.report() == ["look ended"]
    assert story.lives() == "A1 readable"
    assert story.look()[-1] == "fence A1"
