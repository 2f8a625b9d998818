"""Scenarios 25, 27, 30, 31, 33a and 39: one recovery, what it names, awaits and rescues, and how many there may be.

Responsible for recoveries from the first report to the last. Refuses to know how generations are lost. Invariant: what
one recovery has named, no other one names again.
"""

from __future__ import annotations

import pytest

from coordinator.core import commands as c
from coordinator.core.events import DeletionResumed, PrematureDeletion, Recorded, StageCompleted
from coordinator.core.evolve import evolve
from coordinator.core.rejections import Rejection
from coordinator.core.state import DENIED
from coordinator.core.values import Capabilities, DirectiveKind, Settings
from tests.scenarios.story import EAGER, REACHABLE, Story, attempt_of, shuffle

FENCE = DirectiveKind.FENCE
CANNOT_COMPLETE = Capabilities(completes_after_loss=False)


def chain(**extra: object) -> Story:
    """A1 and B1 are deleted, C1 is there and s3 reads it."""
    story = Story(EAGER, **extra)  # type: ignore[arg-type]
    story.job("s0>A, s1:A>B, s2:B>C, s3:C!")
    story.run("s0", "s1", "s2")
    story.delete_all()
    story.submit("s3")
    assert story.lives() == "C1 readable"
    return story


def test_25_one_recovery_names_all_that_is_gone_and_what_would_mix() -> None:
    story = chain()
    assert story.lose(C=7) == ["C1 partial, 7 of 10"]
    assert story.fail("s3") == ["s3.0 failed"]
    assert story.submit("s0.1") == [
        "s0.1 submitted",
        "A1 missed by s0.1",
        "recovery 1 of A1 B1, would mix C1",
        "A2 begun by s0.1 for recovery 1",
    ]
    assert story.complete("s0.1") == ["s0.1 completed", "A2 complete"]
    assert story.submit("s1.1") == [
        "s1.1 submitted",
        "A2 read by s1.1",
        "B1 missed by s1.1",
        "B2 begun by s1.1 for recovery 1",
    ]
    assert story.complete("s1.1") == ["s1.1 completed, recovered A", "B2 complete"]
    assert story.submit("s2.1") == [
        "s2.1 submitted",
        "B2 read by s2.1",
        "C1 lost: invalidated",
        "invalidate C1",
        "recovery 1 joined for C1 by s2.1",
        "C2 begun by s2.1 for recovery 1",
    ]
    assert story.complete("s2.1") == [
        "s2.1 completed, recovered B",
        "C2 complete",
        "recovery 1 closed",
        "A2 expired: read by a stage that wrote, held: missed before",
        "B2 expired: read by a stage that wrote, held: missed before",
    ]
    assert story.run("s3.1") == [
        "s3.1 submitted",
        "C2 read by s3.1",
        "s3.1 completed",
        "C2 expired: read by a stage that wrote",
        "fence C2",
    ]
    assert story.recoveries == 1


def test_25_declared_deterministic_is_repaired_in_part() -> None:
    story = chain(settings=Settings(declared_deterministic=True))
    story.lose(C=7)
    story.fail("s3")
    assert story.submit("s0.1") == [
        "s0.1 submitted",
        "A1 missed by s0.1",
        "recovery 1 of A1 B1",
        "A2 begun by s0.1 for recovery 1",
    ]
    story.complete("s0.1")
    story.run("s1.1")
    assert story.submit("s2.1", tasks=3) == ["s2.1 submitted", "B2 read by s2.1", "C1 continued by s2.1"]
    assert story.complete("s2.1")[1] == "C1 complete"


def test_25_what_would_mix_is_not_gone_for_one_who_asks_late() -> None:
    story = chain()
    story.lose(C=7)
    story.fail("s3")
    assert story.submit("s0.1")[2] == "recovery 1 of A1 B1, would mix C1"
    assert story.miss("C1", "s2") == "not ready: some of its outputs are gone and not yet back"
    assert story.log == []


def test_25_a_task_that_asks_to_write_what_would_mix_writes_it_anew() -> None:
    story = chain()
    story.lose(C=7)
    story.fail("s3")
    story.run("s0.1", "s1.1")
    assert story.do(c.GetShuffleId(shuffle("C"), attempt_of("s2.1"), write=True)) == [
        "C1 lost: invalidated",
        "invalidate C1",
        "recovery 1 joined for C1 by s2.1",
        "C2 begun by s2.1 for recovery 1",
    ]
    assert story.answered(story.last) == "ready C2"


