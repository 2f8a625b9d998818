"""Scenarios 9 to 11, 15 and 18: what counts as a read, and what as a premature deletion.

Responsible for attempts: what each of them writes, reads or misses, and what Spark's own cleaner takes. Refuses to
know when a shuffle is let go. Invariant: only what was really submitted is a miss, and each is counted once.
"""

from __future__ import annotations

from coordinator.core import commands as c
from coordinator.core.events import Recorded, ShuffleCleaned
from coordinator.core.evolve import evolve
from coordinator.core.ids import ShuffleId
from coordinator.core.lineages import kind_of
from coordinator.core.values import DirectiveKind, Lesson, Lineage, Policy, Rule, Settings
from tests.scenarios.story import EAGER, Story, attempt_of, shuffle


def test_9_being_listed_is_nothing() -> None:
    story = Story()
    story.whole("s0>A, s1:A>B, s2:B.")
    story.look("B")
    story.delete_all()
    assert story.life("A1") == "deleted"
    assert story.job("s3>A, s4:A>B, s5:B!") == ["job 1"]
    assert story.run("s5") == ["s5.0 submitted", "B1 read by s5.0", "s5.0 completed"]
    assert story.end(1) == ["job 1 ended"]


def test_9_being_submitted_is_a_premature_deletion() -> None:
    story = Story()
    story.whole("s0>A, s1:A>B, s2:B.")
    story.look("B")
    story.delete_all()
    story.job("s3>A, s4:A>C, s5:C!")
    assert story.submit("s3") == [
        "s3.0 submitted",
        "A1 missed by s3.0",
        "recovery 1 of A1",
        "A2 begun by s3.0 for recovery 1",
    ]
    assert story.complete("s3") == ["s3.0 completed", "A2 complete", "recovery 1 closed"]
    assert story.state.meta.premature == 1
    story.run("s4", "s5")
    story.end(1)
    assert story.state.meta.premature == 1


def test_9_a_reader_before_its_map_stage_is_counted_once() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    story.look("")
    assert story.lives() == "A1 fencing"
    story.fenced()
    story.job("s2>A, s3:A!")
    assert story.read("A", "s3") == "recover A1: recovery 1 of A"
    assert story.teller.tell(story.log) == ["A1 missed by s3.0", "recovery 1 of A1"]
    assert story.submit("s2") == ["s2.0 submitted", "A2 begun by s2.0 for recovery 1"]
    assert story.freed() == ["A1 deleted: policy, 100 bytes"]
    assert story.complete("s2")[1:] == ["A2 complete", "recovery 1 closed"]


def test_10_its_bytes_are_what_all_attempts_left_of_it() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.submit("s0")
    story.do(c.ReportStageCompleted(attempt_of("s0"), "executor lost", shuffle_bytes_written=60))
    story.submit("s0.1", tasks=4)
    story.do(c.ReportStageCompleted(attempt_of("s0.1"), shuffle_bytes_written=40))
    assert story.state.generations[1].bytes == 100
    story.lose(A=7)
    assert story.state.generations[1].bytes == 70
    story.submit("s0.2", tasks=3)
    story.do(c.ReportStageCompleted(attempt_of("s0.2"), shuffle_bytes_written=30))
    assert story.state.generations[1].bytes == 100


def test_10_and_what_was_repaired_unseen_holds_what_it_held_before_its_last_loss() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.lose(A=5)
    story.submit("s0.1", tasks=5)
    story.do(c.ReportStageCompleted(attempt_of("s0.1"), shuffle_bytes_written=150))
    assert story.state.generations[1].bytes == 200
    story.lose(A=5)
    assert story.submit("s1") == ["s1.0 submitted", "A1 complete", "A1 read by s1.0"]
    assert story.state.generations[1].bytes == 200


def test_10_a_partial_retry_keeps_the_id() -> None:
    story = Story()
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0")
    story.submit("s1")
    story.look("")
    assert story.lose(A=7) == ["A1 partial, 7 of 10"]
    assert story.fail("s1") == ["s1.0 failed"]
    assert story.submit("s0.1", tasks=3) == ["s0.1 submitted", "A1 continued by s0.1"]
    assert story.complete("s0.1") == ["s0.1 completed", "A1 complete"]
    story.look("")
    assert story.submit("s1.1") == ["s1.1 submitted", "A1 read by s1.1", "B1 continued by s1.1"]
    assert story.state.generations[1].retrying
    assert story.state.generations[1].readers
    assert story.complete("s1.1") == ["s1.1 completed", "B1 complete", "A1 expired: in no live cut", "fence A1"]


