"""After a gap the whole truth is told, however gaps and snapshots come to lie among the facts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from listener_bridge import words
from listener_bridge.allowance import MUCH_BYTES
from listener_bridge.reporter import Reporter
from listener_bridge.shuffle_services import api
from listener_bridge.tap.facts import EventsDropped, Fact, JobEnded, MarkerPassed, Snapshot

DROPPED, ENDED = EventsDropped(0, 5, "bus"), JobEnded(1, 1, 0, True, None)
TRUTH, MARK = Snapshot("snapshot-1", (), (), ()), MarkerPassed(2, "snapshot-1", "")


class Told:
    """A reporter, what it has told, and how often it has asked for a snapshot."""

    def __init__(self) -> None:
        self.asked = 0
        self.reporter = Reporter()
        self.reporter.on_gap = self._ask
        self.reporter.connected(1_000)

    def _ask(self) -> None:
        self.asked += 1

    def after(self, *facts: Fact) -> list[str]:
        """What is told of these facts."""
        self.reporter.facts(facts)
        self.reporter._snapshot_due = 0.0  # as if the pause between two snapshots were over
        batch = self.reporter.take(100, 1_000_000, 0, lambda: False)
        return [str(request.WhichOneof("command")) for request in batch.requests]


def test_16_a_gap_behind_the_snapshots_place_wants_another_one() -> None:
    told = Told()
    assert told.after(DROPPED) == ["report_gap"]
    assert told.asked == 1
    told.reporter.settle("snapshot", TRUTH, TRUTH.marker)
    assert told.after(MARK, DROPPED) == ["resync", "report_gap"]
    assert told.asked == 2


def test_16_a_snapshot_whose_place_was_dropped_is_no_truth() -> None:
    told = Told()
    told.after(DROPPED)
    told.reporter.settle("snapshot", TRUTH, TRUTH.marker)
    assert told.after(DROPPED, ENDED) == ["report_gap", "report_job_ended"]
    assert told.asked == 2
    told.reporter.settle("snapshot", TRUTH, "snapshot-2")
    assert told.after(MarkerPassed(3, "snapshot-2", "")) == ["resync"]
    told.after()
    assert told.asked == 2


LOCATOR = api.Locator("native", "x")
FREED = words.outcome(1, api.Freed(MUCH_BYTES - 1))


@pytest.mark.parametrize(
    ("came", "is_patient"),
    [
        (api.Freed(MUCH_BYTES - 1), True),
        (api.Freed(MUCH_BYTES), False),
        (api.Fenced(LOCATOR, MUCH_BYTES - 1, "mark"), True),
        (api.Fenced(LOCATOR, MUCH_BYTES, "mark"), False),
        (api.Busy(("stage 1.0",)), False),
        (api.Failed("no"), False),
    ],
)
def test_only_what_became_of_something_small_can_wait(came: words.Outcome, is_patient: bool) -> None:
    assert words.is_patient(words.outcome(1, came), MUCH_BYTES) is is_patient


def test_what_can_wait_goes_along_with_what_cannot_and_alone_where_nothing_comes() -> None:
    told = Told()
    told.reporter.tell(FREED)
    with ThreadPoolExecutor() as background:
        taking = background.submit(told.reporter.take, 100, 1_000_000, 10, lambda: False)
        told.reporter.facts([ENDED])
        taken = [str(request.WhichOneof("command")) for request in taking.result().requests]
    assert (taken + told.after())[:2] == ["report_outcome", "report_job_ended"]
    told.reporter.tell(FREED)
    assert told.after() == ["report_outcome"]
