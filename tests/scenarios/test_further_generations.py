"""More stories of a generation's life: losses under a fence, late and doubled ends, outcomes that come twice or never.

Responsible for facts about one generation in an order that nobody wished for. Refuses to know policies (`EAGER` lets go
whatever was read by a stage that wrote). Invariant: what is told twice, or too late, changes nothing.
"""

from __future__ import annotations

import pytest

from coordinator.core import commands as c
from coordinator.core.ids import DirectiveId
from coordinator.core.values import Capabilities, DirectiveKind, Locator, Settings
from tests.scenarios.further import DELETE, FENCE, READ, REMOTE, found
from tests.scenarios.story import BYTES, EAGER, Story


def test_what_is_lost_bit_by_bit_while_its_fence_cannot_be_done_is_lost_and_no_premature_deletion() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    assert story.lose(A=7) == ["A1 partial, 7 of 10"]
    assert story.life("A1") == "fencing"
    assert story.lose(A=0) == []
    assert story.outcome(FENCE, c.Cannot("no server left")) == ["A1 fence refused: cannot, again at 31000"]
    assert story.life("A1") == "expired"
    assert story.lose(A=0) == ["A1 lost: outputs gone"]
    story.job("s2>A, s3:A!")
    assert story.submit("s2") == ["s2.0 submitted", "recovery 1 of A1", "A2 begun by s2.0 for recovery 1"]
    assert story.state.meta.premature == 0


def test_late_tasks_of_a_barrier_stage_ask_while_its_next_attempt_writes() -> None:
    story = Story(EAGER, barrier="A")
    story.job("s0>A, s1:A!")
    story.submit("s0")
    story.fail("s0")
    assert story.submit("s0.1") == ["s0.1 submitted", "A1 lost: invalidated", "invalidate A1", "A2 begun by s0.1"]
    assert story.write("A", "s0") == "not ready: stage 0.0 is over: no live job lists it, or a later attempt writes"
    assert story.log == []
    assert story.complete("s0") == ["s0.0 completed"]
    assert story.life("A2") == "writing"
    assert story.complete("s0.1") == ["s0.1 completed", "A2 complete"]
    assert story.complete("s0.1") == ["s0.1 completed"]


def test_a_stage_that_ends_without_ever_having_been_submitted_completes_nothing() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    assert story.complete("s0") == ["s0.0 completed"]
    assert story.read("A", "s1") == "not ready: announced and not yet written"
    assert story.submit("s0") == ["s0.0 submitted", "A1 begun by s0.0"]


def test_outcomes_come_twice_or_for_nothing_that_was_asked() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    fence = story.outstanding(FENCE)[0]
    fenced = c.ReportOutcome(fence, c.Fenced(BYTES, Locator("native", b"1")))
    assert story.do(fenced) == ["A1 fenced", "delete A1"]
    assert story.do(fenced) == []
    delete = story.outstanding(DELETE)[0]
    freed = c.ReportOutcome(delete, c.Freed(BYTES))
    assert story.do(c.ReportOutcome(DirectiveId(delete + 1), c.Freed(BYTES))) == []
    assert story.do(freed) == ["A1 deleted: policy, 100 bytes"]
    assert story.do(freed) == []
    assert story.state.meta.bytes_freed == BYTES


def test_a_deletion_that_nobody_answers_stands_through_a_resync_and_the_next_generation() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.fenced()
    story.do(c.ReportGap(1, "outbox"))
    story.do(c.Resync(outputs=found(A=0)))
    assert story.lives() == "A1 fenced"
    story.whole("s2>A, s3:A.")
    assert story.lives() == "A1 fenced, A2 readable"
    directive = story.state.directives[story.outstanding(DELETE)[0]]
    assert story.teller.name_of(directive.shuffle_id) == "A1"
    assert story.outcome(DELETE, c.Superseded("A2")) == ["A1 deleted: policy, 0 bytes (superseded)"]
    assert story.lives() == "A2 readable"


def test_one_recovery_is_joined_by_all_who_miss_what_it_answers_for() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A>B, s2:A,B!")
    story.delete_all()
    for job in range(1, 4):
        story.job(f"s{job}0>A, s{job}1:A>B, s{job}2:A,B!", job=job)
    assert story.submit("s10")[1:3] == ["A1 missed by s10.0", "recovery 1 of A1 B1"]
    assert story.submit("s20") == ["s20.0 submitted", "A2 continued by s20.0"]
    for task in ("s11", "s21", "s31"):
        assert story.miss("A1", task) == "recover A1: recovery 1 of AB"
        assert story.log[-1].event.__class__.__name__ == "RecoveryJoined"
    assert story.recoveries == 1


def test_a_recovery_of_what_lies_further_up_names_only_what_no_other_one_answers_for() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A>B, s2:A,B!")
    story.delete_all()
    story.job("s3>A, s4:A.", job=1)
    assert story.submit("s3")[1:] == ["A1 missed by s3.0", "recovery 1 of A1", "A2 begun by s3.0 for recovery 1"]
    story.job("s5>A, s6:A>B, s7:B.", job=2)
    assert story.miss("B1", "s7") == "recover B1: recovery 2 of B"
    assert story.complete("s3") == ["s3.0 completed", "A2 complete", "recovery 1 closed"]
    assert story.run("s6")[-1] == "recovery 2 closed"


@pytest.mark.parametrize("capabilities", [Capabilities(), REMOTE])
def test_a_writer_goes_on_under_losses_that_are_told_of_what_it_writes(capabilities: Capabilities) -> None:
    story = Story(EAGER, capabilities)
    story.job("s0>A, s1:A!")
    story.submit("s0")
    assert story.lose(A=3) == []
    assert story.lose(A=0) == []
    assert story.complete("s0") == ["s0.0 completed", "A1 complete"]
    assert story.run("s1")[-2:] == [f"A1 {READ}", "fence A1"]


def test_partial_and_whole_again_five_times_under_one_reader_after_the_other() -> None:
    story = Story(EAGER, settings=Settings(recoveries_per_shuffle=1))
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    for attempt in range(5):
        reader = f"s1.{attempt}" if attempt else "s1"
        story.submit(reader)
        assert story.miss("A1", reader) == "not ready: some of its outputs are gone; its map stage will run again"
        story.fail(reader)
        assert story.submit(f"s0.{attempt + 1}", tasks=1)[-1] == f"A1 continued by s0.{attempt + 1}"
        assert story.complete(f"s0.{attempt + 1}")[-1] == "A1 complete"
    assert story.recoveries == 0
    assert story.run("s1.5")[-2:] == [f"A1 {READ}", "fence A1"]


def test_a_loss_of_a_generation_that_is_gone_already_is_none() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.fenced()
    assert story.lose(A=0) == []
    story.freed()
    assert story.lose(A=0) == []
    assert story.outstanding(DirectiveKind.INVALIDATE) == []
