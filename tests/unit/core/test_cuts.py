"""What a walk from an output meets, by the state of that output."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from coordinator.core import commands as c
from coordinator.core import cuts
from tests.scenarios.story import Story, shuffle

#: How A, which is made from Z, comes into each state, and what reading it needs then.
NEEDED = {
    "announced": ("", "Z"),
    "writing": ("w", "AZ"),
    "readable": ("W", "A"),
    "partial": ("Wp", "AZ"),
    "lost": ("Wl", "Z"),
    "expired": ("WreSL", "A"),
    "fencing": ("WreL", "AZ"),
    "fenced": ("WreLF", "Z"),
    "deleted": ("WreLFD", "Z"),
}
STEPS: dict[str, Callable[[Story], object]] = {
    "w": lambda story: story.submit("s1"),
    "W": lambda story: story.run("s1"),
    "p": lambda story: story.lose(A=4),
    "l": lambda story: story.lose(A=0),
    "r": lambda story: story.run("s2"),
    "e": lambda story: story.end(),
    "S": lambda story: story.do(c.SetPin(shuffle("A"), "mine")),
    "L": lambda story: story.look("Z"),
    "F": lambda story: story.fenced(),
    "D": lambda story: story.freed(),
}


@pytest.mark.parametrize("life", NEEDED)
def test_a_walk_needs_what_is_there_and_goes_on_behind_what_is_not_intact(life: str) -> None:
    steps, needed = NEEDED[life]
    story = Story()
    story.job("s0>Z, s1:Z>A, s2:A!")
    story.run("s0")
    for step in steps:
        STEPS[step](story)
    assert not steps or story.life("A1") == life
    assert cuts.walk(story.state, {shuffle("A")}) == set(map(shuffle, needed))
    assert cuts.reached(story.state, {shuffle("A")}) == {shuffle("A"), *map(shuffle, needed)}
