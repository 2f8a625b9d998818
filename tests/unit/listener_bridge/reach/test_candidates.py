"""What could go is known from facts, and a look is called for where something could."""

from __future__ import annotations

from listener_bridge.reach.candidates import Candidates
from listener_bridge.tap.facts import (
    JobEnded,
    JobStarted,
    KnownShuffle,
    Level,
    ShuffleCleaned,
    Snapshot,
    StageCompleted,
    StageFact,
)


def completed(writes: int | None, written: int = 0, attempt: int = 0, failure: str | None = None) -> StageCompleted:
    stage = StageFact(1, attempt, 4, writes, (), "", "", Level.DETERMINATE, False, (), ())
    return StageCompleted(0, 0, stage, failure, written, 0, 0, 0)


def started(*writes: int) -> JobStarted:
    stages = [StageFact(each, 0, 4, each, (), "", "", Level.DETERMINATE, False, (), ()) for each in writes]
    result = StageFact(100, 0, 4, None, (), "", "", Level.DETERMINATE, False, (), ())
    return JobStarted(0, 1, 0, (*stages, result), 100, None, None)


ENDED = JobEnded(0, 1, 0, True, None)


def test_what_has_just_been_written_calls_for_no_look() -> None:
    candidates = Candidates()
    assert not candidates.hear(completed(5, 100))
    assert candidates.hear(completed(6, 200))
    assert candidates.bytes == {5: 100, 6: 200}


def test_a_job_that_ends_calls_for_a_look_where_something_could_go() -> None:
    candidates = Candidates()
    assert not candidates.hear(ENDED)
    candidates.hear(completed(5))
    assert candidates.hear(ENDED)
    candidates.gone(5)
    assert not candidates.hear(ENDED)


def test_a_job_that_will_write_something_calls_for_a_look_where_something_could_go() -> None:
    candidates = Candidates()
    assert not candidates.hear(started(5, 6))
    candidates.hear(completed(5, 100))
    assert candidates.hear(started(5, 6))
    assert not candidates.hear(started(5)), "all of it is there"
    candidates.hear(completed(6, 100))
    candidates.gone(5)
    assert not candidates.hear(started(5, 6)), "it skips what it lists, or writes it again"
    assert candidates.hear(started(5, 6, 7))


def test_a_job_that_was_tried_before_calls_for_a_look_as_the_first_did() -> None:
    """Spark numbers shuffles from the end of a job: what it wrote first has the higher number."""
    candidates = Candidates()
    candidates.hear(completed(6, 100))
    candidates.hear(completed(5, 0, failure="lost"))
    assert candidates.hear(started(5, 6))


def test_what_was_written_before_we_listened_may_be_much() -> None:
    candidates = Candidates()
    candidates.hear(completed(5, 100))
    assert candidates.are_at_least(100)
    assert not candidates.are_at_least(101)
    candidates.known(Snapshot("s", (KnownShuffle(6, 4, 4),), (), ()))
    assert candidates.are_at_least(101)


def test_how_much_one_of_them_is_may_not_be_known() -> None:
    candidates = Candidates()
    candidates.known(Snapshot("s", (KnownShuffle(6, 4, 4),), (), ()))
    candidates.hear(completed(5, 100))
    assert candidates.is_less(5, 101)
    assert not candidates.is_less(5, 100)
    assert not candidates.is_less(6, 101), "written before we listened"
    assert not candidates.is_less(7, 101), "not one of them"


def test_a_partial_retry_adds_to_what_was_written() -> None:
    candidates = Candidates()
    candidates.hear(completed(5, 100))
    candidates.hear(completed(5, 30, attempt=1))
    assert candidates.bytes == {5: 130}


def test_what_a_failed_stage_has_written_is_a_candidate() -> None:
    """Nobody may ever go on with it: a job that was cancelled leaves its half."""
    candidates = Candidates()
    candidates.hear(completed(5, 100, failure="cancelled"))
    assert candidates.hear(ENDED)
    candidates.hear(completed(5, 30, attempt=1))
    assert candidates.bytes == {5: 130}


def test_what_a_failed_stage_has_written_nothing_of_is_a_candidate_and_little() -> None:
    """Its generation is open in the log until a look lets it go; no disk waits for that."""
    candidates = Candidates()
    candidates.hear(completed(5, 0, failure="lost"))
    assert candidates.hear(ENDED)
    assert candidates.bytes == {5: 0}
    assert not candidates.are_at_least(1)


def test_what_was_cleaned_is_no_candidate() -> None:
    candidates = Candidates()
    candidates.hear(completed(6))
    candidates.hear(ShuffleCleaned(0, 6))
    assert candidates.bytes == {}


def test_what_was_there_before_may_be_anything_until_all_of_it_is_written_anew() -> None:
    candidates = Candidates()
    candidates.known(Snapshot("s", (KnownShuffle(5, 4, 4),), (), ()))
    candidates.hear(completed(5, 100, failure="lost"))
    assert candidates.are_at_least(1_000)
    candidates.hear(completed(5, 30))
    assert not candidates.are_at_least(31)


def test_what_was_there_before_is_a_candidate() -> None:
    candidates = Candidates()
    candidates.known(Snapshot("s", (KnownShuffle(1, 4, 4), KnownShuffle(2, 3, 4), KnownShuffle(3, 0, 4)), (), ()))
    assert candidates.bytes == {1: 0, 2: 0}
