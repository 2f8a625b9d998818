"""Scenarios 25 to 39: recovering."""

from __future__ import annotations

from coordinator.core import commands as c
from coordinator.core.ids import ClientId, JobId, ShuffleId, StageId, spans_of
from coordinator.core.rejections import Ready
from coordinator.core.values import Capabilities, DirectiveKind, Level, Outputs, Settings
from tests.scenarios.story import EAGER, OBSERVE, Story, attempt_of, delayed, shuffle

FENCE, DELETE, INVALIDATE = DirectiveKind.FENCE, DirectiveKind.DELETE, DirectiveKind.INVALIDATE
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
    assert story.complete("s1.1") == ["s1.1 completed", "B2 complete"]
    assert story.submit("s2.1") == [
        "s2.1 submitted",
        "B2 read by s2.1",
        "C1 lost: invalidated",
        "invalidate C1",
        "recovery 1 joined for C1 by s2.1",
        "C2 begun by s2.1 for recovery 1",
    ]
    assert story.complete("s2.1") == [
        "s2.1 completed",
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
    assert story.state.meta.recoveries == 1


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


def test_26_the_dedup_race() -> None:
    story = Story(capabilities=CANNOT_COMPLETE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    assert story.miss("A1", "s1") == "recover A1: recovery 1 of A"
    assert story.teller.tell(story.log) == ["A1 lost: reported", "invalidate A1", "recovery 1 of A1"]
    assert story.fail("s1") == ["s1.0 failed"]
    assert story.submit("s0.1") == ["s0.1 submitted", "A2 begun by s0.1 for recovery 1"]
    assert story.miss("A1", "s1") == "recover A1: recovery 1 of A"
    assert story.teller.tell(story.log) == ["recovery 1 joined for A1 by s1.0"]
    assert story.miss("A", "s1") == "recover A1: recovery 1 of A"
    assert story.complete("s0.1") == ["s0.1 completed", "A2 complete", "recovery 1 closed"]
    assert story.miss("A1", "s1") == "recover A1: recovery 1 of A"
    assert story.lives() == "A2 readable"
    assert story.state.meta.recoveries == 1


def test_26_the_same_where_the_service_completes() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    assert story.miss("A1", "s1") == "not ready: some of its outputs are gone; its map stage will run again"
    story.fail("s1")
    story.submit("s0.1", tasks=1)
    assert story.miss("A1", "s1") == "not ready: some of its outputs are gone; its map stage will run again"
    story.complete("s0.1")
    assert story.miss("A1", "s1") == "ready A1"
    assert story.log == []
    story.submit("s1.1")
    assert story.miss("A1", "s1.1") == "not ready: some of its outputs are gone; its map stage will run again"
    assert story.lives() == "A1 partial"


def test_26_a_report_that_comes_when_its_stage_is_done_loses_nothing() -> None:
    story = Story(capabilities=CANNOT_COMPLETE)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    story.miss("A1", "s1")
    story.fail("s1")
    story.run("s0.1", "s1.1")
    assert story.miss("A", "s1") == "ready A2"
    assert story.log == []
    assert story.miss("A1", "s1") == "recover A1: recovery 1 of AB"
    assert story.log == []


def test_26_a_report_of_an_older_attempt_loses_nothing() -> None:
    for capabilities, lost in ((CANNOT_COMPLETE, "A2"), (Capabilities(), "A1")):
        story = Story(capabilities=capabilities)
        story.job("s0>A, s1>D, s2:A,D!")
        story.run("s0", "s1")
        story.submit("s2")
        story.miss("A1", "s2")
        story.fail("s2")
        story.submit("s0.1", tasks=1)
        story.complete("s0.1")
        story.submit("s2.1")
        assert story.miss("D1", "s2") == "ready D1"
        assert story.log == []
        assert story.lives() == (f"D1 readable, {lost} readable" if lost == "A2" else "A1 readable, D1 readable")


def test_26_nor_does_a_report_that_is_sent_again() -> None:
    for capabilities, now in ((CANNOT_COMPLETE, "A2"), (Capabilities(), "A1")):
        story = Story(capabilities=capabilities)
        story.job("s0>A, s1:A!")
        story.run("s0")
        story.submit("s1")
        client = ClientId("bridge")
        report = c.Request(client, 2, c.ReportMissing(shuffle("A"), ShuffleId(0)))
        story.witness.answer([c.Request(client, 1, c.RegisterClient(client)), report], 2_000)
        story.fail("s1")
        story.submit("s0.1", tasks=3)
        story.complete("s0.1")
        story.submit("s1.1")
        (again,), log = story.witness.answer([report], 3_000)
        assert (story.answered(again), log) == (f"ready {now}", [])


def test_28_the_next_generation_missing_is_another_recovery() -> None:
    story = Story(capabilities=CANNOT_COMPLETE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.miss("A1", "s1")
    story.fail("s1")
    story.run("s0.1")
    story.submit("s1.1")
    assert story.miss("A2", "s1.1") == "recover A2: recovery 2 of A"
    assert story.state.meta.recoveries == 2


def test_29_reported_missing_and_cannot_be_completed() -> None:
    story = Story(capabilities=CANNOT_COMPLETE)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    story.miss("A1", "s1")
    assert story.teller.tell(story.log) == [
        "A1 lost: reported",
        "invalidate A1",
        "recovery 1 of A1 B1",
        "B1 lost: invalidated",
        "invalidate B1",
    ]
    story.fail("s1")
    story.run("s0.1")
    assert story.submit("s1.1") == ["s1.1 submitted", "A2 read by s1.1", "B2 begun by s1.1 for recovery 1"]


def test_29_under_observe_nothing_is_freed() -> None:
    story = Story(OBSERVE, CANNOT_COMPLETE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.miss("A1", "s1")
    assert story.teller.tell(story.log) == ["A1 lost: reported", "recovery 1 of A1"]


def test_29_lost_altogether() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    assert story.lose(A=0) == ["A1 lost: outputs gone"]
    assert story.read("A", "s1") == "recover A1: recovery 1 of A"
    story.fail("s1")
    assert story.submit("s0.1") == ["s0.1 submitted", "A2 begun by s0.1 for recovery 1"]


def test_29_all_of_it_is_written_again_though_nobody_told_of_the_loss() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.fail("s1")
    assert story.submit("s0.1", tasks=10) == [
        "s0.1 submitted",
        "A1 lost: outputs gone",
        "recovery 1 of A1",
        "A2 begun by s0.1 for recovery 1",
    ]


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
        "s8.0 completed",
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


def test_31_the_lineage_is_unknown() -> None:
    story = Story()
    story.write("A", "s0")
    story.do(c.ReportStageCompleted(attempt_of("s0"), shuffle_bytes_written=1))
    assert story.lives() == "A1 readable"
    assert story.lose(A=0) == ["A1 lost: outputs gone"]
    assert story.read("A", "s1") == "recover A1: recovery 1 of A"
    assert story.teller.tell(story.log) == ["recovery 1 of A1, lineage unknown"]


def test_32_an_indeterminate_or_barrier_stage_writes_a_new_generation() -> None:
    for extra in ({"levels": {"A": Level.INDETERMINATE}}, {"barrier": "A"}):
        story = Story(**extra)
        story.job("s0>A, s1:A!")
        story.run("s0")
        story.submit("s1")
        story.fail("s1")
        assert story.submit("s0.1", tasks=1) == [
            "s0.1 submitted",
            "A1 lost: invalidated",
            "invalidate A1",
            "recovery 1 of A1",
            "A2 begun by s0.1 for recovery 1",
        ]
        assert story.complete("s0.1") == ["s0.1 completed", "A2 complete", "recovery 1 closed"]
        assert story.outcome(INVALIDATE, c.Freed(4)) == ["A1 invalidated, 4 bytes"]


def test_32_one_that_was_never_complete_needs_no_recovery() -> None:
    story = Story(barrier="A")
    story.job("s0>A, s1:A!")
    story.submit("s0")
    story.fail("s0")
    assert story.submit("s0.1") == ["s0.1 submitted", "A1 lost: invalidated", "invalidate A1", "A2 begun by s0.1"]


def test_32_a_late_task_of_an_older_attempt_begins_nothing() -> None:
    for extra in ({"levels": {"A": Level.INDETERMINATE}}, {"barrier": "A"}):
        story = Story(**extra)
        story.job("s0>A, s1:A!")
        story.submit("s0")
        story.fail("s0")
        story.submit("s0.1")
        late = "not ready: stage 0.0 is over: no live job lists it, or a later attempt writes"
        assert story.write("A", "s0") == late
        assert story.log == []
        assert story.write("A", "s0.1") == "ready A2"
        assert story.lose(A=0) == []
        assert story.complete("s0.1") == ["s0.1 completed", "A2 complete"]
        assert story.submit("s1") == ["s1.0 submitted", "A2 read by s1.0"]


def test_35_nor_does_its_question_sent_again() -> None:
    story = Story(barrier="A")
    story.job("s0>A, s1:A!")
    client = ClientId("bridge")
    asked: list[c.Command] = [
        c.RegisterClient(client),
        c.ReportStageSubmitted(attempt_of("s0"), (), shuffle("A"), 10),
        c.GetShuffleId(shuffle("A"), attempt_of("s0"), write=True),
        c.ReportStageCompleted(attempt_of("s0"), "executor lost"),
        c.ReportStageSubmitted(attempt_of("s0.1"), (), shuffle("A"), 10),
        c.GetShuffleId(shuffle("A"), attempt_of("s0.1"), write=True),
    ]
    requests = [c.Request(client, number, command) for number, command in enumerate(asked, 1)]
    story.witness.answer(requests, 2_000)
    again, log = story.witness.answer(requests[1:], 3_000)
    assert log == []
    assert again[-1] == Ready(ShuffleId(2))


def test_33_what_is_completed_from_a_new_input_is_written_whole() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0", "s1")
    story.delete_all()
    story.submit("s2")
    assert story.lose(B=6) == ["B1 partial, 6 of 10"]
    story.fail("s2")
    assert story.submit("s0.1") == [
        "s0.1 submitted",
        "A1 missed by s0.1",
        "recovery 1 of A1, would mix B1",
        "A2 begun by s0.1 for recovery 1",
    ]
    story.complete("s0.1")
    assert story.submit("s1.1", tasks=10) == [
        "s1.1 submitted",
        "A2 read by s1.1",
        "B1 lost: invalidated",
        "invalidate B1",
        "recovery 1 joined for B1 by s1.1",
        "B2 begun by s1.1 for recovery 1",
    ]
    assert story.complete("s1.1") == [
        "s1.1 completed",
        "B2 complete",
        "recovery 1 closed",
        "A2 expired: read by a stage that wrote, held: missed before",
    ]


def test_33_a_mark_that_came_too_late_completes_the_old_one() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0", "s1")
    story.delete_all()
    story.submit("s2")
    story.lose(B=6)
    story.fail("s2")
    story.run("s0.1")
    assert story.submit("s1.1", tasks=4) == ["s1.1 submitted", "A2 read by s1.1", "B1 continued by s1.1"]


def completed_too_late() -> Story:
    """Recovery 1 of A1 would have mixed B1, which was completed and is whole again."""
    story = Story(EAGER)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0", "s1")
    story.delete_all()
    story.submit("s2")
    story.lose(B=6)
    story.fail("s2")
    story.run("s0.1")
    story.submit("s1.1", tasks=4)
    assert "recovery 1 closed" in story.complete("s1.1")
    story.submit("s2.1")
    return story


def test_28_what_is_whole_again_and_lost_later_is_another_recovery() -> None:
    story = completed_too_late()
    assert story.lose(B=0) == ["B1 lost: outputs gone", "A2 rescued: a live job reaches it (job 0)"]
    assert story.read("B", "s2.1") == "recover B1: recovery 2 of B"
    assert story.teller.tell(story.log) == ["recovery 2 of B1"]


def test_28_also_when_the_first_recovery_is_forgotten() -> None:
    story = completed_too_late()
    story.do(c.ReportShuffleCleaned(shuffle("A")))
    assert (story.state.recoveries, story.state.recovered) == ({}, {})
    story.lose(B=0)
    assert story.read("B", "s2.1") == "recover B1: recovery 2 of B"


def test_28_and_when_what_it_would_mix_was_never_whole_again() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0", "s1")
    story.delete_all()
    story.submit("s2")
    story.lose(B=6)
    story.fail("s2")
    story.submit("s0.1")
    story.do(c.ReportShuffleCleaned(shuffle("A")))
    assert (story.state.recoveries, story.state.recovered) == ({}, {})
    assert story.lose(B=0) == ["B1 lost: outputs gone"]
    assert story.read("B", "s2.1") == "recover B1: recovery 2 of B"


def test_33_also_what_a_reader_has_half_written() -> None:
    story = Story(EAGER)
    story.job("s0>Z, s1:Z>A, s2:A>B, s3:B!")
    story.run("s0", "s1")
    story.delete_all()
    story.submit("s2")
    story.lose(A=7)
    story.fail("s2")
    assert story.submit("s0.1")[1:3] == ["Z1 missed by s0.1", "recovery 1 of Z1, would mix B1 A1"]
    story.complete("s0.1")
    assert "A1 lost: invalidated" in story.run("s1.1")
    assert story.submit("s2.1") == [
        "s2.1 submitted",
        "A2 read by s2.1",
        "B1 lost: invalidated",
        "invalidate B1",
        "recovery 1 joined for B1 by s2.1",
        "B2 begun by s2.1 for recovery 1",
    ]
    assert story.complete("s2.1")[:3] == ["s2.1 completed", "B2 complete", "recovery 1 closed"]


def test_18_what_cancelled_jobs_left_half_written_is_missed_by_nobody() -> None:
    """It would have been written in any case: no recovery, no premature deletion, and no budget that is used up."""
    story = Story(EAGER)
    for number, name in enumerate("ABCDEFGHI"):
        cancelled, again = 4 * number, 4 * number + 2
        story.job(f"s{cancelled}>{name}, s{cancelled + 1}:{name}!", job=2 * number)
        story.submit(f"s{cancelled}")
        story.fail(f"s{cancelled}")
        story.end(2 * number, False)
        story.delete_all()
        story.job(f"s{again}>{name}, s{again + 1}:{name}!", job=2 * number + 1)
        assert story.submit(f"s{again}") == [f"s{again}.0 submitted", f"{name}2 begun by s{again}.0"]
        story.complete(f"s{again}")
        story.run(f"s{again + 1}")
        story.end(2 * number + 1)
    assert (story.state.meta.premature, story.state.meta.suspended, story.state.recoveries) == (0, None, {})
    assert all(shuffle.missed is None for shuffle in story.state.shuffles.values())


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


def test_35_a_task_that_asked_before_its_stage_was_told_writes_after_a_resync_too() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.write("A", "s0")
    job = c.ReportJobStarted(JobId(0), StageId(1), (shuffle("A"),), None, spans_of((0, 1)))
    story.do(c.Resync(jobs=(job,), outputs=(Outputs(shuffle("A"), 0, 10),)))
    assert story.submit("s0") == ["s0.0 submitted", "A1 continued by s0.0"]
    assert story.state.generations[ShuffleId(1)].writers == {attempt_of("s0")}


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


def test_half_written_output_that_cannot_be_completed_goes_with_its_input() -> None:
    story = Story(EAGER, CANNOT_COMPLETE)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    assert story.miss("A1", "s1") == "recover A1: recovery 1 of AB"
    assert story.teller.tell(story.log) == [
        "A1 lost: reported",
        "invalidate A1",
        "recovery 1 of A1 B1",
        "B1 lost: invalidated",
        "invalidate B1",
    ]
    story.fail("s1")
    story.run("s0.1")
    assert story.submit("s1.1") == ["s1.1 submitted", "A2 read by s1.1", "B2 begun by s1.1 for recovery 1"]


def both_half_written(settings: Settings = Settings()) -> Story:
    """s1 has missed A1, which s2 reads too; recovery 1 names A1 and B1, s1's output. s2 has half written C1."""
    story = Story(EAGER, CANNOT_COMPLETE, settings)
    story.job("s0>A, s1:A>B, s2:A>C, s3:B,C!")
    story.run("s0")
    story.submit("s1")
    story.submit("s2")
    assert story.miss("A1", "s1") == "recover A1: recovery 1 of AB"
    return story


def test_so_does_that_of_who_joins_the_recovery() -> None:
    story = both_half_written()
    assert story.miss("A1", "s2") == "recover A1: recovery 1 of ABC"
    assert story.teller.tell(story.log) == [
        "recovery 1 joined for A1 by s2.0",
        "recovery 1 joined for C1 by s2.0",
        "C1 lost: invalidated",
        "invalidate C1",
    ]
    story.fail("s1")
    story.fail("s2")
    story.run("s0.1")
    assert story.submit("s1.1")[-1] == "B2 begun by s1.1 for recovery 1"
    assert story.submit("s2.1")[-1] == "C2 begun by s2.1 for recovery 1"
    story.complete("s1.1")
    assert story.complete("s2.1")[:3] == ["s2.1 completed", "C2 complete", "recovery 1 closed"]


def test_also_when_the_missing_one_is_being_written_anew() -> None:
    story = both_half_written(Settings(declared_deterministic=True))
    story.fail("s1")
    story.submit("s0.1")
    assert story.miss("A1", "s2") == "recover A1: recovery 1 of ABC"
    assert "recovery 1 also of C1" in story.teller.tell(story.log)
    story.fail("s2")
    story.complete("s0.1")
    assert story.submit("s2.1")[-1] == "C2 begun by s2.1 for recovery 1"


def test_35_a_retry_gets_the_first_answer_and_leaves_no_event() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    client = ClientId("bridge")
    requests = [
        c.Request(client, 1, c.RegisterClient(client)),
        c.Request(client, 2, c.GetShuffleId(shuffle("A"), attempt_of("s9"))),
    ]
    first, _ = story.witness.answer(requests, 2_000)
    again, log = story.witness.answer(requests, 3_000)
    assert (again, log) == (first, [])
    story.look("")
    lost, _ = story.witness.answer([c.Request(client, 3, c.ReportOutputs((Outputs(shuffle("A"), 0, 10),)))], 4_000)
    truth, _ = story.witness.answer(requests[1:], 5_000)
    assert story.answered(truth[0]) == "recover A1: recovery 1 of A"
    assert story.answered(lost[0]) == "accepted"


def test_36_never_heard_of() -> None:
    story = Story()
    assert story.read("Z", "s0") == "not found"
    assert str(story.last) == (
        "app shuffle 25 is not known in application app; expected an app shuffle that a job has "
        "announced (none has been yet). Check the id; a shuffle that Spark's own cleaner has "
        "removed is unknown too."
    )
    story.job("s0>A, s1:A!")
    story.do(c.GetShuffleId(shuffle("Z"), attempt_of("s0")))
    assert str(story.last) == (
        "app shuffle 25 is not known in application app; expected one of: 0. Check the id; a "
        "shuffle that Spark's own cleaner has removed is unknown too."
    )
    assert story.miss("Z", "s0") == "not found"
    assert story.log == []
    story.do(c.ReportMissing(shuffle("A"), story.teller.id_of("A1"), attempt_of("s1")))
    assert str(story.last) == (
        "generation 9999 of app shuffle 0 was never written; expected a generation; none has been "
        "written yet. Report the shuffle id that GetShuffleId answered."
    )


def test_36_an_application_never_heard_of() -> None:
    story = Story()
    story.witness = type(story.witness)()
    assert story.read("A", "s0") == "not found"


def test_37_still_being_written_or_partial() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    assert story.read("A", "s1") == "not ready: announced and not yet written"
    story.submit("s0")
    assert story.read("A", "s1") == "not ready: being written"
    story.complete("s0")
    story.lose(A=3)
    assert story.read("A", "s1") == "not ready: some of its outputs are gone and not yet back"


def test_38_asked_before_its_stage_was_told() -> None:
    story = Story(delayed(EAGER, 0))
    story.whole("s0>A, s1:A.")
    assert story.read("A", "s3") == "ready A1"
    story.whole("s5>B, s6:B.", job=7)
    assert story.state.generations[1].in_use is False


def test_38_an_early_reader_counts_until_its_job_has_ended() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    story.job("s2>B, s3:B!")
    story.read("A", "s9")
    assert story.end(1) == ["job 1 ended"]
    story.look("")
    assert story.life("A1") == "readable"
    story.job("s8>A, s9:A!")
    assert story.submit("s9") == ["s9.0 submitted"]
    assert story.complete("s9") == ["s9.0 completed", "A1 expired: in no live cut", "fence A1"]


def test_38_asked_after_its_stage_has_ended_nobody_is_registered() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    assert story.read("A", "s1") == "ready A1"
    assert story.log == []
    assert story.write("A", "s0") == "ready A1"
    assert story.write("A", "s1") == "not ready: stage 1.0 is over: no live job lists it, or a later attempt writes"
    story.job("s2>A, s3:A!")
    story.run("s3")
    assert story.read("A", "s3") == "ready A1"
    assert story.log == []
    story.end(1)
    story.look("")
    assert story.lives() == "A1 fencing"


def test_38_who_asks_late_for_what_is_gone_misses_nothing() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0", "s1")
    story.delete_all()
    assert story.lives() == "B1 readable"
    assert story.read("A", "s1") == "not ready: gone, and nobody who runs has missed it"
    assert story.log == []
    story.submit("s2")
    story.lose(B=0)
    assert story.read("B", "s2") == "recover B1: recovery 1 of AB"
    assert story.read("A", "s1") == "recover A1: recovery 1 of AB"
    assert story.log == []


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
    assert story.teller.tell(story.log) == ["A3 denied: 2 of 2", "suspended: recovery keeps failing"]
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
    assert story.teller.tell(story.log) == ["A2 denied: 1 of 1", "suspended: recovery keeps failing"]


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
    assert story.state.meta.recoveries == 1


def test_a_resync_adopts_and_ends() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    assert story.do(c.Resync((), (), (), (Outputs(shuffle("A"), 10, 10), Outputs(shuffle("B"), 4, 10)))) == [
        "job 0 failed",
        "B1 found, 4 of 10",
    ]
    assert story.look("")[-4:] == [
        "A1 expired: in no live cut",
        "fence A1",
        "B1 expired: given up half-written",
        "fence B1",
    ]


def test_a_resync_finds_losses_and_what_was_written_anew() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.fenced()
    story.job("s2>B, s3:B!")
    story.run("s2")
    story.job("s4>C, s5:C!")
    story.submit("s4")
    told = tuple(Outputs(shuffle(letter), left, 10) for letter, left in (("A", 10), ("B", 0), ("C", 10)))
    jobs = (
        c.ReportJobStarted(JobId(1), StageId(3), (shuffle("B"),)),
        c.ReportJobStarted(JobId(2), StageId(5), (shuffle("C"),)),
    )
    assert story.do(c.Resync(jobs, (), (), told)) == [
        "s4.0 failed",
        "A2 found, 10 of 10",
        "B1 lost: outputs gone",
        "C1 complete",
        "resync, until jobs [1, 2] have ended",
    ]


def test_a_resync_cleans_what_spark_has_no_more() -> None:
    story = Story()
    story.whole("s0>A, s1:A>B, s2:B.")
    assert story.do(c.Resync((), (), (), (Outputs(shuffle("B"), 10, 10),))) == [
        "A1 deleted: spark, 0 bytes",
        "A cleaned",
    ]
    assert list(story.state.shuffles) == [shuffle("B")]
