"""Records that are damaged, torn or odd cost their own line."""

from __future__ import annotations

from coordinator.core import events as e
from coordinator.core.events import Recorded
from coordinator.core.values import Policy, Rule
from coordinator.wire.codec import Segment
from coordinator.wire.logfile import write_log
from replay.learn import learned
from replay.simulate.recordings import Recording, simulated
from tests.unit.replay.test_holders import looked_at, root

FRONTIER = (("frontier", Policy(Rule.FRONTIER, observe=False)),)


def recording(log: list[Recorded]) -> Recording:
    content = b"".join(write_log((Segment(log[0].sequence, b"c", "replica-1", tuple(log)),)))
    return Recording("app.log", len(content), content=content)


def test_a_log_that_ends_within_a_look_is_simulated_to_its_end() -> None:
    log = looked_at(root("o1", "`a` in chain.py:3", 0)).log
    cut = next(place for place, one in enumerate(log, 1) if isinstance(one.event, e.CutReported))
    found = simulated(recording(log[:cut]), FRONTIER)
    assert (found.failed, len(found.summaries)) == ("", 1)
    assert learned(recording(log[:cut])).why_not == "it has not ended, so later reads are not in it: left out"


def test_what_nobody_thought_of_costs_nothing_else() -> None:
    odd = Recording("a\0b", 1, path="a\0b")
    assert simulated(odd, FRONTIER).failed == "it could not be simulated: ValueError: embedded null byte"
    assert "embedded null byte" in learned(odd).why_not
