"""Scenarios 32 and 33: no generation is half of one input and half of another.

Responsible for what is written whole because its input is new, indeterminate, or cannot be completed. Refuses to know
how a loss came to be known. Invariant: what would mix is invalidated before its writer goes on.
"""

from __future__ import annotations

from dataclasses import replace

from coordinator.core import commands as c
from coordinator.core.events import GenerationsMixed
from coordinator.core.ids import JobId, StageId
from coordinator.core.values import Capabilities, DirectiveKind, Level, Settings
from tests.scenarios.story import EAGER, Story, shuffle

INVALIDATE = DirectiveKind.INVALIDATE
CANNOT_COMPLETE = Capabilities(completes_after_loss=False)


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
        "s1.1 completed, recovered A",
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


def test_34_what_the_driver_could_not_keep_apart_is_recorded_as_it_was_told() -> None:
    story = Story(EAGER)
    mixed = c.ReportGenerationsMixed(shuffle("B"), JobId(2), StageId(3), delivered=4, partitions=5, late=True)
    story.do(mixed)
    story.do(replace(mixed, late=False, failed=True))
    told = shuffle("B"), JobId(2), StageId(3), 4, 5
    assert [recorded.event for recorded in story.witness.log[1:]] == [
        GenerationsMixed(*told, late=True, failed=False),
        GenerationsMixed(*told, late=False, failed=True),
    ]


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
