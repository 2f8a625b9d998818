"""More stories: what is so while a generation is written again, and who writes it."""

from __future__ import annotations

import pytest

from coordinator.core import commands as c
from coordinator.core import writers
from coordinator.core.values import Capabilities, Level
from tests.scenarios.further import FENCE, INVALIDATE, REMOTE, found, job_of
from tests.scenarios.story import EAGER, OBSERVE, REACHABLE, Story, attempt_of, delayed, shuffle


@pytest.mark.parametrize("is_told", [True, False], ids=["the loss is told", "only its repair is submitted"])
def test_a_service_that_cannot_complete_a_generation_has_it_written_anew(is_told: bool) -> None:
    story = Story(EAGER, REMOTE)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    lost = ["A1 lost: outputs gone"]
    if is_told:
        assert story.lose(A=6) == lost
    begun = ["recovery 1 of A1, would mix B1", "A2 begun by s0.1 for recovery 1"]
    assert story.submit("s0.1", tasks=4) == ["s0.1 submitted", *([] if is_told else lost), *begun]


def test_a_report_takes_nothing_from_under_who_writes_it_anew() -> None:
    story = Story(EAGER, REMOTE)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s0.1", tasks=4)
    assert story.miss("A1", None) == "recover A1: recovery 1 of A"
    assert story.complete("s0.1") == ["s0.1 completed", "A2 complete", "recovery 1 closed"]
    assert not story.outstanding(INVALIDATE)
    story.submit("s1")
    assert story.read("A", "s1") == "ready A2"


def test_a_report_of_what_an_unfinished_one_lacks_takes_it_from_nobody_who_completes_it() -> None:
    """Given up half-written, it has never been whole."""
    story = Story(delayed(EAGER, 1_000), REMOTE)
    story.job("s0>A, s1:A!")
    story.submit("s0")
    story.fail("s0")
    story.end(succeeded=False)
    story.job("s2>A, s3:A!")
    assert story.lives() == "A1 partial"
    assert story.submit("s2", tasks=4) == ["s2.0 submitted", "A1 continued by s2.0"]
    assert story.miss("A1", None) == "not ready: some of its outputs are gone; its map stage will run again"
    assert story.log == []
    assert story.complete("s2") == ["s2.0 completed", "A1 complete"]


def test_what_a_resync_finds_half_written_is_begun_by_who_writes_the_rest_where_nothing_can_be_completed() -> None:
    story = Story(EAGER, REMOTE)
    story.job("s0>A, s1:A!")
    story.do(c.Resync((job_of(0, 1, "A", (0, 1)),), (), (), found(A=6)))
    assert story.submit("s0", tasks=4) == ["s0.0 submitted", "A1 begun by s0.0"]
    assert story.miss("A1", None) == "not ready: being written; nobody can have missed it"
    assert story.complete("s0") == ["s0.0 completed", "A1 complete"]


def test_who_joined_a_fence_that_is_refused_writes_anew_what_cannot_be_completed() -> None:
    story = Story(EAGER, REMOTE)
    story.whole("s0>A, s1:A!")
    story.job("s2>A, s3:A!")
    assert story.submit("s2", tasks=4) == ["s2.0 submitted", "A1 continued by s2.0"]
    assert story.outcome(FENCE, c.Busy(("2.0",))) == [
        "A1 fence refused: busy, kept",
        "A1 lost: outputs gone",
        "recovery 1 of A1",
        "A2 begun by s2.0 for recovery 1",
    ]


def test_who_joined_the_fence_of_what_was_never_whole_goes_on_with_it_when_it_is_refused() -> None:
    story = Story(EAGER, REMOTE)
    story.job("s0>A, s1:A!")
    story.submit("s0")
    story.fail("s0")
    assert story.end(succeeded=False)[1:] == ["A1 expired: given up half-written", "fence A1"]
    story.job("s2>A, s3:A!")
    assert story.submit("s2") == ["s2.0 submitted", "A1 continued by s2.0"]
    assert story.outcome(FENCE, c.Busy(("2.0",))) == [
        "A1 fence refused: busy, again at 1050",
        "A1 rescued: a writer asked (asked while it was being fenced)",
    ]
    assert story.complete("s2") == ["s2.0 completed", "A1 complete"]


