"""More stories of directives, of clients, and of the end."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.digest import digest
from coordinator.core.evolve import fold
from coordinator.core.ids import (
    ClientId,
    DirectiveId,
    JobId,
    LookId,
    ShuffleId,
    StageId,
)
from coordinator.core.lineages import kind_of
from coordinator.core.rejections import AlreadyConfirmed
from coordinator.core.state import empty
from coordinator.core.values import (
    Capabilities,
    Ending,
    Lesson,
    Lineage,
    Policy,
    Rule,
    Settings,
)
from tests.scenarios.further import DELETE, FENCE, READ, REMOTE, found
from tests.scenarios.story import EAGER, FRONTIER, OBSERVE, REACHABLE, Story, attempt_of, delayed, shuffle

# ---- directives ------------------------------------------------------------------------------------------------------

OUTCOMES = (c.Fenced(1), c.Busy(("x",)), c.Cannot("y"), c.Revoked("z"), c.Freed(2), c.Superseded("q"), c.Failed("f"))


@pytest.mark.parametrize("first", OUTCOMES, ids=lambda o: type(o).__name__)
@pytest.mark.parametrize("second", OUTCOMES, ids=lambda o: type(o).__name__)
def test_whatever_is_answered_once_the_second_answer_and_the_retry_end_it(first: c.Outcome, second: c.Outcome) -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    (fence,) = story.state.directives
    story.outcome(FENCE, first, fence)
    before = digest(story.state)
    if fence not in story.state.directives:
        assert story.outcome(FENCE, second, fence) == []
        assert digest(story.state) == before
    for number in list(story.state.directives):
        story.do(c.ReportOutcome(number, second))
    story.now_ms += 100_000
    story.tick()
    story.delete_all()
    assert story.lives() == ""
    assert story.state.meta.bytes_freed in (0, 2, 100, 1)


@pytest.mark.parametrize("change", ["pin", "observe", "suspend", "gap", "switch the group off"])
def test_what_is_fenced_is_deleted_whatever_changes_and_fails_meanwhile(change: str) -> None:
    story = Story(EAGER, settings=Settings(recoveries_per_shuffle=0))
    story.job("s8>B, s9:B.")
    story.run("s8")
    story.whole("s0>A, s1:A!", group="g")
    story.fenced()
    story.outcome(DELETE, c.Failed("disk"))
    match change:
        case "pin":
            story.do(c.SetPin(shuffle("A"), "x"))
        case "observe":
            story.do(c.SetPolicy(OBSERVE))
        case "suspend":
            story.lose(B=0)
            story.read("B", "s9")
            assert story.state.meta.suspended is not None
        case "gap":
            story.do(c.ReportGap(1, "bus"))
        case _:
            story.do(c.SetPolicy(OBSERVE, "g"))
    assert story.outcome(DELETE, c.Cannot("later")) == ["A1 failed: cannot: later, again at 1400"]
    assert story.freed() == ["A1 deleted: policy, 100 bytes"]


def test_busy_with_a_holder_unknown_then_a_known_reader_then_free() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.outcome(FENCE, c.Busy(("task 9",)))
    assert story.tick(50) == ["fence A1"]
    story.job("-s2>A, s3:A!")
    story.submit("s3")
    assert story.outcome(FENCE, c.Busy(("3.0",))) == ["A1 fence refused: busy, kept"]
    assert story.tick(60_000) == []
    story.fail("s3")
    assert story.end(1, False) == ["job 1 failed", f"A1 {READ}", "fence A1"]
    assert story.outcome(FENCE, c.Busy(("x",))) == ["A1 fence refused: busy, again at 61100"]  # pauses begin anew


def test_a_reader_that_waits_for_a_fence_fails_before_its_outcome() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.job("-s2>A, s3:A!")
    story.submit("s3")
    story.fail("s3")
    assert story.fenced() == ["A1 fenced", "delete A1"]
    assert story.submit("s2")[1:] == ["A1 missed by s2.0", "recovery 1 of A1", "A2 begun by s2.0 for recovery 1"]
    story.complete("s2")
    assert story.submit("s3.1") == ["s3.1 submitted", "A2 read by s3.1"]


def test_the_replica_restarts_between_any_two_steps() -> None:
    class Restarting(Story):
        def do(self, command: c.Command) -> list[str]:
            self.witness.state = fold(empty(), self.witness.log)
            return super().do(command)

    logs = []
    for kind in (Story, Restarting):
        story = kind(delayed(EAGER, 10))
        story.job("s0>A, s1:A>B, s2:B>C, s3:C!")
        story.run("s0", "s1")
        story.tick(10)
        story.outcome(FENCE, c.Revoked("shut down"))
        story.tick(50)
        story.fenced()
        story.outcome(DELETE, c.Failed("x"))
        story.run("s2")
        story.freed()
        story.tick(10)
        story.lose(C=4)
        story.submit("s3")
        story.fail("s3")
        story.submit("s0.1")
        story.outcome(FENCE, c.Busy(("x",))) if story.outstanding(FENCE) else None
        story.complete("s0.1")
        story.run("s1.1", "s2.1", "s3.1")
        story.end()
        story.tick(100_000)
        story.delete_all()
        logs.append(story.witness.log)
    assert logs[0] == logs[1]


def test_spark_cleans_in_every_state() -> None:
    def half(s: Story) -> None:
        s.job("s0>A, s1:A!")
        s.submit("s0")

    states: list[Any] = [
        half,
        lambda s: s.whole("s0>A, s1:A."),
        lambda s: (s.whole("s0>A, s1:A."), s.lose(A=3)),
        lambda s: (s.do(c.SetPolicy(OBSERVE)), s.whole("s0>A, s1:A!"), s.look("")),
        lambda s: s.whole("s0>A, s1:A!"),
        lambda s: (s.whole("s0>A, s1:A!"), s.fenced()),
        lambda s: (s.whole("s0>A, s1:A!"), s.fenced(), s.outcome(DELETE, c.Failed("x"))),
        lambda s: (s.whole("s0>A, s1:A!"), s.delete_all()),
        lambda s: (s.whole("s0>A, s1:A."), s.lose(A=0)),
        lambda s: (s.whole("s0>A, s1:A!"), s.delete_all(), s.job("s2>A, s3:A!"), s.submit("s2")),
        lambda s: (s.whole("s0>A, s1:A!"), s.outcome(FENCE, c.Busy(("x",)))),
    ]
    for tell in states:
        story = Story(EAGER)
        tell(story)
        story.do(c.ReportShuffleCleaned(shuffle("A")))
        assert story.lives() == ""
        assert not story.state.shuffles
        assert not story.state.directives
        assert not story.state.recovered
        premature = story.state.meta.premature
        assert story.read("A", "s1") == "not found"
        assert story.tick(1_000_000) == []
        assert story.state.meta.premature == premature


# ---- clients ---------------------------------------------------------------------------------------------------------


def test_two_clients_ask_the_same_in_one_commit_and_are_counted_apart() -> None:
    story = Story()
    story.whole("s0>A, s1:A.")
    one, two = ClientId("one"), ClientId("two")
    ask = c.GetShuffleId(shuffle("A"), attempt_of("s9"))
    asked = [c.Request(one, 1, c.RegisterClient(one)), c.Request(two, 1, c.RegisterClient(two))]
    asked += [c.Request(one, n, ask) for n in range(2, 52)] + [c.Request(two, n, ask) for n in range(2, 32)]
    answers, log = story.witness.answer(asked, 2_000)
    assert {story.answered(a) for a in answers[2:]} == {"ready A1"}
    assert sum(isinstance(r.event, e.ReaderRegistered) for r in log) == 1
    counted = {r.event.client: r.event.repeats for r in log if isinstance(r.event, e.RequestsAnswered)}
    assert counted == {one: 49, two: 30}


def test_retries_below_and_above_the_mark_and_the_present_truth() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A.")
    me = ClientId("me")
    ask = c.GetShuffleId(shuffle("A"), attempt_of("s9"))
    story.witness.answer(
        [c.Request(me, 1, c.RegisterClient(me)), c.Request(me, 2, ask), c.Request(me, 3, c.Tick())], 2_000
    )
    story.witness.answer([c.Request(me, 4, c.Tick(), confirmed=2)], 2_000)
    (below, above), log = story.witness.answer([c.Request(me, 2, ask), c.Request(me, 3, c.Tick())], 2_000)
    assert isinstance(below, AlreadyConfirmed)
    assert (story.answered(above), log) == ("accepted", [])


def test_a_dropped_client_is_a_stranger_and_what_it_reads_is_kept() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.run("s0")
    me = ClientId("me")
    ask = c.GetShuffleId(shuffle("A"), attempt_of("s1"))
    story.witness.answer([c.Request(me, 1, c.RegisterClient(me)), c.Request(me, 2, ask)], 2_000)
    assert story.do(c.DropClient(me)) == ["client me dropped"]
    assert story.do(c.DropClient(me)) == []
    (refused,), log = story.witness.answer([c.Request(me, 3, ask)], 2_000)
    assert (story.answered(refused), log) == ("failed precondition", [])
    assert story.state.generations[1].readers == {attempt_of("s1")}
    (again, answer), _ = story.witness.answer([c.Request(me, 1, c.RegisterClient(me)), c.Request(me, 2, ask)], 3_000)
    assert (story.answered(again), story.answered(answer)) == ("accepted", "ready A1")


def test_a_client_drops_itself_in_the_middle_of_a_commit() -> None:
    story = Story()
    me = ClientId("me")
    (_, _, last), log = story.witness.answer(
        [c.Request(me, 1, c.RegisterClient(me)), c.Request(me, 2, c.DropClient(me)), c.Request(me, 3, c.Tick())], 2_000
    )
    assert story.answered(last) == "failed precondition"
    assert [type(r.event).__name__ for r in log] == ["ClientRegistered", "ClientDropped"]


def test_a_report_and_its_retry_on_another_replica_after_the_recovery() -> None:
    story = Story(EAGER, REMOTE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    me = ClientId("me")
    report = c.Request(me, 2, c.ReportMissing(shuffle("A"), ShuffleId(1), attempt_of("s1")))
    (_, first), _ = story.witness.answer([c.Request(me, 1, c.RegisterClient(me)), report], 2_000)
    story.teller.tell(story.witness.log)
    story.fail("s1")
    story.run("s0.1")
    (again,), log = story.witness.answer([report], 3_000)
    assert (again, log) == (first, [])
    assert story.recoveries == 1


# ---- the end ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", list(Ending))
@pytest.mark.parametrize("state", range(10))
def test_the_application_ends_in_every_state(ending: Ending, state: int) -> None:
    tells: list[Any] = [
        lambda s: None,
        lambda s: (s.job("s0>A, s1:A!"), s.submit("s0")),
        lambda s: (s.job("s0>A, s1:A!"), s.run("s0"), s.submit("s1"), s.lose(A=3)),
        lambda s: (s.do(c.SetPolicy(delayed(EAGER, 1000))), s.whole("s0>A, s1:A!")),
        lambda s: s.whole("s0>A, s1:A!"),
        lambda s: (s.whole("s0>A, s1:A!"), s.fenced()),
        lambda s: (s.whole("s0>A, s1:A!"), s.delete_all(), s.job("s2>A, s3:A!"), s.submit("s2")),
        lambda s: (s.whole("s0>A, s1:A!"), s.do(c.ReportGap(1, "bus"))),
        lambda s: (s.whole("s0>A, s1:A!"), s.fenced(), s.outcome(DELETE, c.Failed("x"))),
        lambda s: (s.job("s0>A, s1:A!"), s.run("s0"), s.submit("s1"), s.miss("A1", "s1"), s.begin_look()),
    ]
    story = Story(EAGER, REMOTE if state == 9 else Capabilities())
    tells[state](story)
    was = story.lives()
    lines = story.do(c.EndApplication(ending))
    assert lines[0] == f"application {ending.value}"
    assert len(lines) == 1 + (len(was.split(", ")) if was else 0)
    assert all(f"deleted: application {ending.value}, 0 bytes" in line for line in lines[1:])
    assert (story.lives(), story.state.directives, story.state.jobs) == ("", {}, {})
    at_the_end = digest(story.state)
    for late in (
        c.ReportJobEnded(JobId(0)),
        c.ReportOutcome(DirectiveId(1), c.Fenced(1)),
        c.Resync((), (), (), found(A=10)),
        c.ReportMissing(shuffle("A"), ShuffleId(1)),
        c.BeginLook(LookId(9)),
        c.RegisterClient(ClientId("x")),
    ):
        assert story.do(late) == []
        assert story.answered(story.last) == "failed precondition"
    assert story.do(c.EndApplication(Ending.ENDED)) == []
    assert story.tick(1_000_000) == []
    assert digest(story.state) == at_the_end


# ---- what is judged otherwise because something far from it was cleaned or announced ---------------------------------


def test_what_no_job_lists_any_more_since_a_shuffle_between_was_cleaned_is_given_up() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A>B, s2:B>C, s3:C!")
    story.submit("s0")
    story.fail("s0")
    story.run("s1")
    assert story.lives() == "A1 writing, B1 readable"
    assert story.do(c.ReportShuffleCleaned(shuffle("C"))) == [
        "C cleaned",
        "A1 expired: given up half-written",
        "fence A1",
    ]


def test_what_is_of_another_kind_since_its_input_was_cleaned_is_judged_by_the_lessons_of_that_kind() -> None:
    alone = kind_of({shuffle("B"): Lineage(shuffle("B"), (shuffle("A"),))}.get, shuffle("B"))
    story = Story(Policy(Rule.HISTORY, observe=False), settings=Settings(lessons=(Lesson(alone, reads=1),)))
    story.whole("s0>A, s1:A>B, s2:B.")
    assert story.life("B1") == "readable"
    assert story.do(c.ReportShuffleCleaned(shuffle("A")))[1:] == [
        "A cleaned",
        "B1 expired: read as often as in earlier runs",
        "fence B1",
    ]


def test_so_is_what_is_of_another_kind_since_its_input_is_told_to_be_made_elsewhere() -> None:
    elsewhere = {
        shuffle("A"): Lineage(shuffle("A"), call_site="b.py:2"),
        shuffle("B"): Lineage(shuffle("B"), (shuffle("A"),)),
    }
    lesson = Lesson(kind_of(elsewhere.get, shuffle("B")), reads=1)
    story = Story(Policy(Rule.HISTORY, observe=False), settings=Settings(lessons=(lesson,)))
    story.whole("s0>A, s1:A>B, s2:B.")
    assert story.life("B1") == "readable"
    again = c.ReportJobStarted(JobId(1), StageId(9), lineage=(elsewhere[shuffle("A")],))
    assert story.do(again)[1:] == ["B1 expired: read as often as in earlier runs", "fence B1"]


def test_what_was_cleaned_and_is_announced_anew_is_on_no_disk_whatever_it_is_made_from() -> None:
    story = Story(FRONTIER)
    story.job("s0>A, s2:A!")
    story.do(c.SetPin(shuffle("A"), "mine"))
    story.run("s0")
    story.do(c.ReportStageSubmitted(attempt_of("s1"), (shuffle("A"),), shuffle("B"), 10))  # of a job nobody has told
    story.do(c.ReportStageCompleted(attempt_of("s1"), shuffle_bytes_written=100))
    story.do(c.ReportShuffleCleaned(shuffle("B")))
    story.end()
    assert story.life("A1") == "expired"
    assert story.job("s3>B, s4:B!") == ["job 1", "A1 rescued: its policy does not let it go (frontier)"]


def test_a_job_that_is_told_once_more_behind_its_end_does_not_live_again() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    assert story.life("A1") == "fencing"
    assert story.job("s0>A, s1:A!", job=0) == []
    assert not story.state.jobs
    assert story.fenced() == ["A1 fenced", "delete A1"]


def test_nor_does_one_whose_end_is_told_before_its_start() -> None:
    story = Story(EAGER)
    assert story.end() == ["job 0 ended"]
    assert story.job("s0>A, s1:A!") == []
    assert not story.state.jobs


def test_a_stage_that_is_told_once_more_behind_its_end_writes_nothing_anew() -> None:
    """Its job lives, and so it would until that ends."""
    story = Story(EAGER, Capabilities(completes_after_loss=False))
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    assert story.submit("s0") == []
    assert story.lives() == "A1 readable, B1 writing"
    story.complete("s1")
    story.fenced()
    assert story.submit("s0") == []
    assert story.submit("s1") == []
    assert story.lives() == "A1 fenced, B1 readable"


def test_nor_does_one_read_whose_jobs_have_ended() -> None:
    story = Story(REACHABLE)
    story.job("s0>A, s1:A!, s2:A.")
    story.run("s0", "s1")
    story.end()
    assert story.submit("s1") == []
    assert story.submit("s2") == []  # and was not told to run
    assert not story.state.attempts
    assert story.look() == ["look", "look ended", "A1 expired: in no live cut", "fence A1"]


def test_a_stage_that_no_job_was_told_to_list_counts() -> None:
    """The start of its job may be what is missing."""
    story = Story(REACHABLE)
    story.whole("s0>A, s5:A!")
    story.do(c.ReportStageSubmitted(attempt_of("s3"), (shuffle("A"),), None, 1))
    assert story.look() == ["look", "look ended"]
    assert story.do(c.ReportStageCompleted(attempt_of("s3")))[-1] == "fence A1"