def test_25_what_would_mix_is_found_where_something_behind_it_was_cleaned() -> None:
    story = chain()
    story.do(c.ReportShuffleCleaned(shuffle("A")))
    story.lose(C=7)
    story.fail("s3")
    assert story.read("B", "s2.1") == "recover B1: recovery 1 of B"
    assert story.teller.tell(story.log) == ["B1 missed by s2.1", "recovery 1 of B1, would mix C1"]


def waiting_for_two_fences() -> Story:
    """A1 was made of D1 and E1; A1 and E1 are being fenced, D1 is merely expired."""
    story = Story()
    story.whole("s0>D, s1>E, s2:D,E>A, s3:A!")
    story.do(c.SetPin(shuffle("D"), "mine"))
    story.look("")
    assert story.lives() == "D1 expired, E1 fencing, A1 fencing"
    return story


def test_30_the_merely_expired_is_rescued_and_the_fencing_awaited() -> None:
    story = waiting_for_two_fences()
    assert story.job("s6>D, s7>E, s8:D,E>A, s9:A!") == ["job 1", "D1 rescued: a live job reaches it (job 1)"]
    assert story.outcome(FENCE, c.Fenced(5), directive_of(story, "A1")) == ["A1 fenced", "delete A1"]
    assert story.read("A", "s9") == "recover A1: recovery 1 of A"
    assert story.teller.tell(story.log) == ["A1 missed by s9.0", "recovery 1 of A1, awaits E1"]
    assert story.outcome(FENCE, c.Fenced(5), directive_of(story, "E1")) == [
        "E1 fenced",
        "recovery 1 also of E1",
        "delete E1",
    ]
    assert story.run("s7") == [
        "s7.0 submitted",
        "E1 missed by s7.0",
        "E2 begun by s7.0 for recovery 1",
        "s7.0 completed",
        "E2 complete",
    ]
    assert story.run("s8") == [
        "s8.0 submitted",
        "D1 read by s8.0",
        "E2 read by s8.0",
        "A2 begun by s8.0 for recovery 1",
        "s8.0 completed, recovered E",
        "A2 complete",
        "recovery 1 closed",
        "D1 expired: in no live cut, held: pin",
    ]


def test_30_also_for_a_task_whose_job_was_not_told_yet() -> None:
    story = waiting_for_two_fences()
    story.do(c.RemovePin(shuffle("D"))) and story.outcome(FENCE, c.Busy(), directive_of(story, "D1"))
    story.outcome(FENCE, c.Fenced(5), directive_of(story, "A1"))
    assert story.read("A", "s9") == "recover A1: recovery 1 of A"
    assert story.teller.tell(story.log) == [
        "A1 missed by s9.0",
        "recovery 1 of A1, rescues D1, awaits E1",
        "D1 rescued: a recovery needs it (recovery 1)",
    ]
    assert story.tick(60_000) == []
    assert story.job("s6>D, s7>E, s8:D,E>A, s9:A!") == ["job 1"]
    assert story.end(1, succeeded=False) == ["job 1 failed"]


def directive_of(story: Story, generation: str) -> int:
    shuffle_id = story.teller.id_of(generation)
    return next(int(n) for n, directive in story.state.directives.items() if directive.shuffle_id == shuffle_id)


def test_30_an_awaited_fence_that_is_refused_is_awaited_no_more() -> None:
    story = Story()
    story.whole("s0>E, s1:E>A, s2:A!")
    story.look("")
    story.outcome(FENCE, c.Fenced(5), directive_of(story, "A1"))
    story.job("s3>E, s4:E>A, s5:A!")
    assert story.read("A", "s5") == "recover A1: recovery 1 of A"
    assert story.outcome(FENCE, c.Busy(("x",)), directive_of(story, "E1")) == [
        "E1 fence refused: busy, again at 1050",
        "E1 rescued: a live job reaches it (job 1)",
    ]
    assert story.state.recoveries[1].awaited == ()


