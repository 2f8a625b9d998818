"""The story of a shuffle says why it went or is still there, who read it and who missed it, and names the events."""

from __future__ import annotations

import re

import pytest

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, JobId, LookId, ShuffleId, Span, StageId
from coordinator.core.lifecycle import Life
from coordinator.core.values import Capabilities, Ending, Outputs, Policy, RootKind, Rule
from replay.explain import UnknownShuffle, explain
from replay.names import Names
from replay.phrases import phrase
from replay.story import Chapter, Line, shortened
from replay.units import clock
from tests.unit.replay.logs import Told, attempt, deleted_and_missed, read_from_blocks
from tests.unit.replay.simulate.test_otherwise import written_in_parts
from tests.unit.replay.test_holders import looked_at, root


def chapter(told: Told, shuffle_id: int = 1, app_shuffle: int = 0) -> Chapter:
    story = explain(told.log, AppShuffle(app_shuffle))
    return next(one for one in story.chapters if one.shuffle_id == shuffle_id)


def texts(chapter: Chapter) -> str:
    return "\n".join(line.text for line in chapter.lines)


def test_an_early_deletion_is_told_from_announcement_to_recovery() -> None:
    told = deleted_and_missed()
    story = explain(told.log, AppShuffle(0))
    gone, again = story.chapters
    assert (story.call_site, story.name) == ("map at chain.py:12", "chain")
    assert story.lines[0].text.startswith("announced by job 0 (count at chain.py:20): made from no other shuffle")
    assert gone.life is Life.DELETED
    assert "by policy frontier: every reader's output is on disk. 120 MB freed, 20 ms after it expired" in gone.verdict
    assert "It was missed 1 time" in gone.verdict
    assert not gone.held_by
    assert "missed by stage 3.0 (map at chain.py:12) of job 1 (collect at chain.py:31)" in texts(gone)
    assert again.life is Life.READABLE
    assert "as recovery 1 asks" in again.lines[0].text


def test_every_line_names_its_event_and_the_fact_that_it_follows_from() -> None:
    told = deleted_and_missed()
    by_sequence = {recorded.sequence: recorded for recorded in told.log}
    for chapter in explain(told.log, AppShuffle(0)).chapters:
        for line in chapter.lines:
            recorded = by_sequence[line.sequence]
            assert (type(recorded.event).__name__, recorded.because) == (line.kind, line.because)
    (expired,) = [line for line in chapter_lines(told) if line.kind == "GenerationExpired"]
    assert expired.text.endswith(f"follows from event {expired.because}")


def chapter_lines(told: Told) -> tuple[Line, ...]:
    return chapter(told).lines


def test_what_is_told_of_a_prefix_does_not_change_later() -> None:
    told = deleted_and_missed()
    whole = texts(chapter(told))
    for length in range(7, len(told.log)):
        part = explain(told.log[:length], AppShuffle(0)).chapters
        assert all(whole.startswith(texts(one)) for one in part if one.shuffle_id == 1)


def test_cached_blocks_that_were_taken_instead_are_told_and_what_was_lost_since() -> None:
    told = read_from_blocks("7")
    taken, missed = (
        next(line.text for line in chapter_lines(told) if line.kind == kind)
        for kind in ("StageSubmitted", "PrematureDeletion")
    )
    (lost,) = [one.sequence for one in told.log if isinstance(one.event, e.ExecutorLost)]
    assert taken == "stage 4.0 (sum at chain.py:25) of job 1 takes cached blocks instead of it"
    assert missed == (
        "missed by stage 5.0 (map at chain.py:12) of job 2; "
        f"cached blocks had been taken instead of it, and since then: executor 7 lost: killed (event {lost})"
    )
    assert "instead" not in texts(chapter(told, 3))


def test_where_it_is_told_that_blocks_went_nobody_guesses_at_executors() -> None:
    told = read_from_blocks("7", told_of_blocks=True)
    (missed,) = [line.text for line in chapter_lines(told) if line.kind == "PrematureDeletion"]
    (gone,) = [one.sequence for one in told.log if isinstance(one.event, e.CachedBlocksLost)]
    assert missed == (
        "missed by stage 5.0 (map at chain.py:12) of job 2, since something before it was lost; "
        f"cached blocks that are taken instead of it may have gone with executor 7 (event {gone})"
    )