def test_10_two_attempts_are_two_readers() -> None:
    story = Story()
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.submit("s1.1")
    assert len(story.state.generations[1].readers) == 2


def taught(reads: int) -> Story:
    """Under `history`: what is made from nothing was read so often in earlier runs, and late."""
    kind = kind_of({shuffle("A"): Lineage(shuffle("A"))}.get, shuffle("A"))
    lessons = (Lesson(kind, reads, late=True),)
    return Story(Policy(Rule.HISTORY, observe=False), settings=Settings(lessons=lessons))


def test_10_a_map_stage_that_repairs_what_it_wrote_is_no_other_reader() -> None:
    story = taught(reads=2)
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0", "s1")
    story.submit("s2")
    story.lose(B=9)
    story.fail("s2")
    story.submit("s1.1", tasks=1)
    assert story.complete("s1.1") == ["s1.1 completed", "B1 complete"]
    assert story.whole("-s3>A, s4:A.")[-4:] == [
        "s4.0 completed",
        "A1 expired: read as often as in earlier runs",
        "fence A1",
        "job 1 ended",
    ]


def test_10_what_nobody_ever_read_is_not_let_go_before_anybody_has() -> None:
    story = taught(reads=0)
    story.whole("s0>A")
    assert story.lives() == "A1 readable"


def test_11_a_stage_that_reads_blocks_misses_nothing() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    story.look("")
    story.delete_all()
    story.job("s2>A, s3:A!")
    assert story.submit("s3", cached=True) == ["s3.0 submitted"]
    assert story.complete("s3") == ["s3.0 completed"]
    assert story.state.meta.premature == 0


def test_11_a_stage_above_persisted_blocks_reads_what_is_there() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    story.job("s2>A, s3:A!")
    assert story.submit("s3", cached=True) == ["s3.0 submitted", "A1 read by s3.0"]


def two_deleted() -> Story:
    """A and B are gone, and a stage is listed that reads both."""
    story = Story()
    story.whole("s0>A, s1>B, s2:A,B!")
    story.look("")
    story.delete_all()
    story.job("s3>A, s4>B, s5:A,B!")
    return story


def test_11_what_is_read_past_every_cache_is_missed_and_what_lies_behind_is_not() -> None:
    story = two_deleted()
    assert story.submit("s5", behind="A") == [
        "s5.0 submitted",
        "B1 missed by s5.0",
        "recovery 1 of B1 A1",
    ]
    assert story.state.meta.premature == 1


def test_11_where_all_lies_behind_caches_nothing_is_missed() -> None:
    story = two_deleted()
    assert story.submit("s5", behind="AB") == ["s5.0 submitted"]
    assert story.state.meta.premature == 0


def test_11_a_task_that_finds_its_block_gone_and_what_lies_behind_too_opens_the_recovery() -> None:
    story = two_deleted()
    story.submit("s5", behind="AB")
    assert story.miss("A", "s5") == "recover A1: recovery 1 of AB"
    assert story.teller.tell(story.log) == ["A1 missed by s5.0", "recovery 1 of A1 B1"]


def test_11_a_block_that_was_lost_is_a_recovery() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    story.look("")
    story.delete_all()
    story.job("s2>A, s3:A!")
    assert "recovery 1 of A1" in story.submit("s2")
    story.complete("s2")
    assert story.submit("s3", cached=True) == ["s3.0 submitted", "A2 read by s3.0"]


def test_11_what_is_wanted_since_blocks_went_with_an_executor_uses_up_no_budget() -> None:
    story = Story(settings=Settings(premature_budget=0))
    story.whole("s0>A, s1:A>B, s2:B!")
    story.look("")
    story.delete_all()
    assert story.do(c.ReportCachedBlocksLost("7", (shuffle("B"),))) == ["cached blocks before B lost"]
    story.job("s3>A, s4:A>B, s5:B!")
    assert story.submit("s3") == [  # B is wanted because of the loss, and A because of B
        "s3.0 submitted",
        "A1 missed by s3.0",
        "recovery 1 of A1 B1",
        "A2 begun by s3.0 for recovery 1",
    ]
    story.complete("s3")
    assert story.submit("s4") == [
        "s4.0 submitted",
        "A2 read by s4.0",
        "B1 missed by s4.0",
        "B2 begun by s4.0 for recovery 1",
    ]
    assert (story.state.meta.premature, story.state.meta.suspended) == (0, None)


