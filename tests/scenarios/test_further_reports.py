"""Reports that come late, name the wrong thing, or meet what is being fenced: each broke a rule once."""

from __future__ import annotations

import pytest

from coordinator.core import commands as c
from coordinator.core.ids import JobId, ShuffleId, StageId, spans_of
from coordinator.core.values import (
    Capabilities,
    Outputs,
    Policy,
    Rule,
    Settings,
)
from tests.scenarios.further import FENCE, REMOTE
from tests.scenarios.story import EAGER, PRESSURE, REACHABLE, Story, attempt_of, delayed, shuffle

# ---- a writer that asked before its stage was told, a resync in between ----------------------------------------------


def asked_while_fencing() -> Story:
    """A1 is being fenced; s2's task asks to write it; a resync from before s2's submission comes."""
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    assert story.lives() == "A1 fencing"
    story.job("s2>A, s3:A!")
    assert story.write("A", "s2") == "not ready: being fenced; its outcome decides"
    job = c.ReportJobStarted(JobId(1), StageId(3), (shuffle("A"),), None, spans_of((2, 3)))
    story.do(c.Resync((job,), (), (), (Outputs(shuffle("A"), 0, 10),)))
    return story


def test_fenced_a_new_generation_is_begun_for_it() -> None:
    """38: it counts; the stage's facts are added when they come. 19a: Fenced has who joined begin anew."""
    story = asked_while_fencing()
    story.submit("s2")
    assert "A2 begun by s2.0 for recovery 1" in story.fenced()
    story.complete("s2")
    assert story.life("A2") == "readable"


def test_fenced_the_reader_is_no_false_premature_deletion() -> None:
    story = asked_while_fencing()
    story.submit("s2")
    story.fenced()
    story.freed()
    story.complete("s2")
    assert "A1 missed by s3.0" not in story.submit("s3")


def test_busy_it_goes_on_writing() -> None:
    story = asked_while_fencing()
    story.submit("s2")
    story.outcome(FENCE, c.Busy(("2.0",)))
    assert story.state.generations[1].writers == {attempt_of("s2")}
    story.complete("s2")
    assert story.life("A1") == "readable"


@pytest.mark.parametrize("policy", [EAGER, delayed(EAGER, 60_000), Policy(Rule.EAGER, observe=True)])
def test_given_up_by_the_resync_and_written_all_the_same(policy: Policy) -> None:
    """A was announced by a job that was cancelled, so Spark has it registered. s2's task asks, a resync that was put
    together before s2's job comes: A1 is given up. Then the job and its stage are told."""
    story = Story(policy)
    story.job("s0>A, s1:A!")
    story.end(0, False)
    story.write("A", "s2")
    story.do(c.Resync((), (), (), (Outputs(shuffle("A"), 0, 10),)))
    story.job("s2>A, s3:A!")
    story.submit("s2")
    for number in story.outstanding(FENCE):
        story.outcome(FENCE, c.Busy(("2.0",)), number)
    story.complete("s2")
    assert story.life("A1") == "readable"


# ---- a late report after a denial, or an adoption --------------------------------------------------------------------


def denied(capabilities: Capabilities) -> Story:
    story = Story(EAGER, capabilities, Settings(recoveries_per_shuffle=1))
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.lose(A=0)
    story.run("s0.1")
    story.submit("s1")
    story.lose(A=0)
    assert story.miss("A2", "s1") == "exhausted"
    story.fail("s1")
    story.run("s0.2")
    assert story.lives() == "A3 readable"
    return story


@pytest.mark.parametrize("capabilities", [REMOTE, Capabilities()])
def test_a_late_report_of_what_was_denied_leaves_the_next_generation_alone(capabilities: Capabilities) -> None:
    """26: t2's report arrives late: A3 is untouched."""
    story = denied(capabilities)
    story.miss("A", "s1")
    assert story.lives() == "A3 readable"
    assert story.log == []