def test_what_spark_completes_after_a_loss_that_was_not_ours_is_not_told_as_written_anew() -> None:
    """Nothing was deleted: Spark writes again what is gone, and of what was made from it the missing part alone."""
    told = Told(policy=Policy())
    told.whole_chain()
    told.say(c.ReportOutputs((Outputs(AppShuffle(0), 0, 4), Outputs(AppShuffle(1), 2, 4))))
    told.say(c.ReportStageSubmitted(attempt(0, 1), (), AppShuffle(0), 4, "map at chain.py:12"))
    (opened,) = [recorded.event for recorded in told.log if isinstance(recorded.event, e.RecoveryOpened)]
    assert phrase(opened, Names()).endswith("#1 written anew, #2 would mix unless written anew as a whole")
    (line,) = [line for line in chapter(told, 2, 1).lines if line.kind == "RecoveryOpened"]
    assert line.text.startswith("recovery 1 opened: it was made from #1, and would mix unless written anew as a whole")


def test_one_generation_alone_by_its_shuffle_id() -> None:
    story = explain(deleted_and_missed().log, shuffle_id=ShuffleId(3))
    assert [one.shuffle_id for one in story.chapters] == [3]
    assert story.app_shuffle == 0


def test_observed_only_says_that_it_would_have_been_deleted() -> None:
    told = Told(policy=Policy())
    told.whole_chain()
    assert "would have been deleted" in chapter(told).held_by[0]
    assert "held: observe" in texts(chapter(told))


def test_what_went_by_a_policy_that_was_chosen_later_is_told_with_that_policy() -> None:
    told = Told(policy=Policy())
    told.whole_chain()
    told.say(c.SetPolicy(Policy(Rule.EAGER, observe=False), by="ann"))
    told.carried_out()
    found = chapter(told)
    assert "Deleted early" in found.verdict
    assert "by policy eager" in found.verdict
    (chosen,) = [one.sequence for one in told.log if isinstance(one.event, e.PolicyChanged) and one.event.by == "ann"]
    assert f"asked to fence it (directive 1); follows from event {chosen}: " in texts(found)


def test_what_was_repaired_is_told_as_large_as_all_of_it() -> None:
    assert chapter(written_in_parts()).verdict.startswith("Readable, 95.0 MB.")


def test_what_has_lost_a_part_is_told_as_large_as_what_is_left() -> None:
    told = Told(policy=Policy())
    told.chain_job()
    told.stage(0, "map at chain.py:12", writes=0)
    told.done(0, 120_000_000)
    told.say(c.ReportOutputs((Outputs(AppShuffle(0), 3, 4),)))
    assert (chapter(told).bytes, chapter(told).verdict) == (90_000_000, "Partial, 90.0 MB.")


def test_what_one_report_tells_of_another_shuffle_is_no_cause() -> None:
    told = Told(policy=Policy())
    told.whole_chain()
    told.say(c.ReportOutputs((Outputs(AppShuffle(0), 2, 4), Outputs(AppShuffle(1), 3, 4))))
    first = next(one.sequence for one in told.log if isinstance(one.event, e.OutputsLost))
    other = texts(explain(told.log, AppShuffle(1)).chapters[0])
    assert f"3 of 4 outputs left; found together with event {first}: " in other
    assert "2 of 4 outputs left" in texts(chapter(told))


@pytest.mark.parametrize("observe", [False, True])
def test_a_pin_is_why_it_is_held(observe: bool) -> None:
    """Under `observe` too: no policy would have deleted it."""
    told = Told(policy=Policy(Rule.FRONTIER, observe))
    told.chain_job()
    told.say(c.SetPin(AppShuffle(0), "shared with the nightly job"))
    told.whole_chain()
    assert chapter(told).held_by == ("it is pinned: shared with the nightly job; `shufflectl unpin` lets it go",)
    assert explain(told.log, AppShuffle(0)).lines[1].text == "pinned: shared with the nightly job"


@pytest.mark.parametrize("observe", [False, True])
def test_a_service_that_cannot_delete_is_why_it_is_held(observe: bool) -> None:
    cannot = Capabilities(deletes=False, why_not="push-based shuffle")
    told = Told(policy=Policy(Rule.FRONTIER, observe), capabilities=cannot)
    told.whole_chain()
    assert chapter(told).held_by == ("the shuffle service cannot delete it: push-based shuffle",)


def test_who_uses_it_is_why_it_is_held() -> None:
    told = Told()
    told.chain_job()
    told.stage(0, "map at chain.py:12", writes=0)
    assert chapter(told).held_by[0] == "stage 0.0 (map at chain.py:12) of job 0 (count at chain.py:20) is writing it"
    told.done(0, 5)
    told.stage(1, "groupBy at chain.py:14", reads=(0,), writes=1)
    told.done(1, failure="ExecutorLostFailure\nlong stack")
    assert "its retry will read it again" in "\n".join(chapter(told).held_by)
    assert "stage 1.0 failed while it read it: ExecutorLostFailure" in texts(chapter(told))


