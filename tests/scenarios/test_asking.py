"""Scenarios 32 and 35 to 38: who asks early, late, again, or for what nobody knows.

Responsible for answers. Refuses to know recoveries. Invariant: who is over begins nothing, and a question that was
answered leaves no second event.
"""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.core import commands as c
from coordinator.core.events import Recorded, StageSubmitted
from coordinator.core.evolve import evolve
from coordinator.core.ids import ClientId, JobId, ShuffleId, StageId, spans_of
from coordinator.core.rejections import NotReady, Ready
from coordinator.core.state import AHEAD
from coordinator.core.values import Level, Outputs
from tests.scenarios.story import EAGER, Story, attempt_of, delayed, shuffle


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


@pytest.mark.parametrize("extra", [{"levels": {"A": Level.INDETERMINATE}}, {"barrier": "A"}])
def test_32_what_is_written_anew_each_time_is_partial_until_its_map_stage_runs_again(extra: dict[str, Any]) -> None:
    story = Story(**extra)
    story.job("s0>A, s1:A!")
    story.run("s0")
    assert story.lose(A=7) == ["A1 partial, 7 of 10"]
    assert story.read("A", "s1") == "not ready: some of its outputs are gone and not yet back"
    assert story.submit("s0.1") == [
        "s0.1 submitted",
        "A1 lost: invalidated",
        "invalidate A1",
        "recovery 1 of A1",
        "A2 begun by s0.1 for recovery 1",
    ]


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


def test_35_a_task_that_asked_before_its_stage_was_told_writes_after_a_resync_too() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.write("A", "s0")
    job = c.ReportJobStarted(JobId(0), StageId(1), (shuffle("A"),), None, spans_of((0, 1)))
    story.do(c.Resync(jobs=(job,), outputs=(Outputs(shuffle("A"), 0, 10),)))
    assert story.submit("s0") == ["s0.0 submitted", "A1 continued by s0.0"]
    assert story.state.generations[ShuffleId(1)].writers == {attempt_of("s0")}


def test_35_also_where_its_job_is_not_told_and_what_it_had_begun_was_let_go() -> None:
    story = Story(delayed(EAGER, 1_000))
    assert story.write("A", "s0") == "ready A1"
    assert story.do(c.Resync(outputs=(Outputs(shuffle("A"), 0, 10),))) == [
        "s0.0 failed",
        "A1 expired: given up half-written, held: grace until 2000",
    ]
    assert story.do(c.ReportStageSubmitted(attempt_of("s0"), (), shuffle("A"), 10)) == [
        "s0.0 submitted",
        "A1 rescued: a writer asked (stage 0.0)",
        "A1 continued by s0.0",
    ]
    done = c.ReportStageCompleted(attempt_of("s0"), shuffle_bytes_written=1)
    assert story.do(done) == ["s0.0 completed", "A1 complete"]


def test_35_also_what_was_whole_before_however_much_its_stage_turns_out_to_write() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    story.lose(A=4)
    assert story.write("A", "s2") == "ready A1"
    story.do(c.Resync(outputs=(Outputs(shuffle("A"), 4, 10),)))
    story.job("s2>A, s3:A!")
    assert story.submit("s2", tasks=10) == ["s2.0 submitted", "A1 continued by s2.0"]


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


def test_36_of_many_the_newest_are_named() -> None:
    story = Story()
    letters = [chr(ord("A") + n) for n in range(22)]
    story.job(", ".join(["s0>A", *(f"s{n}:{letters[n - 1]}>{letters[n]}" for n in range(1, 22)), "s22:V!"]))
    assert story.read("Z", "s22") == "not found"
    known = ", ".join(map(str, range(2, 22)))
    assert f"expected one of: {known} and 2 older." in str(story.last)


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


@pytest.mark.parametrize("told", ["s2>B, s3:B!", "s1>B, s2:B!"])
def test_35_what_a_task_asked_to_write_and_its_stage_does_not_is_given_up(told: str) -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A.")
    assert story.write("C", "s2") == "ready C1"
    story.job(told)
    assert story.submit("s2")[:3] == ["s2.0 submitted, gives up C1", "C1 lost: invalidated", "invalidate C1"]
    story.complete("s2")
    assert "C1" not in story.lives()