def test_30_of_two_recoveries_that_await_one_fence_the_first_names_it_and_both_end() -> None:
    story = Story()
    story.whole("s0>E, s1:E>A, s2:E>B, s3:A,B!")
    story.look("")
    for name in ("A1", "B1"):
        story.outcome(FENCE, c.Fenced(5), directive_of(story, name))
    story.job("s4>E, s5:E>A, s6:A!")
    story.job("s7>E, s8:E>B, s9:B!")
    assert story.read("A", "s6") == "recover A1: recovery 1 of A"
    assert story.teller.tell(story.log)[1:] == ["recovery 1 of A1, awaits E1"]
    assert story.read("B", "s9") == "recover B1: recovery 2 of B"
    assert story.teller.tell(story.log)[1:] == ["recovery 2 of B1, awaits E1"]
    assert story.outcome(FENCE, c.Fenced(5), directive_of(story, "E1")) == [
        "E1 fenced",
        "recovery 1 also of E1",
        "delete E1",
    ]
    assert story.state.recoveries[1].awaited == ()
    assert story.run("s4", "s5")[-1] == "recovery 1 closed"
    assert story.run("s8")[-1] == "recovery 2 closed"


def test_30_what_is_awaited_and_turns_out_not_to_be_there_is_named_too() -> None:
    story = waiting_for_two_fences()
    story.job("s6>D, s7>E, s8:D,E>A, s9:A!")
    story.outcome(FENCE, c.Fenced(5), directive_of(story, "A1"))
    assert story.read("A", "s9") == "recover A1: recovery 1 of A"
    assert story.outcome(FENCE, c.Superseded("nothing"), directive_of(story, "E1")) == [
        "E1 lost: outputs gone",
        "recovery 1 also of E1",
    ]
    assert story.state.recoveries[1].awaited == ()
    assert story.submit("s7") == ["s7.0 submitted", "E2 begun by s7.0 for recovery 1"]


def test_30_what_is_rescued_in_part_and_would_mix_is_named() -> None:
    """Nobody has told the job yet whose task asks, so nothing has taken D1 back before."""
    story = Story()
    story.whole("s0>Z, s1:Z>D, s2:D>A, s3:A!")
    story.do(c.SetPin(shuffle("D"), "mine"))
    story.look("")
    story.delete_all()
    assert story.lose(D=7) == ["D1 partial, 7 of 10"]
    assert story.read("A", "s7") == "recover A1: recovery 1 of AZ"
    assert story.teller.tell(story.log) == [
        "A1 missed by s7.0",
        "recovery 1 of A1 Z1, rescues D1, would mix D1",
        "D1 rescued: a recovery needs it (recovery 1)",
    ]
    story.job("s4>Z, s5:Z>D, s6:D>A, s7:A!")
    story.run("s4")
    assert story.submit("s5") == [
        "s5.0 submitted",
        "Z2 read by s5.0",
        "D1 lost: invalidated",
        "invalidate D1",
        "recovery 1 joined for D1 by s5.0",
        "D2 begun by s5.0 for recovery 1",
    ]


def test_30_a_fence_that_no_recovery_awaits_is_none_of_its_business() -> None:
    story = Story(EAGER)
    story.whole("s0>C, s1:C!")
    story.job("s2>A, s3:A!")
    story.run("s2")
    story.lose(A=0)
    assert story.read("A", "s3") == "recover A1: recovery 1 of A"
    assert story.fenced() == ["C1 fenced", "delete C1"]


def test_31_the_lineage_is_unknown() -> None:
    story = Story()
    story.write("A", "s0")
    story.do(c.ReportStageCompleted(attempt_of("s0"), shuffle_bytes_written=1))
    assert story.lives() == "A1 readable"
    assert story.lose(A=0) == ["A1 lost: outputs gone"]
    assert story.read("A", "s1") == "recover A1: recovery 1 of A"
    assert story.teller.tell(story.log) == ["recovery 1 of A1, lineage unknown"]


def test_27_what_one_recovery_has_named_another_one_only_joins() -> None:
    """s3 has half written B when it misses D: recovery 1 had said already that B is to be written whole."""
    story = Story(EAGER, CANNOT_COMPLETE)
    story.job("s0>A, s1>D, s2:A>C, s3:A,D>B, s4:B,C!")
    story.run("s0", "s1")
    story.submit("s2")
    story.submit("s3")
    story.miss("A1", "s2")
    assert "recovery 1 of A1 C1, would mix B1" in story.teller.tell(story.log)
    story.miss("D1", "s3")
    assert story.teller.tell(story.log)[:4] == [
        "D1 lost: reported",
        "invalidate D1",
        "recovery 2 of D1, would mix B1",
        "recovery 1 joined for B1 by s3.0",
    ]


