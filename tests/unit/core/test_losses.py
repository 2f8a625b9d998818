"""What is left of a generation that is given up."""

from __future__ import annotations

from dataclasses import replace

from coordinator.core.desk import Desk
from coordinator.core.ids import ShuffleId
from coordinator.core.losses import lose
from coordinator.core.values import DirectiveKind, Locator, Loss
from tests.scenarios.story import EAGER, Story

NAMED = Locator("native", b"7/0")


def test_an_invalidation_names_the_generation_where_it_has_a_name() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.run("s0")
    desk = Desk.over(story.state, 2_000)
    lose(desk, replace(story.state.generations[ShuffleId(1)], locator=NAMED), Loss.INVALIDATED)
    [directive] = desk.state.directives.values()
    assert (directive.kind, directive.locator) == (DirectiveKind.INVALIDATE, NAMED)
