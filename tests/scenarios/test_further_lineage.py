"""More stories: lineage that a checkpoint cuts, and lineage that nobody has told."""

from __future__ import annotations

from dataclasses import replace

from coordinator.core import commands as c
from coordinator.core.events import JobStarted, LineageLearned, Recorded
from coordinator.core.evolve import evolve
from coordinator.core.ids import AppShuffle, JobId, ShuffleId, StageId, spans_of
from coordinator.core.scheduler import MANY
from coordinator.core.values import Lineage
from tests.scenarios.story import FRONTIER, MAPS, REACHABLE, Story, attempt_of, shuffle

A, B, C, D = map(shuffle, "ABCD")
BEHIND = "expired: every reader's output is on disk"


def test_what_a_checkpoint_has_cut_off_waits_for_it_no_more() -> None:
    story = Story(FRONTIER)
    story.job("s0>A, s1:A>B, s2:A>C, s3:B,C.")
    story.run("s0", "s1")
    story.submit("s2")
    story.lose(B=3)
    story.complete("s2")
    story.end(0, succeeded=False)
    assert story.life("A1") == "readable"  # B, made from it, is not whole
    before = story.state.meta.next_sequence
    older = Recorded(before, story.now_ms, before, LineageLearned(Lineage(B)))
    assert evolve(story.state, older).generations[ShuffleId(1)].map_readers == {B, C}
    assert story.job("s4>B, s5:B.") == ["job 1", f"A1 {BEHIND}", "fence A1"]
    learned = [r.event for r in story.log if isinstance(r.event, LineageLearned)]
    assert [event.cut_off for event in learned] == [(A,)]
    assert story.submit("s4", tasks=7) == ["s4.0 submitted", "B1 continued by s4.0"]
    assert story.complete("s4") == ["s4.0 completed", "B1 complete"]


def test_what_is_cut_off_while_its_map_stage_runs_is_no_reader_at_its_end() -> None:
    story = Story(FRONTIER)
    story.job("s0>A, s1:A>B, s2:B.")
    story.run("s0")
    story.submit("s1")
    story.job("s3>B, s4:B.")
    assert story.complete("s1") == ["s1.0 completed", "B1 complete", f"A1 {BEHIND}", "fence A1"]
    assert story.state.generations[ShuffleId(1)].map_readers == frozenset()
    assert story.lose(B=3) == ["B1 partial, 3 of 10"]


def test_what_was_asked_for_and_is_not_in_the_lineage_is_no_reader_at_the_end() -> None:
    """Its submission was never told, so that it has read what it asked for."""
    story = Story(FRONTIER)
    story.job("s0>A, s1:A.")
    story.run("s0")
    story.job("s2>B, s3:B.")
    story.do(c.SetPin(A, "mine"))
    story.write("B", "s2")
    assert story.read("A", "s2") == "ready A1"
    story.complete("s2")
    assert (story.state.current(A).reads, story.state.current(A).map_readers) == (1, frozenset())
    story.run("s1")
    story.end(0)
    assert story.lose(B=0) == ["B1 lost: outputs gone"]


def test_an_input_forgets_the_rounds_of_a_loop_that_checkpoints_them() -> None:
    story = Story(FRONTIER)
    story.whole("s0>A, s1:A.")
    story.do(c.SetPin(A, "the input"))
    for n in range(10):
        first = 2 + 4 * n
        story.whole(f"-s{first}>A, s{first + 1}:A>B, s{first + 2}:B.")
        story.whole(f"-s{first + 2}>B, s{first + 3}:B.")
        story.do(c.ReportShuffleCleaned(B))
    assert story.state.current(A).map_readers == frozenset()


def test_what_was_read_for_a_shuffle_of_unknown_lineage_waits_for_it() -> None:
    story = Story(replace(FRONTIER, observe=True))
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.do(c.ReportStageSubmitted(attempt_of("s2"), (A,), B, 10))
    story.do(c.ReportStageCompleted(attempt_of("s2"), shuffle_bytes_written=100))
    assert story.end() == ["job 0 ended", f"A1 {BEHIND}, held: observe"]
    assert story.lose(B=3) == ["B1 partial, 3 of 10", "A1 rescued: its policy does not let it go (frontier)"]
    assert story.job("s3>B, s4:B.") == ["job 1", f"A1 {BEHIND}, held: observe"]
    assert story.state.current(A).map_readers == frozenset()


def test_lineage_that_goes_ahead_of_its_job_lets_nothing_go_and_ends_where_one_report_would() -> None:
    """A job too large for one command. What lies behind it is needed from the job's start on, as if told at once."""
    for policy in (REACHABLE, FRONTIER):
        ahead, at_once = Story(policy), Story(policy)
        for story in (ahead, at_once):
            story.whole("s0>A, s1:A>B, s2:B!")
            story.lose(B=0)
        stages = "s3>A, s4:A>B, s5:B>C, s6:C>D, s7:D!"
        before = ahead.lives()
        assert ahead.do(c.ReportLineage((Lineage(D, (C,), maps=MAPS),))) == []
        assert ahead.do(c.ReportLineage((Lineage(C, (B,), maps=MAPS),))) == []
        assert [type(r.event) for r in ahead.log] == [LineageLearned]
        assert ahead.lives() == before
        assert ahead.job(stages) == ["job 1"]
        assert [type(r.event) for r in ahead.log] == [JobStarted]  # of its lineage nothing is new
        at_once.job(stages)
        for story in (ahead, at_once):
            story.look("")
        assert ahead.lives() == at_once.lives() == before
        assert ahead.state.shuffles == at_once.state.shuffles


def test_very_much_lineage_is_judged_as_a_little() -> None:
    """Beyond some lineages everything is evaluated once, and not what each of them concerns."""
    story = Story()
    story.whole("s0>A, s1:A!")
    chain = tuple(Lineage(AppShuffle(n), (AppShuffle(n - 1),), maps=MAPS) for n in range(1, MANY + 10))
    job = c.ReportJobStarted(JobId(1), StageId(900), (chain[-1].app_shuffle,), None, spans_of(()), chain)
    story.do(job)
    assert [type(r.event) for r in story.log] == [JobStarted] + [LineageLearned] * len(chain)
    assert story.look("") == ["look", "look ended"]
    assert story.lives() == "A1 readable"
    assert story.end(1) == ["job 1 ended", "A1 expired: in no live cut", "fence A1"]