def test_33a_after_a_recovery_the_loop_goes_on_deleting() -> None:
    story = chain()
    story.lose(C=7)
    story.fail("s3")
    story.run("s0.1", "s1.1", "s2.1", "s3.1")
    story.end()
    story.delete_all()
    assert story.whole("s4>D, s5:D>E, s6:E!") == [
        "job 1",
        "s4.0 submitted",
        "D1 begun by s4.0",
        "s4.0 completed",
        "D1 complete",
        "s5.0 submitted",
        "D1 read by s5.0",
        "E1 begun by s5.0",
        "s5.0 completed",
        "E1 complete",
        "D1 expired: read by a stage that wrote",
        "fence D1",
        "s6.0 submitted",
        "E1 read by s6.0",
        "s6.0 completed",
        "E1 expired: read by a stage that wrote",
        "fence E1",
        "job 1 ended",
    ]


def test_18_what_lies_behind_a_loss_uses_up_nothing_of_the_budget() -> None:
    """One lost executor brings back the whole chain: missed, and let go rightly. What is missed unlost still counts."""
    story = Story(EAGER, settings=Settings(premature_budget=0))
    story.job("s0>A, s1:A>B, s2:B>C, s3:C>D, s4:D!")
    story.run("s0", "s1", "s2", "s3")
    story.delete_all()
    story.submit("s4")
    story.lose(D=7)
    story.fail("s4")
    story.run("s0.1")
    assert "B1 missed by s1.1" in story.submit("s1.1")
    assert [recorded.event.after_loss for recorded in story.log if isinstance(recorded.event, PrematureDeletion)] == [
        True
    ]
    story.complete("s1.1")
    story.run("s2.1", "s3.1", "s4.1")
    story.end()
    assert (story.state.meta.premature, story.state.meta.suspended) == (0, None)
    story.whole("s5>E, s6:E!")
    story.delete_all()
    story.job("s7>E, s8:E!")
    assert story.submit("s7")[1:3] == ["E1 missed by s7.0", "suspended: premature deletions passed the budget"]


def test_18_what_is_wanted_beside_what_was_lost_is_missed_all_the_same() -> None:
    """C was made of A and is lost; the job reads A itself too, so it would have missed it in any case."""
    story = Story(EAGER, settings=Settings(premature_budget=0))
    story.whole("s0>A, s1:A>B, s2:B>C, s3:C.")
    story.delete_all()
    story.lose(C=0)
    story.job("s4>A, s5:A>B, s6:B>C, s7:A,C!")
    assert story.submit("s4")[1:3] == ["A1 missed by s4.0", "suspended: premature deletions passed the budget"]


@pytest.mark.parametrize("lives", ["A1 fenced, B1 fencing", "A1 fenced, B1 fenced"])
def test_18_nor_is_what_lies_behind_a_fence_behind_a_loss(lives: str) -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A>B, s2:B!")
    while story.lives() != lives:
        story.fenced()
    story.job("s3>A, s4:A>B, s5:B!")
    assert story.submit("s3")[1] == "A1 missed by s3.0"
    assert story.state.meta.premature == 1


def test_39_recoveries_are_bounded_per_shuffle() -> None:
    story = Story(EAGER, settings=Settings(recoveries_per_shuffle=2))
    story.job("s0>A, s1:A!")
    story.run("s0")
    for attempt in (1, 2):
        story.lose(A=0)
        assert story.submit(f"s0.{attempt}")[1].startswith(f"recovery {attempt} of A{attempt}")
        story.complete(f"s0.{attempt}")
    story.lose(A=0)
    assert story.read("A", "s1") == "exhausted"
    assert story.teller.tell(story.log) == ["A3 denied to s1.0: 2 of 2", "suspended: recovery keeps failing"]
    assert story.read("A", "s1") == "exhausted"
    assert story.log == []
    assert story.submit("s0.3") == ["s0.3 submitted", "A4 begun by s0.3"]
    story.complete("s0.3")
    assert story.run("s1")[-1] == "A4 expired: read by a stage that wrote, held: suspended"


