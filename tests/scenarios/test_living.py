"""Scenarios 27 and 40 to 44, as far as the core alone shows them: many replicas, and a long life."""

from __future__ import annotations

from coordinator.core import commands as c
from coordinator.core import decide
from coordinator.core.desk import Desk
from coordinator.core.digest import digest
from coordinator.core.evolve import fold
from coordinator.core.ids import ClientId, DirectiveId, ExecutionId, JobId, Span, StageId
from coordinator.core.lifecycle import Life
from coordinator.core.rejections import Recover
from coordinator.core.state import TABLES, copy, empty, settle
from coordinator.core.values import Capabilities, Lineage
from tests.scenarios.story import EAGER, OBSERVE, REACHABLE, Story, attempt_of, delayed, shuffle


def test_27_two_replicas_report_in_the_same_instant() -> None:
    story = Story(capabilities=Capabilities(completes_after_loss=False))
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    report = c.ReportMissing(shuffle("A"), story.teller.id_of("A1"), attempt_of("s1"))
    first, second = copy(story.state), copy(story.state)
    winner, loser = Desk.over(first, 2_000), Desk.over(second, 2_000)
    won, lost = decide.carry_out(winner, report), decide.carry_out(loser, report)
    assert won == lost
    assert winner.log == loser.log
    settle(winner.state, first)
    fold(second, winner.log)  # the loser reads who was faster, and decides again
    assert digest(first) == digest(second)
    again = Desk.over(second, 2_000)
    answer = decide.carry_out(again, report)
    assert isinstance(answer, Recover)
    assert answer == won
    assert story.teller.tell(again.log) == ["recovery 1 joined for A1 by s1.0"]


def test_40_what_was_told_late_is_decided_in_one_commit_and_counts_once() -> None:
    client = ClientId("bridge")
    facts: tuple[c.Command, ...] = (
        c.RegisterClient(client),
        c.ReportJobStarted(JobId(0), StageId(1), (shuffle("A"),), None, (Span(0, 1),), (Lineage(shuffle("A")),)),
        c.ReportStageSubmitted(attempt_of("s0"), (), shuffle("A"), 1),
        c.ReportStageCompleted(attempt_of("s0"), shuffle_bytes_written=1),
        c.ReportStageSubmitted(attempt_of("s1"), (shuffle("A"),)),
        c.ReportStageCompleted(attempt_of("s1"), output_bytes=1),
        c.ReportJobEnded(JobId(0)),
    )
    story = Story(EAGER)
    requests = [c.Request(client, number, command) for number, command in enumerate(facts, start=1)]
    story.witness.answer(requests, 9_000)
    assert [generation.life for generation in story.state.generations.values()] == [Life.FENCING]
    assert story.witness.answer(requests, 9_500)[1] == []


def test_42_state_is_bounded_by_what_is_alive() -> None:
    """A loop of 250 rounds whose names are rebound; Spark's cleaner comes by from time to time."""
    story = Story(EAGER)
    sizes = set()
    for number in range(250):
        reads = f":{letter_of(number - 1)}" if number else ""
        stage = 2 * number
        previous = f"s{stage - 2}>{letter_of(number - 1)}, " if number else ""
        story.job(f"{previous}s{stage}{reads}>{letter_of(number)}, s{stage + 1}:{letter_of(number)}.", job=number)
        story.run(f"s{stage}", f"s{stage + 1}")
        story.end(number)
        story.witness.log.clear()
        story.delete_all()
        if number > 4:
            story.do(c.ReportShuffleCleaned(shuffle(letter_of(number - 4))))
        sizes.add(sum(len(getattr(story.state, name)) for name in TABLES))
    assert max(sizes) < 20
    assert len(story.state.meta.lost) == 0
    assert story.state.meta.next_shuffle_id == 251


def letter_of(number: int) -> str:
    return chr(ord("A") + number % 26)


def test_42_recoveries_are_forgotten_with_their_shuffles() -> None:
    story = Story(EAGER)
    for number in range(60):
        stage = 4 * number
        story.whole(f"s{stage}>A, s{stage + 1}:A!")
        story.fenced()
        story.freed()
        story.whole(f"s{stage + 2}>A, s{stage + 3}:A!")
        story.do(c.ReportShuffleCleaned(shuffle("A")))
        story.do(c.ResumeDeletion())
    assert not story.state.recoveries
    assert not story.state.recovered
    assert not story.state.shuffles


def test_42_a_recovery_that_was_joined_for_what_it_would_have_mixed_is_forgotten_too() -> None:
    story = Story(EAGER, Capabilities(completes_after_loss=False))
    story.job("s0>A, s1:A>B, s2:A>C, s3:B,C!")
    story.run("s0")
    story.submit("s1")
    story.submit("s2")
    story.miss("A1", "s1")
    story.miss("A1", "s2")
    story.fail("s1")
    story.fail("s2")
    story.end(0, False)
    for name in "ABC":
        story.do(c.ReportShuffleCleaned(shuffle(name)))
    assert (story.state.recoveries, story.state.recovered) == ({}, {})


def test_42_ends_of_executions_are_kept_as_spans() -> None:
    story = Story(EAGER)
    for number in range(100):
        story.do(c.ReportExecutionStarted(ExecutionId(number)))
        story.do(c.ReportExecutionEnded(ExecutionId(number)))
    assert story.state.meta.executions_ended == (Span(0, 99),)
    assert not story.state.executions


def test_42_ends_of_jobs_are_kept_as_spans() -> None:
    story = Story(EAGER)
    for number in range(100):
        story.job("s0:A!")
        story.end(number)
    assert story.state.meta.jobs_ended == (Span(0, 99),)
    assert story.state.meta.stages_ended == (Span(0, 0),)
    assert not story.state.jobs


def test_ids_are_never_reused() -> None:
    story = Story(EAGER)
    seen: list[int] = []
    for number in range(5):
        story.whole(f"s{2 * number}>A, s{2 * number + 1}:A!")
        seen += story.state.generations
        story.delete_all()
        story.do(c.ReportShuffleCleaned(shuffle("A")))
    assert seen == [1, 2, 3, 4, 5]


def test_a_snapshot_goes_on_as_the_log_does() -> None:
    story = Story(delayed(REACHABLE, 10))
    story.whole("s0>A, s1:A>B, s2:B.")
    log = story.witness.log
    for cut in range(len(log)):
        snapshot = copy(fold(empty(), log[:cut]))
        assert digest(fold(snapshot, log[cut:])) == digest(story.state)


def test_44_nothing_happens_to_what_is_over() -> None:
    story = Story(OBSERVE)
    story.whole("s0>A, s1:A!")
    story.do(c.EndApplication())
    before = digest(story.state)
    for command in (
        c.GetShuffleId(shuffle("A"), attempt_of("s9")),
        c.ReportShuffleCleaned(shuffle("A")),
        c.SetPolicy(EAGER),
        c.ReportOutcome(DirectiveId(1), c.Fenced()),
    ):
        story.do(command)
        assert story.answered(story.last) == "failed precondition"
    assert digest(story.state) == before