@pytest.mark.parametrize("is_early", [True, False], ids=["it had asked before", "it had not"])
def test_nobody_is_told_to_read_what_its_map_stage_rewrites(is_early: bool) -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    if is_early:
        assert story.write("A", "s2").startswith("not ready: being fenced")
    story.do(c.Resync((), (), (), found(A=10)))
    story.outcome(FENCE, c.Busy(("2.0",)))
    story.job("s2>A, s3:A!")
    assert story.submit("s2", tasks=4) == ["s2.0 submitted", "A1 partial, 6 of 10", "A1 continued by s2.0"]
    assert story.read("A", "s3") == "not ready: some of its outputs are gone and not yet back"


@pytest.mark.parametrize("is_told_first", [True, False], ids=["its own job is told first", "the other one's"])
def test_who_gives_up_a_claim_leaves_the_policy_of_those_who_write(is_told_first: bool) -> None:
    story = Story(REACHABLE)
    assert story.write("A", "s3") == "ready A1"
    for number in (0, 1) if is_told_first else (1, 0):
        text, policy = ("s0>A, s1:A!", OBSERVE) if number == 0 else ("s2>B, s3:B>C, s4:C!", EAGER)
        story.job(text, job=number, policy=policy)
    story.submit("s0")
    story.run("s2")
    assert story.submit("s3")[0] == "s3.0 submitted, gives up A1"
    assert (story.state.generations[1].job, story.state.generations[1].policy) == (0, OBSERVE)
    story.complete("s0")
    assert story.run("s1") == ["s1.0 submitted", "A1 read by s1.0", "s1.0 completed"]


def test_who_gives_up_a_claim_on_what_was_found_leaves_nothing_of_its_own() -> None:
    story = Story(REACHABLE)
    story.do(c.SetPolicy(OBSERVE))
    story.do(c.ReportGap(1, "listener queue"))
    story.do(c.Resync((), (), (), found(A=10)))
    assert story.write("A", "s3") == "ready A1"
    story.job("s2>B, s3:B>C, s4:C!", job=1, policy=EAGER)
    assert story.state.generations[1].policy == EAGER
    story.run("s2")
    assert story.submit("s3")[0] == "s3.0 submitted, gives up A1"
    assert (story.state.generations[1].job, story.state.generations[1].policy) == (None, None)


def test_who_gives_up_a_claim_on_what_another_job_writes_changes_nothing() -> None:
    story = Story(REACHABLE)
    story.job("s0>A, s1:A!", policy=OBSERVE)
    story.submit("s0")
    story.job("s2>B, s3:B>C, s4:C!", policy=EAGER)
    assert story.write("A", "s3") == "ready A1"
    story.run("s2")
    assert story.submit("s3")[0] == "s3.0 submitted, gives up A1"
    assert (story.state.generations[1].job, story.state.generations[1].policy) == (0, OBSERVE)