@pytest.mark.parametrize("capabilities", [REMOTE, Capabilities()])
def test_a_late_report_leaves_alone_what_a_resync_has_found(capabilities: Capabilities) -> None:
    """A1 is lost, then facts are missed, in which s1 failed and A was written anew."""
    story = Story(EAGER, capabilities)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.lose(A=0)
    story.do(c.ReportGap(9, "bus"))
    job = c.ReportJobStarted(JobId(0), StageId(1), (shuffle("A"),), None, spans_of((0, 1)))
    story.do(c.Resync((job,), (), (), (Outputs(shuffle("A"), 10, 10),)))
    assert story.lives() == "A2 readable"
    story.miss("A", "s1")
    assert story.lives() == "A2 readable"
    assert story.log == []


# ---- a report that names a generation of another shuffle -------------------------------------------------------------


def test_a_report_names_a_generation_of_another_shuffle() -> None:
    """36: what was asked and what exists; never an empty success."""
    story = Story(capabilities=REMOTE)
    story.job("s0>A, s1>B, s2:A,B!")
    story.run("s0", "s1")
    story.submit("s2")
    story.miss("A1", "s2")  # A1 is id 1, recovered
    story.fail("s2")
    story.run("s0.1")
    story.submit("s2.1")
    story.do(c.ReportMissing(shuffle("B"), ShuffleId(1), attempt_of("s2.1")))
    assert story.answered(story.last) == "not found"
    assert story.log == []


def test_a_report_names_what_lies_between_two_generations() -> None:
    story = Story(capabilities=REMOTE)
    story.job("s0>A, s1>B, s2:A,B!")
    story.run("s0", "s1")
    story.submit("s2")
    story.miss("A1", "s2")
    story.fail("s2")
    story.run("s0.1")
    story.do(c.ReportMissing(shuffle("A"), ShuffleId(2), None))  # id 2 is B1
    assert story.answered(story.last) == "not found"


# ---- one attempt, two outputs ----------------------------------------------------------------------------------------


def test_one_attempt_that_asks_to_write_what_its_stage_does_not() -> None:
    """9: nobody is registered whose end will never be told."""
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.submit("s0")
    story.write("Z", "s0")
    story.complete("s0")
    story.run("s1")
    story.end()
    story.delete_all()
    assert story.lives() == ""


# ---- D6 .. : explanations, answers -----------------------------------------------------------------------------------


def test_why_what_was_pressed_is_taken_back() -> None:
    """11: explained from the log alone. The disk is as full as before; the policy has changed."""
    story = Story(PRESSURE)
    story.whole("s0>A, s1:A!")
    story.look("A")
    story.now_ms += 1000
    story.disk(900, 100)
    story.outcome(FENCE, c.Cannot("no"))
    lines = story.do(c.SetPolicy(REACHABLE))
    assert lines[0] == "policy reachable"
    assert "A1 rescued" in lines[1]
    assert "no disk is full any more" not in lines[1]


# ---- what would mix and is not named ---------------------------------------------------------------------------------


def test_what_was_half_written_is_fencing_when_its_input_is_missed_and_stays() -> None:
    """33, 13: B1 is half written from A1; B1 is being fenced when A1 is missed; its fence is refused; B is written
    again as a whole from A2: another generation, as when it was partial at the time of the recovery."""
    story = Story(EAGER)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.job("-s0>A, s5:A!", job=3)
    story.run("s5")
    story.submit("s1")
    story.end(0, False)
    story.end(3)
    assert story.lives() == "A1 fencing, B1 fencing"
    story.outcome(FENCE, c.Fenced(5), 1)
    story.freed()
    story.job("s10>A, s11:A>B, s12:B!")
    story.submit("s10")
    story.outcome(FENCE, c.Busy(("1.0",)))
    assert story.life("B1") == "partial"
    story.complete("s10")
    lines = story.submit("s11", tasks=10)
    assert "B1 lost: invalidated" in lines
    assert any(line.startswith("B2 begun by s11.0") for line in lines)


