"""After a gap the whole truth is told, however gaps and snapshots come to lie among the facts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from shuffle_lifecycle.v1 import common_pb2, service_pb2

from coordinator.runtime.limits import Limits
from listener_bridge import translate, words
from listener_bridge.allowance import HARDLY_ANY, MUCH_BYTES
from listener_bridge.outbox import WAITING_MAX
from listener_bridge.reporter import QUIET_S, SOME_AHEAD, Reporter
from listener_bridge.shuffle_services import api
from listener_bridge.tap.facts import (
    ApplicationEnded,
    EventsDropped,
    ExecutionStarted,
    Fact,
    JobEnded,
    KnownShuffle,
    MarkerPassed,
    Snapshot,
)

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


def test_16_of_two_snapshots_for_one_gap_the_first_one_tells() -> None:
    """Where their places are long in coming another one is asked for; a second truth would be a second gap's end."""
    told = Told()
    told.after(DROPPED)
    told.after()
    assert told.asked == 2
    told.reporter.settle("snapshot", TRUTH, TRUTH.marker)
    assert told.after(MARK) == ["resync"]
    told.reporter.settle("snapshot", TRUTH, "snapshot-2")
    assert told.after(MarkerPassed(3, "snapshot-2", "")) == []
    assert told.after(DROPPED) == ["report_gap"]
    told.reporter.settle("snapshot", TRUTH, "snapshot-3")
    assert told.after(MarkerPassed(4, "snapshot-3", "")) == ["resync"]


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


def test_what_a_directive_of_the_lost_log_came_to_is_not_told_to_the_new_one() -> None:
    """Its number may be another directive's there. A snapshot from before would have closed the gap in front of it."""
    told, fenced = Told(), "fenced-1-0"
    told.after(DROPPED)
    told.reporter.settle("snapshot", TRUTH, TRUTH.marker)
    told.reporter.begin(5)
    told.reporter.settle(5, words.outcome(5, api.Fenced(LOCATOR, 1, fenced)), fenced)
    told.reporter.begin_again()
    assert told.after(MARK, MarkerPassed(3, fenced, "")) == []
    told.reporter.settle("snapshot", TRUTH, "snapshot-2")
    assert told.after(MarkerPassed(4, "snapshot-2", "")) == ["report_gap", "resync"]


@pytest.mark.parametrize("is_told_by_spark", [True, False])
def test_the_end_is_told_although_a_gap_is_open(is_told_by_spark: bool) -> None:
    """Else the coordinator would wait for the driver's silence, and take it for lost."""
    told = Told()
    told.reporter.begin_again()
    told.after(ENDED)
    missed = told.reporter.missed()
    if is_told_by_spark:
        assert told.after(ApplicationEnded(2, 1)) == ["report_gap", "end_application"]
    else:
        told.reporter.tell(translate.end_of_application(common_pb2.ENDING_DETACHED))
        assert told.after() == ["report_gap", "end_application"]
    assert told.reporter.missed() >= missed


def test_a_fact_that_cannot_be_told_wants_a_snapshot() -> None:
    told = Told()
    assert told.after(ExecutionStarted(0, 1, "\ud83d", "site", 0, False), ENDED) == ["report_gap", "report_job_ended"]
    assert told.asked == 1