def test_11_a_loss_of_blocks_excuses_one_generation_alone() -> None:
    story = Story(settings=Settings(premature_budget=0))
    story.whole("s0>A, s1:A!")
    story.look("")
    story.delete_all()
    story.do(c.ReportCachedBlocksLost("7", (shuffle("A"),)))
    story.whole("s2>A, s3:A!")
    story.do(c.ReportShuffleCleaned(shuffle("A")))
    story.whole("s4>A, s5:A!")
    story.look("")
    story.delete_all()
    story.job("s6>A, s7:A!")
    assert "suspended: premature deletions passed the budget" in story.submit("s6")


def test_11_blocks_before_what_is_there_excuse_nothing_that_is_deleted_later() -> None:
    story = Story(settings=Settings(premature_budget=0))
    story.whole("s0>A, s1:A!")
    assert story.do(c.ReportCachedBlocksLost("7", (shuffle("A"), shuffle("Z")))) == ["cached blocks before A lost"]
    assert story.do(c.ReportCachedBlocksLost("7", (shuffle("Z"),))) == []
    story.look("")
    story.delete_all()
    story.job("s2>A, s3:A!")
    assert "suspended: premature deletions passed the budget" in story.submit("s2")


def test_11_blocks_that_go_while_what_they_stood_before_is_being_deleted() -> None:
    story = Story(settings=Settings(premature_budget=0))
    story.whole("s0>A, s1:A!")
    story.look("")
    assert story.do(c.ReportCachedBlocksLost("7", (shuffle("A"),))) == ["cached blocks before A lost"]
    story.delete_all()
    story.job("s2>A, s3:A!")
    assert "A1 missed by s2.0" in story.submit("s2")
    assert story.state.meta.suspended is None


def test_15_sparks_own_cleaner_is_never_premature() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    assert story.do(c.ReportShuffleCleaned(shuffle("A"))) == ["A1 deleted: spark, 0 bytes", "A cleaned"]
    assert story.do(c.ReportShuffleCleaned(shuffle("A"))) == []


def test_15_what_every_round_of_a_loop_reads_does_not_remember_rounds_that_spark_has_cleaned() -> None:
    story = Story()
    story.whole("s0>A, s1:A>B, s2:B.")
    story.whole("s3:A>C, s4:C.")
    assert story.state.current(shuffle("A")).map_readers == {shuffle("B"), shuffle("C")}
    here = story.state.meta.next_sequence
    older = Recorded(here, story.now_ms, here, ShuffleCleaned(shuffle("B")))
    assert evolve(story.state, older).generations[ShuffleId(1)].map_readers == {shuffle("B"), shuffle("C")}
    story.do(c.ReportShuffleCleaned(shuffle("B")))
    assert story.state.current(shuffle("A")).map_readers == {shuffle("C")}


def test_15_the_cleaner_while_fencing_or_fenced() -> None:
    for fenced in (False, True):
        story = Story(EAGER)
        story.whole("s0>A, s1:A!")
        (fence,) = story.state.directives
        if fenced:
            story.fenced()
        assert story.do(c.ReportShuffleCleaned(shuffle("A"))) == ["A1 deleted: spark, 0 bytes", "A cleaned"]
        assert not story.state.directives
        assert story.outcome(DirectiveKind.FENCE, c.Fenced(), fence) == []


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


def test_18_also_while_it_is_fenced_and_not_freed_yet() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.submit("s0")
    story.fail("s0")
    story.end(succeeded=False)
    story.fenced()
    story.job("s2>A, s3:A!")
    assert story.submit("s2") == ["s2.0 submitted", "A2 begun by s2.0"]


def test_18_nor_what_they_had_begun_and_nobody_has_any_output_of() -> None:
    """The driver finds nothing there to be fenced, so it is lost: that is no loss of anything that was ever whole."""
    story = Story(EAGER, settings=Settings(recoveries_per_shuffle=1))
    story.job("s0>A, s1:A!")
    story.submit("s0")
    for number in (1, 2, 3):
        began, again = f"s{2 * number - 2}", f"s{2 * number}"
        story.fail(began)
        story.end(number - 1, succeeded=False)
        assert story.outcome(DirectiveKind.FENCE, c.Superseded("nothing")) == [f"A{number} lost: outputs gone"]
        story.job(f"{again}>A, s{2 * number + 1}:A!", job=number)
        assert story.submit(again) == [f"{again}.0 submitted", f"A{number + 1} begun by {again}.0"]
    assert story.complete("s6") == ["s6.0 completed", "A4 complete"]
    assert (story.recoveries, story.state.meta.suspended) == (0, None)