def test_what_was_half_written_and_not_fencing_is_written_anew() -> None:
    story = Story(delayed(EAGER, 1_000))
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.job("-s0>A, s5:A!", job=3)
    story.run("s5")
    story.submit("s1")
    story.end(0, False)
    story.tick(1)
    story.end(3)
    story.tick(1_000)
    assert story.life("A1") == "fencing"
    for n in story.outstanding(FENCE):
        story.outcome(FENCE, c.Fenced(5) if story.state.directives[n].shuffle_id == 1 else c.Busy(("1.0",)), n)
    story.freed()
    story.job("s10>A, s11:A>B, s12:B!")
    story.submit("s10")
    story.complete("s10")
    lines = story.submit("s11", tasks=10)
    assert "B1 lost: invalidated" in lines


def test_a_late_report_leaves_alone_what_a_writer_is_making_good() -> None:
    """Spark runs the missing maps again, so in the end it has all of A: to invalidate it would take what it wrote."""
    story = Story(REACHABLE, REMOTE)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    story.job("s0>A, s3:A!")
    story.submit("s3")
    story.fail("s1")
    assert story.submit("s0.1", tasks=3)[1:] == [
        "A1 lost: outputs gone",
        "recovery 1 of A1, would mix B1",
        "A2 begun by s0.1 for recovery 1",
    ]
    assert story.miss("A1", "s3") == "recover A1: recovery 1 of A"
    assert story.teller.tell(story.log) == ["recovery 1 joined for A1 by s3.0"]
    story.fail("s3")
    assert story.complete("s0.1") == ["s0.1 completed", "A2 complete"]
    assert story.submit("s1.1") == [
        "s1.1 submitted",
        "A2 read by s1.1",
        "B1 lost: invalidated",
        "invalidate B1",
        "recovery 1 joined for B1 by s1.1",
        "B2 begun by s1.1 for recovery 1",
    ]


# ---- a report by nobody ----------------------------------------------------------------------------------------------


def missed_by_nobody(policy: Policy = REACHABLE) -> Story:
    """Somebody without a stage has missed A1, of which Spark misses nothing."""
    story = Story(policy)
    story.job("s0>A, s1:A!")
    story.run("s0")
    assert story.miss("A1", None) == "not ready: some of its outputs are gone; its map stage will run again"
    assert story.lives() == "A1 partial"
    return story


def test_what_nobody_has_missed_is_whole_again_when_spark_submits_who_reads_it() -> None:
    story = missed_by_nobody()
    assert story.submit("s1") == ["s1.0 submitted", "A1 complete", "A1 read by s1.0"]
    assert story.read("A", "s1") == "ready A1"


def test_what_lies_behind_a_cache_may_be_missing_for_all_that_its_reader_tells() -> None:
    story = missed_by_nobody()
    assert story.submit("s1", cached=True, behind="A") == ["s1.0 submitted", "A1 read by s1.0"]
    assert story.lives() == "A1 partial"


def test_a_stage_that_a_resync_finds_running_may_have_begun_before_the_loss() -> None:
    story = Story(REACHABLE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    running = c.ReportStageSubmitted(attempt_of("s1"), (shuffle("A"),))
    job = c.ReportJobStarted(JobId(0), StageId(1), (shuffle("A"),), None, spans_of((0, 1)))
    story.do(c.Resync((job,), (running,), (), (Outputs(shuffle("A"), 4, 10),)))
    assert story.lives() == "A1 partial"
    story.do(c.ReportStageSubmitted(attempt_of("s1.1"), (shuffle("A"),)))  # of the same gap: it is not over yet
    assert story.lives() == "A1 partial"


def test_what_its_map_stage_writes_again_is_whole_when_that_says_so() -> None:
    story = missed_by_nobody()
    story.submit("s0.1", tasks=6)
    assert story.submit("s1") == ["s1.0 submitted", "A1 read by s1.0"]
    assert story.lives() == "A1 partial"