@pytest.mark.parametrize(
    ("failure", "told_so"),
    [
        ("", "stage 2.0 has ended, and by its submission did not read it"),
        ("its disk is full", "stage 2.0 failed: its disk is full; by its submission it did not read it"),
    ],
)
def test_who_asked_by_mistake_has_not_read_it_however_it_ended(failure: str, told_so: str) -> None:
    """Stage 2 asks for app shuffle 0, which stage 1 has read, and by its submission reads app shuffle 1 alone."""
    told = Told(policy=Policy(Rule.FRONTIER, observe=True))
    told.whole_chain()
    told.say(c.GetShuffleId(AppShuffle(0), attempt(2)))
    told.stage(2, "count at chain.py:20", reads=(1,))
    told.done(2, failure=failure)
    assert told_so in texts(chapter(told))
    told.say(c.ReportJobEnded(JobId(0)))
    told.say(c.EndApplication())
    assert "read last by stage 1.0 (groupBy at chain.py:14)" in chapter(told).verdict


def test_a_reader_that_failed_is_told_as_one_that_did() -> None:
    told = Told(policy=Policy(Rule.FRONTIER, observe=True))
    told.whole_chain()
    told.say(c.ReportJobStarted(JobId(1), StageId(3), (AppShuffle(0),), stages=(Span(2, 3),)))
    told.stage(3, "collect at chain.py:20", reads=(0,))
    told.say(c.GetShuffleId(AppShuffle(0), attempt(3)))
    told.done(3, failure="no room on the disk")
    told.say(c.EndApplication(Ending.ENDED))
    assert ", read last by stage 3.0 (collect at chain.py:20) of job 1, which failed." in chapter(told).verdict


def test_a_failure_without_a_word_is_told_without_one() -> None:
    told = Told()
    told.chain_job()
    told.stage(0, "map", writes=0)
    told.done(0, 5)
    told.stage(1, "groupBy at chain.py:14", reads=(0,), writes=1)
    told.done(1, failure=" \n")
    assert "stage 1.0 failed while it read it\n" in texts(chapter(told)) + "\n"


def test_what_was_given_up_so_that_nothing_mixes_is_not_told_as_somebody_elses_doing() -> None:
    told = Told(capabilities=Capabilities(completes_after_loss=False))
    told.chain_job()
    told.stage(0, "map at chain.py:12", writes=0)
    told.done(0, 5)
    told.stage(1, "groupBy at chain.py:14", reads=(0,), writes=1)
    told.say(c.ReportMissing(AppShuffle(0), ShuffleId(1), attempt(1)))
    assert "not by our doing: a reader has reported it missing" in chapter(told).verdict
    half = chapter(told, 2, 1).verdict
    assert half.startswith("Given up at event")
    assert "mixed two generations" in half


def test_what_was_given_up_without_outputs_was_not_lost() -> None:
    """Its tasks have failed, one and all; the driver answers that there is nothing to fence."""
    told = Told()
    told.chain_job()
    told.stage(0, "map at chain.py:12", writes=0)
    told.done(0, failure="ValueError")
    told.say(c.ReportJobEnded(JobId(0), succeeded=False))
    (directive,) = told.state.directives
    told.say(c.ReportOutcome(directive, c.Superseded("nothing: app shuffle 0 has no outputs")))
    said = chapter(told).verdict
    assert said.startswith("Given up at event ")
    assert ", half-written: it has no outputs. Never complete, written last by stage 0.0 (map at chain.py:12)" in said


def test_what_no_rule_has_released_says_what_the_rule_waits_for() -> None:
    told = Told()
    told.whole_chain()
    told.carried_out()
    told.stage(2, "count", reads=(1,))
    told.done(2)
    told.say(c.ReportJobEnded(JobId(0)))
    assert "result stage of an RDD job" in chapter(told, 2, 1).held_by[0]
    eager = Told(policy=Policy(Rule.EAGER, observe=False))
    eager.chain_job()
    eager.stage(0, "map", writes=0)
    eager.done(0, 5)
    eager.say(c.ReportJobEnded(JobId(0)))
    assert chapter(eager).held_by == ("policy eager waits for a stage that reads it and writes bytes",)