LOCATOR = api.Locator("native", "x")
FREED = words.outcome(1, api.Freed(MUCH_BYTES // HARDLY_ANY - 1))
FREED_SOME = words.outcome(1, api.Freed(MUCH_BYTES // HARDLY_ANY))


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


def test_what_became_of_some_waits_for_nothing_as_long_as_it_is_seldom() -> None:
    told, prompt = Told(), []
    told.after()
    for _ in range(SOME_AHEAD + 10):
        told.reporter.tell(FREED_SOME)
        prompt.append(told.reporter._is_prompt)
        told.after()
    assert prompt[: SOME_AHEAD + 1] == [True] * (SOME_AHEAD + 1)
    assert False in prompt[SOME_AHEAD + 1 :]


def all_told(told: Told, snapshot: Snapshot, bytes_max: int) -> list[str]:
    """What is told and answered of a gap and the truth behind it."""
    told.reporter._outbox.open_gap(1)
    told.reporter.settle("snapshot", snapshot, snapshot.marker)
    told.reporter.facts([MarkerPassed(2, snapshot.marker, "")])
    commands: list[str] = []
    while requests := told.reporter.take(1_024, bytes_max, 0, lambda: False).requests:
        commands.extend(str(request.WhichOneof("command")) for request in requests)
        accepted = service_pb2.NumberedAnswer(number=requests[0].number, last=requests[-1].number)
        accepted.accepted.SetInParent()
        told.reporter.answered(accepted)
    return commands


def test_what_was_missed_is_never_forgotten() -> None:
    """Who finds it as it was takes it that nothing was lost: a look would keep silent of what nobody heard."""
    told = Told()
    told.reporter.connected(2_048)
    told.reporter._outbox.open_gap(1)
    seen = [told.reporter.missed()]
    told.reporter.facts([ENDED])
    seen.append(told.reporter.missed())
    told.reporter.settle("snapshot", Snapshot("snapshot-1", (), (), ()), "snapshot-1")
    told.reporter.facts([MarkerPassed(2, "snapshot-1", "")])
    assert not told.reporter.backlog().is_gap_open
    seen.append(told.reporter.missed())
    assert seen == sorted(set(seen))


def test_42_a_truth_of_very_many_shuffles_is_told_and_closes_the_gap() -> None:
    told = Told()
    told.reporter.connected(2_048, Limits().message_bytes)
    shuffles = tuple(KnownShuffle(number, 200, 200) for number in range(100_000))
    commands = all_told(told, Snapshot("snapshot-1", shuffles, (), ()), bytes_max=1_000_000)
    assert commands == ["report_gap", *["report_outputs"] * 5_000, "resync"]
    assert not told.reporter.backlog().is_gap_open


def test_a_truth_that_no_message_can_hold_is_told_again_ever_more_slowly() -> None:
    told = Told()
    snapshot = Snapshot("snapshot-1", tuple(KnownShuffle(number, 2, 2) for number in range(40)), (), ())
    for tries in (1, 2, 3):
        assert all_told(told, snapshot, bytes_max=250) == ["report_gap", "report_outputs", "report_outputs"]
        assert told.reporter.backlog().is_gap_open
        assert told.reporter._refusals._failures == tries
    told.reporter.take(1, 250, 0, lambda: False)
    assert told.asked == 0, "not before the pause is over"


def test_who_has_nothing_to_tell_for_long_tells_that() -> None:
    told = Told()
    assert told.after(ENDED) == ["report_job_ended"]
    assert told.after() == []
    told.reporter._sent_s -= QUIET_S
    assert told.after() == ["report_outputs"]
    assert told.after() == []


def test_nor_is_silence_broken_while_a_gap_is_open() -> None:
    told = Told()
    told.reporter._outbox.open_gap()
    told.reporter._sent_s -= QUIET_S
    assert (told.after(), told.reporter.backlog().dropped) == ([], 0)


def kept_in(batch: service_pb2.Batch) -> list[int]:
    return [one.report_kept.app_shuffle for one in batch.requests if one.HasField("report_kept")]


def test_what_follows_the_truth_is_told_again_where_a_gap_swallows_it_before_it_is_answered() -> None:
    told = Told()
    reporter = told.reporter
    reporter.begin_again([words.kept(4, "pinned before")])
    reporter.settle("first", TRUTH)
    reporter.facts([ENDED] * (WAITING_MAX + 1))
    assert reporter.backlog().is_gap_open, "a coordinator that is slow, and a driver that is not"
    reporter.settle("second", TRUTH)
    batch = reporter.take(100, 1_000_000, 0, lambda: False)
    assert kept_in(batch) == [4]
    reporter.settle("third", TRUTH)
    assert kept_in(reporter.take(100, 1_000_000, 0, lambda: False)) == [], "it is on its way"
    for request in batch.requests:
        reporter.answered(service_pb2.NumberedAnswer(number=request.number, accepted=service_pb2.Accepted()))
    reporter.settle("fourth", TRUTH)
    assert kept_in(reporter.take(100, 1_000_000, 0, lambda: False)) == [], "it was taken"