def test_39_what_was_denied_is_remembered_until_it_is_written_anew_or_cleaned() -> None:
    story = Story(EAGER, settings=Settings(recoveries_per_shuffle=1))
    story.job("s0>A, s1:A!")
    story.run("s0")
    for attempt in range(1, 5):
        story.lose(A=0)
        story.run(f"s0.{attempt}")
    story.lose(A=0)
    assert story.read("A", "s1") == "exhausted"
    assert story.state.recovered == {1: 1, 5: 0}
    assert story.miss("A4", "s1") == "exhausted"
    story.do(c.ReportShuffleCleaned(shuffle("A")))
    assert (story.state.recovered, story.state.recoveries) == ({}, {})


def test_39_and_per_application() -> None:
    story = Story(EAGER, settings=Settings(recoveries=1))
    story.job("s0>A, s1>B, s2:A,B!")
    story.run("s0", "s1")
    story.lose(A=0, B=0)
    assert story.submit("s0.1")[1] == "recovery 1 of A1 B1"
    story.complete("s0.1")
    assert story.read("B", "s2") == "recover B1: recovery 1 of AB"
    story.lose(A=0)
    assert story.read("A", "s2") == "exhausted"
    assert story.teller.tell(story.log) == ["A2 denied to s2.0: 1 of 1", "suspended: recovery keeps failing"]
    assert isinstance(story.last, Rejection)
    assert story.last.fact.startswith("generation 3 of app shuffle 0 is gone")
    assert story.last.app_shuffle == shuffle("A")
    denied = story.last
    assert story.miss("A2", "s0") == "exhausted"  # a late task of who wrote the first one
    assert (story.last, story.log) == (denied, [])


@pytest.mark.parametrize("settings", [Settings(recoveries=1), Settings(recoveries_per_shuffle=1)])
def test_39_who_has_deletion_go_on_has_recoveries_counted_anew(settings: Settings) -> None:
    story = Story(EAGER, settings=settings)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.lose(A=0)
    story.run("s0.1")
    story.lose(A=0)
    assert story.read("A", "s1") == "exhausted"
    assert story.do(c.ResumeDeletion("me")) == ["resumed"]
    assert (story.state.meta.recoveries, story.state.shuffles[shuffle("A")].recoveries) == (0, 0)
    assert story.read("A", "s1") == "recover A2: recovery 2 of A"
    story.run("s0.2")
    story.lose(A=0)
    assert story.submit("s0.3")[1:3] == ["A3 denied to s0.3: 1 of 1", "suspended: recovery keeps failing"]


def test_39_an_older_log_counts_on_after_deletion_went_on() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.lose(A=0)
    story.run("s0.1")
    older = Recorded(
        story.state.meta.next_sequence, story.now_ms, story.state.meta.next_sequence, DeletionResumed("me")
    )
    assert evolve(story.state, older).meta.recoveries == 1


def test_39_what_was_recovered_and_then_read_has_its_recoveries_counted_anew() -> None:
    """A loop that runs for a day loses an executor now and then: what was recovered each time is no failure."""
    story = Story(EAGER, settings=Settings(recoveries_per_shuffle=2, recoveries=2))
    story.whole("s0>A, s1:A.")
    for round_ in range(1, 6):
        story.job("s2>A, s3:A.")
        story.lose(A=0)
        assert story.submit("s2")[1] == f"recovery {round_} of A{round_}"
        story.complete("s2")
        assert story.state.shuffles[shuffle("A")].recoveries == 1
        story.submit("s3")
        assert story.complete("s3") == ["s3.0 completed, recovered A"]
        assert story.state.shuffles[shuffle("A")].recoveries == 0
        story.end(round_)
        assert story.state.meta.recoveries == 0


def test_39_a_reader_that_fails_proves_nothing() -> None:
    story = Story(EAGER, settings=Settings(recoveries_per_shuffle=1))
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.lose(A=0)
    story.run("s0.1")
    story.submit("s1")
    assert story.fail("s1") == ["s1.0 failed"]
    story.lose(A=0)
    assert story.submit("s0.2")[1] == "A2 denied to s0.2: 1 of 1"


