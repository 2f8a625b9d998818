"""What people are shown of generations that are gone."""

from __future__ import annotations

from coordinator.core.commands import ReportShuffleCleaned
from coordinator.core.ids import AppShuffle
from coordinator.server.shown import shuffles_shown
from tests.scenarios.story import BYTES, EAGER, Story


def test_what_a_deleted_generation_held_is_shown_until_the_next_one_begins() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    story.fenced()
    story.freed()
    assert [(one.shuffle_id, one.bytes) for one in shuffles_shown(story.state)] == [(1, BYTES)]
    story.job("s2>A, s3:A!")
    story.submit("s2")
    assert [(one.shuffle_id, one.bytes) for one in shuffles_shown(story.state)] == [(2, 0)]
    story.do(ReportShuffleCleaned(AppShuffle(0)))
    assert shuffles_shown(story.state) == []
