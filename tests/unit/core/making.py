"""States in which one generation is in each of its lives, and events about anything.

Responsible for constructing these states from facts alone, as a driver would bring them about. Refuses to assert.
Invariant: in every state, app shuffle 0 is A, and its current generation is the one that the state's name tells of.
"""

from __future__ import annotations

from collections.abc import Callable

from coordinator.core.commands import ReportShuffleCleaned
from coordinator.core.ids import AppShuffle
from tests.scenarios.story import EAGER, Story, delayed

#: Names of states of A1, and how each comes about.
STATES = (
    "announced",
    "writing",
    "given up",
    "readable",
    "read",
    "retrying",
    "partial",
    "being repaired",
    "expired",
    "fencing",
    "fencing, asked",
    "fenced",
    "deleted",
    "lost",
    "deleted, being written again",
    "cleaned",
    "never heard of",
)


def state(name: str) -> Story:
    """A story at the point where A is as the name says. Stage 9 is free to ask."""
    story = Story(delayed(EAGER, 1_000) if name in ("expired", "given up") else EAGER)
    if name == "never heard of":
        return story
    if name == "given up":
        story.job("s0>A, s1:A.")
        story.submit("s0")
        story.end(succeeded=False)
    elif name in _READ:
        story.whole("s0>A, s1:A!")
    else:
        story.job("s0>A, s1:A.")
    for verb in _STEPS.get(name, ""):
        _VERBS[verb](story)
    return story


#: States of what a whole job has read.
_READ = ("expired", "fencing", "fencing, asked", "fenced", "deleted", "deleted, being written again", "cleaned")
_VERBS: dict[str, Callable[[Story], object]] = {
    "w": lambda story: story.submit("s0"),
    "W": lambda story: story.run("s0"),
    "r": lambda story: story.submit("s1"),
    "x": lambda story: story.fail("s1"),
    "p": lambda story: story.lose(A=4),
    "l": lambda story: story.lose(A=0),
    "q": lambda story: story.submit("s0.1", tasks=6),
    "a": lambda story: story.read("A", "s9"),
    "F": lambda story: story.fenced(),
    "D": lambda story: story.freed(),
    "c": lambda story: story.do(ReportShuffleCleaned(AppShuffle(0))),
    "n": lambda story: (story.job("s2>A, s3:A!"), story.submit("s2")),
}
_STEPS = {
    "writing": "w",
    "readable": "W",
    "read": "Wr",
    "retrying": "Wrx",
    "partial": "Wp",
    "being repaired": "Wpq",
    "fencing, asked": "a",
    "fenced": "F",
    "deleted": "FD",
    "cleaned": "c",
    "lost": "Wl",
    "deleted, being written again": "FDn",
}