def test_a_root_that_the_rule_counts_is_why_it_is_held() -> None:
    """Guessing rules count persisted RDDs too, and no mere handles."""
    told = Told()
    told.chain_job()
    told.stage(0, "map at chain.py:12", writes=0)
    told.done(0, 5)
    roots = (
        c.ReportedRoot("rdd 7", RootKind.PERSISTED, (AppShuffle(0),), "`ranks` in chain.py:9"),
        c.ReportedRoot("handle 3", RootKind.HANDLE, (AppShuffle(0),), "`old` in chain.py:8"),
    )
    told.say(c.BeginLook(LookId(1)), c.ReportCut(LookId(1), roots))
    told.stage(1, "groupBy at chain.py:14", reads=(0,), writes=1)
    told.done(1, 5)
    told.say(c.ReportJobEnded(JobId(0)))
    assert chapter(told).held_by == ("persisted `ranks` in chain.py:9 reaches it",)


def test_facts_that_were_missed_are_why_it_is_held() -> None:
    told = Told()
    told.chain_job()
    told.stage(0, "map", writes=0)
    told.done(0, 5)
    told.say(c.ReportGap(7, "outbox"))
    until = "facts were missed, and nothing expires until "
    assert chapter(told).held_by[-1] == f"{until}the whole truth has been told again and job 0 has ended"
    running = c.ReportJobStarted(JobId(0), StageId(2), (AppShuffle(1),), None, (Span(0, 2),))
    told.say(c.Resync(jobs=(running,), outputs=(Outputs(AppShuffle(0), 4, 4),)))
    assert chapter(told).held_by[-1] == f"{until}job 0 has ended"


def test_a_deletion_that_fails_is_why_it_is_still_there() -> None:
    told = Told()
    told.whole_chain()
    told.say(c.ReportOutcome(next(iter(told.state.directives)), c.Fenced(120_000_000)))
    assert chapter(told).held_by == ("it is fenced: nobody can read it, and its data are about to go",)
    deletion = next(iter(told.state.directives))
    told.say(*[c.ReportOutcome(deletion, c.Failed("disk full"))] * 2)
    again = clock(told.state.directives[deletion].due_ms)
    failed = f"its deletion (directive {deletion}) has failed 2 times; it is asked for again at {again}"
    assert chapter(told).held_by == (f"it is fenced: nobody can read it, but {failed}",)


def test_a_reason_is_not_said_twice() -> None:
    told = Told(policy=Policy(Rule.FRONTIER, observe=False, grace_ms=60_000))
    told.whole_chain()
    told.say(c.ReportGap(7, "outbox"))
    assert "kept after all: facts were missed; follows from" in texts(chapter(told))


def test_a_fence_that_is_refused_is_told_with_who_was_busy() -> None:
    told = Told()
    told.whole_chain()
    directive = next(iter(told.state.directives))
    told.say(c.ReportOutcome(directive, c.Busy(("stage 7.1", "task 99"))))
    assert "not fenced: busy, stage 7.1, task 99" in texts(chapter(told))


def asked_while_fencing() -> Told:
    """A2's place is taken: stage 3.0 reads app shuffle 0, and stage 2.0 writes it again, while it is being fenced."""
    told = Told()
    told.whole_chain()
    told.say(c.ReportJobStarted(JobId(1), StageId(3), (AppShuffle(0),), stages=(Span(2, 3),)))
    told.stage(3, "collect", reads=(0,))
    told.stage(2, "map", writes=0)
    return told


def test_who_asks_while_it_is_being_fenced_has_not_read_what_is_fenced() -> None:
    told = asked_while_fencing()
    told.carried_out()
    told.done(3, failure="its input is gone")
    found = chapter(told)
    assert "Written by stage 0.0 " in found.verdict
    assert ", read last by stage 1.0 " in found.verdict
    assert "It was missed 1 time" in found.verdict
    assert "last by stage 3.0 " in found.verdict
    assert "stage 3.0 (collect) of job 1 asks for it" in texts(found)
    assert "stage 2.0 (map) of job 1 asks to go on writing it" in texts(found)
    assert "stage 3.0 failed while it read it" not in texts(found)


def test_who_asks_while_it_is_being_fenced_reads_it_when_the_fence_is_refused() -> None:
    told = asked_while_fencing()
    directive = next(iter(told.state.directives))
    told.say(c.ReportOutcome(directive, c.Busy(("stage 3.0",))), c.ReportShuffleCleaned(AppShuffle(0)))
    assert "Written by stage 2.0 " in chapter(told).verdict
    assert ", read last by stage 3.0 " in chapter(told).verdict


def test_spark_s_own_cleaner_is_told_as_such() -> None:
    told = Told(policy=Policy())
    told.whole_chain()
    told.say(c.ReportShuffleCleaned(AppShuffle(0)))
    assert "not by us: Spark's own cleaner" in chapter(told).verdict