def test_39_what_is_read_only_to_recover_what_is_lost_again_and_again_is_bounded_with_it() -> None:
    """A is read to its end each time, but B, which is made of it, is lost before anybody has read it."""
    story = Story(settings=Settings(recoveries_per_shuffle=2))
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0", "s1")
    for attempt in (1, 2):
        story.lose(A=0, B=0)
        assert f"recovery {attempt} of A{attempt} B{attempt}" in story.submit(f"s0.{attempt}")
        story.complete(f"s0.{attempt}")
        assert f"s1.{attempt} completed, recovered A" in story.run(f"s1.{attempt}")
    story.lose(A=0, B=0)
    assert story.submit("s0.3")[1:3] == ["A3 denied to s0.3: 2 of 2", "suspended: recovery keeps failing"]


def test_39_so_is_what_the_asking_stage_has_half_written_again() -> None:
    story = Story(REACHABLE, CANNOT_COMPLETE, Settings(recoveries_per_shuffle=1))
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0", "s1")
    story.submit("s2")
    assert story.miss("B1", "s2") == "recover B1: recovery 1 of B"
    story.fail("s2")
    story.submit("s1.1")
    assert story.miss("A1", "s1.1") == "exhausted"
    assert story.teller.tell(story.log) == [
        "A1 lost: reported",
        "invalidate A1",
        "A1 denied to s1.1: 1 of 1",
        "suspended: recovery keeps failing",
    ]


@pytest.mark.parametrize("first", ["", "A"])
def test_39_so_is_what_is_made_of_it_whoever_has_asked_for_that_before(first: str) -> None:
    story = Story(EAGER, settings=Settings(recoveries_per_shuffle=1))
    story.whole("s0>A, s1:A>B, s2:B!")
    story.delete_all()
    story.whole("s3>A", job=1)
    story.lose(A=0)
    story.job("s4>A, s5:A!")
    story.job("s6>A, s7:A>B, s8:B!")
    assert [story.read(letter, "s5") for letter in first] == ["exhausted"] * len(first)
    assert story.read("B", "s8") == "exhausted"
    assert story.recoveries == 1
    assert story.state.recovered[story.teller.id_of("B1")] == DENIED


def test_39_what_was_denied_for_the_application_s_sake_is_named_with_the_next_loss_when_that_counts_anew() -> None:
    story = Story(EAGER, settings=Settings(recoveries=1))
    story.whole("s0>A, s1:A>B, s2:B!")
    story.whole("s3>C, s4:C.")
    story.job("s5>C, s6:C.")
    story.lose(C=0)
    story.run("s5")
    assert story.recoveries == 1
    story.delete_all()
    story.job("s7>A, s8:A!")
    assert story.read("A", "s8") == "exhausted"
    assert story.run("s6")[2:3] == ["s6.0 completed, recovered C"]
    story.job("s9>A, s10:A>B, s11:B!")
    assert story.read("B", "s11") == "recover B1: recovery 2 of AB"
    assert story.read("A", "s8") == "recover A1: recovery 2 of AB"


def test_39_an_older_log_counts_what_was_recovered_and_read_all_the_same() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.lose(A=0)
    story.run("s0.1")
    story.submit("s1")
    here = story.state.meta.next_sequence
    older = Recorded(here, story.now_ms, here, StageCompleted(attempt_of("s1")))
    assert evolve(story.state, older).shuffles[shuffle("A")].recoveries == 1
    newer = Recorded(here, story.now_ms, here, StageCompleted(attempt_of("s1"), recovered=(shuffle("A"),)))
    assert evolve(story.state, newer).shuffles[shuffle("A")].recoveries == 0


def test_two_jobs_that_miss_the_same_join_one_recovery() -> None:
    story = chain()
    story.job("s10>A, s11:A>B, s12:B>D, s13:D!")
    assert story.submit("s10") == [
        "s10.0 submitted",
        "A1 missed by s10.0",
        "recovery 1 of A1 B1",
        "A2 begun by s10.0 for recovery 1",
    ]
    assert story.read("B", "s12") == "recover B1: recovery 1 of AB"
    assert story.recoveries == 1


def test_25_an_answer_names_each_shuffle_once_however_often_it_was_half_written() -> None:
    story = Story(EAGER, capabilities=CANNOT_COMPLETE)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    story.lose(A=0)
    assert story.read("A", "s1") == "recover A1: recovery 1 of AB"
    story.fail("s1")
    story.submit("s1.1")
    assert story.read("A", "s1.1") == "recover A1: recovery 1 of AB"
