"""Making a failing story short.

Responsible for leaving out what a failure does not need. Refuses to know what is wrong, but that it is wrong in the
same way. Invariant: the story that is given back fails, and what failed in it is of the same kind as before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace

from tests.simulation.schedule import Outcome
from tests.simulation.story import COUNTED, Entry, Setting, Story

Run = Callable[[Story], Outcome]

RUNS_MAX = 400


def shortest(story: Story, run: Run, runs_max: int = RUNS_MAX) -> Outcome:
    """The outcome of the shortest story that was found to fail as this one does; its own where it does not fail."""
    best = run(story)
    if not best.wrongs:
        return best
    kind, left = kind_of(best), runs_max
    shrunk = True
    while shrunk and left > 0:
        shrunk = False
        for candidate in _shorter(best.story):
            left -= 1
            found = run(candidate)
            if found.wrongs and kind_of(found) == kind:
                best, shrunk = found, True
                break
            if left <= 0:
                break
    return best


def kind_of(outcome: Outcome) -> str:
    """What the first wrong is about, without its numbers."""
    first = outcome.wrongs[0].partition(": ")[2] or outcome.wrongs[0]
    return re.sub(r"[^a-z ]+.*", "", first)[:30]


def _shorter(story: Story) -> Iterator[Story]:
    """Large pieces first, then single entries, then a plainer world, then smaller numbers."""
    size = len(story.entries) // 2
    while size:
        for start in range(0, len(story.entries), size):
            yield story.without(range(start, start + size))
        size //= 2
    for place in range(len(story.entries)):  # what is left out may have been what a fault's place was counted from
        for less in (1, 2):
            yield _earlier(story.without((place,)), less)
    plain = Setting()
    for field in fields(story.setting):
        plainer = replace(story.setting, **{field.name: getattr(plain, field.name)})
        if plainer != story.setting:
            yield replace(story, setting=plainer)
    for place, entry in enumerate(story.entries):
        for smaller in _smaller(entry):
            yield replace(story, entries=(*story.entries[:place], smaller, *story.entries[place + 1 :]))


def _earlier(story: Story, less: int) -> Story:
    """The same story, its faults met so many calls earlier."""
    return replace(
        story, entries=tuple(_by(entry, less) if entry.verb in COUNTED else entry for entry in story.entries)
    )


def _by(entry: Entry, less: int) -> Entry:
    if entry.verb not in COUNTED:
        return entry
    whose, number, fault = entry.arguments
    return Entry(entry.verb, (whose, max(0, int(number) - less), fault))


def _smaller(entry: Entry) -> Iterator[Entry]:
    """The same with its last number made smaller."""
    places = [place for place, argument in enumerate(entry.arguments) if isinstance(argument, int) and argument > 0]
    for place in places[-1:]:
        number = int(entry.arguments[place])
        for less in dict.fromkeys((0, number // 2, number - 1)):
            yield Entry(entry.verb, (*entry.arguments[:place], less, *entry.arguments[place + 1 :]))