def test_the_end_of_the_application_is_told() -> None:
    told = Told(policy=Policy())
    told.whole_chain()
    told.say(c.EndApplication())
    assert "not by us: the application ended." in chapter(told).verdict


@pytest.mark.parametrize("ending", Ending)
def test_who_held_it_to_the_end_is_told_behind_the_end(ending: Ending) -> None:
    told = looked_at(root("o1", "`ranks` in pagerank.py:41", 1))
    told.say(c.EndApplication(ending))
    held = "Held until then: handle `ranks` in pagerank.py:41 reaches it."
    assert held in explain(told.log, AppShuffle(1)).chapters[0].verdict
    assert explain(told.log, AppShuffle(1)).chapters[0].held_by == ()


def test_what_a_program_had_when_it_called_detach_is_told_to_be_sparks() -> None:
    told = Told(policy=Policy())
    told.whole_chain()
    told.say(c.EndApplication(Ending.DETACHED))
    found = chapter(told)
    assert re.match(r"Closed at event \d+: its driver left, as by detach\(\), and the data are Spark's", found.verdict)
    assert "left to Spark (application detached)" in texts(found)
    assert (found.life, found.became) == (Life.DELETED, "left to Spark")


def test_an_unknown_shuffle_names_those_that_are_known() -> None:
    told = Told()
    told.whole_chain()
    with pytest.raises(UnknownShuffle) as unknown:
        explain(told.log, AppShuffle(9))
    assert (unknown.value.fact, unknown.value.expected) == (
        "app shuffle 9 does not occur in the log",
        "one of the app shuffles: 0, 1",
    )
    with pytest.raises(UnknownShuffle, match="shuffle id 77"):
        explain(told.log, shuffle_id=ShuffleId(77))
    with pytest.raises(UnknownShuffle):
        explain([], AppShuffle(0))


def test_a_story_told_a_hundred_times_stays_short() -> None:
    told = Told()
    told.chain_job()
    told.stage(0, "map", writes=0)
    told.done(0, 5)
    for number in range(100):
        told.say(c.GetShuffleId(AppShuffle(0), attempt(1, number)))
    lines = chapter(told).lines
    assert len(lines) < 15
    assert any("94 more of this kind" in line.text for line in lines)


def test_equal_neighbours_are_told_once() -> None:
    told = deleted_and_missed()
    line = chapter_lines(told)[0]
    assert [one.times for one in shortened([line, line, line])] == [3]


def test_what_was_never_complete_is_not_told_as_written_and_why_is_told() -> None:
    told = Told(policy=Policy())
    told.chain_job()
    told.stage(0, "map at chain.py:12", writes=0)
    told.done(0, 79, failure="worker died\ntrace")
    told.say(c.ReportJobEnded(JobId(0), succeeded=False, failure="worker died"))
    told.say(c.EndApplication(Ending.ENDED))
    found = chapter(told)
    assert " Never complete, written last by stage 0.0 (map at chain.py:12) of job 0" in found.verdict
    assert "Written by" not in found.verdict
    assert "stage 0.0 failed while it wrote it, after 79 B: worker died" in texts(found)


def test_who_missed_what_was_fenced_is_told_also_where_the_application_ended_first() -> None:
    told = Told()
    told.whole_chain()
    told.say(c.ReportOutcome(next(iter(told.state.directives)), c.Fenced(120_000_000)))
    told.say(c.ReportJobStarted(JobId(1), StageId(4), (AppShuffle(0),), None, (Span(3, 4),)))
    told.stage(3, "map at chain.py:12", writes=0)
    told.say(c.EndApplication(Ending.ENDED))
    found = chapter(told)
    assert "not by us: the application ended" in found.verdict
    assert "It was missed 1 time" in found.verdict


def test_of_two_that_asked_in_vain_neither_has_read_it() -> None:
    told = Told(policy=Policy(Rule.FRONTIER, observe=True))
    told.whole_chain()
    told.say(c.ReportJobStarted(JobId(1), StageId(4), (AppShuffle(1),), None, (Span(3, 4),)))
    told.say(c.GetShuffleId(AppShuffle(0), attempt(2)), c.GetShuffleId(AppShuffle(0), attempt(4)))
    told.stage(2, "count at chain.py:20", reads=(1,))
    told.stage(4, "count at chain.py:25", reads=(1,))
    told.done(2)
    told.done(4)
    told.say(c.EndApplication(Ending.ENDED))
    assert ", read last by stage 1.0 " in chapter(told).verdict