def test_of_those_who_repaired_an_output_again_and_again_the_oldest_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writers, "WRITERS", 3)
    story = Story(REACHABLE)
    story.whole("s0>A, s1:A!")
    for stage in range(2, 14, 2):
        story.lose(A=4)
        story.job(f"s{stage}>A, s{stage + 1}:A!")
        story.submit(f"s{stage}", tasks=6)
        story.complete(f"s{stage}")
        story.run(f"s{stage + 1}")
        story.end(stage // 2)
    assert story.state.generations[1].written_by == {attempt_of("s8"), attempt_of("s10"), attempt_of("s12")}


def test_who_may_still_ask_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its job lives: its late tasks ask for what their attempt has begun."""
    monkeypatch.setattr(writers, "WRITERS", 1)
    story = Story(REACHABLE)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    for stage in (3, 5):
        story.lose(A=4)
        story.job(f"s{stage}>A, s{stage + 1}:A!")
        story.submit(f"s{stage}", tasks=6)
        story.complete(f"s{stage}")
        story.run(f"s{stage + 1}")
        story.end(stage // 2)
    assert story.state.generations[1].written_by == {attempt_of("s0"), attempt_of("s5")}
    assert story.write("A", "s0") == "ready A1"


def test_nor_is_who_asked_for_a_job_that_is_not_told_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "WRITERS", 1)
    story = Story(REACHABLE)
    story.whole("s0>A, s1:A!")
    story.lose(A=4)
    assert story.write("A", "s6") == "ready A1"
    story.job("s3>A, s4:A!")
    story.submit("s3", tasks=6)
    assert story.state.generations[1].written_by == {attempt_of("s3"), attempt_of("s6")}


def test_24_a_task_that_outlived_its_failed_attempt_begins_nothing() -> None:
    """It asks when what its attempt had joined is fenced, and before the next attempt is told."""
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.job("s2>A, s3:A!")
    assert story.submit("s2", tasks=4) == ["s2.0 submitted", "A1 continued by s2.0"]
    story.fail("s2")
    assert story.fenced() == ["A1 fenced", "delete A1"]
    assert story.write("A", "s2") == "not ready: stage 2.0 has failed: its next attempt writes"
    assert story.log == []
    assert story.submit("s2.1") == [
        "s2.1 submitted",
        "A1 missed by s2.1",
        "recovery 1 of A1",
        "A2 begun by s2.1 for recovery 1",
    ]
    assert story.write("A", "s2") == "not ready: stage 2.0 is over: no live job lists it, or a later attempt writes"
    assert story.write("A", "s2.1") == "ready A2"


def test_an_attempt_that_failed_and_ends_well_when_what_it_wrote_is_fenced_completes_nothing() -> None:
    """Two ends of one attempt. Between them s9, of a job nobody has told, has missed A1: its recovery answers on."""
    story = Story(EAGER)
    story.job("s0>A, s1:A.", job=1)
    story.end(1, succeeded=False)
    story.do(job_of(2, 3, "", (2,)))
    story.job("s2>A, s4:A.", job=4)
    story.end(4, succeeded=False)
    story.submit("s2")
    assert story.fail("s2") == ["s2.0 failed", "A1 expired: given up half-written", "fence A1"]
    story.fenced()
    story.do(c.ReportStageSubmitted(attempt_of("s9"), (shuffle("A"),), None, 10))
    assert story.miss("A1", "s9") == "recover A1: recovery 1 of A"
    assert story.complete("s2") == ["s2.0 completed"]
    assert story.life("A1") == "fenced"
    assert story.miss("A1", "s9") == "recover A1: recovery 1 of A"
    assert story.recoveries == 1


@pytest.mark.parametrize("level", [Level.DETERMINATE, Level.INDETERMINATE])
@pytest.mark.parametrize("service", [REMOTE, Capabilities()], ids=["remote", "native"])
def test_a_late_task_begins_nothing_where_only_a_job_that_is_over_saw_its_stage_end_well(
    level: Level, service: Capabilities
) -> None:
    """s1.1 ended well in job 0, which is over. Job 1 shares the stage and reads B; a task of s1.0 still asks."""
    story = Story(REACHABLE, service, levels={"B": level})
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    story.lose(A=0)
    story.fail("s1")
    story.run("s0.1", "s1.1", "s2")
    story.job("s0>A, s1:A>B, s3:B!")
    story.end(0)
    story.submit("s3")
    lives, asked_before = story.lives(), len(story.witness.log)
    assert story.write("B", "s1") == "not ready: stage 1.0 is over: no live job lists it, or a later attempt writes"
    assert story.read("A", "s1") == "ready A2"
    assert len(story.witness.log) == asked_before
    assert story.lives() == lives
    assert story.read("B", "s3") in ("ready B1", "ready B2")


def test_nor_where_the_second_job_began_in_a_gap_in_which_the_first_one_ended() -> None:
    story = Story(REACHABLE, levels={"B": Level.INDETERMINATE})
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    story.lose(A=0)
    story.fail("s1")
    story.run("s0.1", "s1.1")
    story.do(c.ReportGap(2, "listener"))
    story.do(c.Resync((job_of(1, 3, "B", (0, 1, 3)),), (), (), found(A=10, B=10)))
    lives = story.lives()
    assert story.write("B", "s1") == "not ready: stage 1.0 is over: no live job lists it, or a later attempt writes"
    assert story.log == []
    assert story.lives() == lives
