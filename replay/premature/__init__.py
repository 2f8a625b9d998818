"""What was deleted too early, what that cost, and the least that would have kept it.

Responsible for every premature deletion of a log: the chain of events behind it and its cost (`hearing`), and changes
of policy that avoid it, tried out on the recorded run (`trying`). Refuses to guess: a change is named only where the
core, told the same facts under it, does not miss the shuffle. Invariant: the same log gives the same answer, without a
server and without Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from coordinator.core import events as e
from replay.premature.hearing import Heard, Missed
from replay.premature.trying import MOST_TRIED, Trial
from replay.premature.values import Advice, Cause, Premature, worth

__all__ = ("MOST_TRIED", "Advice", "Cause", "Inquiry", "Premature", "premature", "worth")

Hear: TypeAlias = Callable[[e.Recorded], None]


def premature(log: Iterable[e.Recorded]) -> tuple[Premature, ...]:
    """Every premature deletion, in the order of the log."""
    records, inquiry = list(log), Inquiry()
    for hear in inquiry.passes():
        for recorded in records:
            hear(recorded)
    return inquiry.found


@dataclass(slots=True)
class Inquiry:
    """Finds them in a log that may be longer than memory: it is read once, and twice more where anything was missed.

    What is held is what was missed, what is alive in the run (in the recorded one, and in each that is tried), and a
    bit for each stage that there was.
    """

    found: tuple[Premature, ...] = ()

    def passes(self) -> Iterator[Hear]:
        """Who is to hear the whole log, one after the other."""
        missed = Missed()
        yield missed.hear
        if missed.ids:
            heard = Heard(frozenset(missed.ids))
            yield heard.hear
            trial = Trial(heard)
            yield trial.hear
            self.found = trial.told()