@pytest.mark.parametrize("told", ["s2>B, s3:B!", "s3>B, s2:B!", "s2!"])
def test_38_who_asked_to_write_what_others_write_is_no_writer_of_it_once_its_stage_says_so(told: str) -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.submit("s0")
    assert story.write("A", "s2") == "ready A1"
    story.job(told)
    assert story.submit("s2")[0] == "s2.0 submitted, gives up A1"
    assert story.state.generations[1].writers == {attempt_of("s0")}
    assert story.state.generations[1].written_by == {attempt_of("s0")}
    story.complete("s2")
    assert story.life("A1") == "writing"
    assert story.complete("s0") == ["s0.0 completed", "A1 complete"]
    assert story.run("s1")[-2:] == ["A1 expired: read by a stage that wrote", "fence A1"]


def test_38_what_another_has_half_written_is_left_to_its_next_attempt() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.submit("s0")
    story.fail("s0")
    assert story.write("A", "s2") == "ready A1"
    story.job("s2>B, s3:B!")
    assert story.submit("s2") == ["s2.0 submitted, gives up A1", "B1 begun by s2.0"]
    assert story.submit("s0.1", tasks=4) == ["s0.1 submitted", "A1 continued by s0.1"]


def test_38_what_nobody_needs_goes_when_its_last_writer_turns_out_to_be_none() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.submit("s0")
    assert story.write("A", "s2") == "ready A1"
    assert story.end(0) == ["job 0 ended"]
    story.job("s2>B, s3:B!")
    assert story.submit("s2") == [
        "s2.0 submitted, gives up A1",
        "B1 begun by s2.0",
        "A1 expired: given up half-written",
        "fence A1",
    ]


def test_38_an_older_log_still_says_who_writes() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.submit("s0")
    story.write("A", "s2")
    here = story.state.meta.next_sequence
    older = Recorded(here, story.now_ms, here, StageSubmitted(attempt_of("s2")))
    assert evolve(story.state, older).generations[ShuffleId(1)].writers == {attempt_of("s0"), attempt_of("s2")}


def test_38_who_asked_to_read_before_its_stage_was_told_writes_one_shuffle_at_the_most() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A.")
    assert story.read("A", "s2") == "ready A1"
    assert story.write("B", "s2") == "ready B1"
    assert story.write("C", "s2") == "invalid"
    assert str(story.last) == (
        "stage 2.0 asks to write app shuffle 2; expected app shuffle 1, which it writes. "
        "A stage writes one app shuffle at the most; check the id."
    )
    assert story.write("B", "s2") == "ready B1"


NEXT, FAR = f"s{1 + AHEAD}", f"s{2 + AHEAD}"


def test_38_a_stage_far_beyond_all_that_were_listed_is_not_waited_for() -> None:
    """It might never come, and would read for ever."""
    story = Story()
    story.whole("s0>A, s1:A!")
    assert story.read("A", FAR) == "ready A1"
    far_off = f"not ready: stage {attempt_of(FAR)} is far off: no live job lists it, or a later attempt writes"
    assert story.write("A", FAR) == far_off
    assert story.write("B", FAR) == far_off
    assert isinstance(story.last, NotReady)
    assert story.last.shuffle_id == ShuffleId(0)
    assert story.log == []
    assert story.look("")[-2:] == ["A1 expired: in no live cut", "fence A1"]


def test_38_one_that_may_come_is_waited_for_until_later_jobs_have_passed_it() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    assert story.read("A", NEXT) == "ready A1"
    story.look("")
    assert story.life("A1") == "readable"
    passed = 2 + AHEAD
    assert story.job(f"s{passed}>B, s{passed + 1}:B!") == ["job 1", "A1 expired: in no live cut", "fence A1"]


def test_38_nor_is_a_recovery_opened_for_one_far_off_or_kept_open_for_one_that_was_passed() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.delete_all()
    assert story.read("A", FAR) == "not ready: gone, and nobody who runs has missed it"
    assert story.miss("A1", FAR) == "not ready: gone, and nobody who runs has missed it"
    assert story.log == []
    assert story.read("A", NEXT) == "recover A1: recovery 1 of A"
    passed = 2 + AHEAD
    assert story.job(f"s{passed}>B, s{passed + 1}:B!") == ["job 1", "recovery 1 closed"]


def test_38_what_is_far_off_counts_once_it_is_submitted_and_until_it_has_ended() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.delete_all()
    far = attempt_of(FAR)
    assert story.do(c.ReportStageSubmitted(far, (shuffle("A"),))) == [
        f"s{far} submitted",
        f"A1 missed by s{far}",
        "recovery 1 of A1",
    ]
    assert story.do(c.ReportStageCompleted(far)) == [f"s{far} completed", "recovery 1 closed"]
