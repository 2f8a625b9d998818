"""A point means one place in a log, the state there is the fold up to it, and what changed is told."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from datetime import datetime, timezone

import pytest

from coordinator.core.digest import digest
from coordinator.core.events import Recorded
from coordinator.core.evolve import fold
from coordinator.core.lifecycle import Life
from coordinator.core.state import empty
from replay import names, points
from replay.moments import moment
from replay.points import NotReached, WrongPoint, point, until
from replay.travel import Ended, Traveller, at, difference
from tests.unit.replay.logs import BEGIN_MS, Told, deleted_and_missed
from tests.unit.replay.test_premature import goes_on

LOG = deleted_and_missed().log


@pytest.mark.parametrize(
    ("said", "sequence"),
    [
        ("15", 15),
        ("end", len(LOG)),
        ("2026-09-21T14:13:20.050Z", 15),
        ("2026-09-21 14:13:20.049", 11),
        ("2026-09-21T16:13:20.050+02:00", 15),
        ("14:13:20.050", 15),
        ("14:13:20", len(LOG)),
        ("GenerationDeleted", 18),
        ("generation-deleted #1", 18),
        ("GenerationStarted 1", 11),
        ("GenerationStarted#3", 27),
        ("LineageLearned 1", 4),
        ("PrematureDeletion 0", 25),
        ("RecoveryOpened #1", 26),
    ],
)
def test_a_point_is_one_place_in_the_log(said: str, sequence: int) -> None:
    there = at(LOG, point(said))
    assert there.sequence == sequence, LOG[there.sequence - 1]
    assert digest(there.state) == digest(fold(empty(), LOG[:sequence]))


@pytest.mark.parametrize("many", [1, 2, 5, 7, 100])
@pytest.mark.parametrize("said", ["15", "end", "14:13:20.050", "GenerationDeleted", "GenerationStarted 1", "99"])
def test_a_log_in_batches_leads_to_the_same_place(said: str, many: int) -> None:
    one_by_one, traveller = Traveller(point(said)), Traveller(point(said))
    for recorded in LOG:
        one_by_one.take(recorded)
    for begin in range(0, len(LOG), many):
        batch = LOG[begin : begin + many]
        assert traveller.take_all(batch) == (batch[-1].sequence <= one_by_one.sequence)
    assert (traveller.sequence, traveller.arrived) == (one_by_one.sequence, one_by_one.arrived)
    assert digest(traveller.state) == digest(one_by_one.state)
    assert moment(traveller) == moment(one_by_one)


def test_stepping_gives_the_same_state_and_says_what_each_event_changed() -> None:
    traveller = Traveller()
    changes = {int(recorded.sequence): traveller.step(recorded) for recorded in LOG}
    assert digest(traveller.state) == digest(fold(empty(), LOG))
    told = {sequence: [f"{one.what}: {one.how}" for one in found or ()] for sequence, found in changes.items()}
    assert told[8] == ["shuffle #1 of app shuffle 0: state writing → readable, size 120 MB"]
    assert told[14] == [
        "shuffle #1 of app shuffle 0: state readable → expired, because every reader's output is on disk"
    ]
    assert "shuffle #1 of app shuffle 0: is deleted" in told[18]
    assert all(told[sequence] for sequence in told if sequence not in (19, 24)), told


def test_a_difference_is_what_the_steps_between_make_of_it() -> None:
    before, after = at(LOG, point("8")), at(LOG, point("GenerationDeleted"))
    found = {one.what: one.how for one in difference(before, after)}
    assert found["shuffle #1 of app shuffle 0"] == "is deleted"
    assert found["shuffle #2 of app shuffle 1"] == "is new: state readable, size 60.0 MB"
    assert found["the application"] == "freed 120 MB"
    assert difference(after, after) == ()


def test_a_moment_names_every_generation_once_and_counts_what_is_held() -> None:
    for sequence in range(1, len(LOG) + 1):
        found = moment(at(LOG, points.AtEvent(sequence)))
        ids = [*(one.shuffle_id for one in found.generations), *(one.shuffle_id for one in found.gone)]
        assert len(set(ids)) == len(ids) == sum(one.generations for one in found.counts)
        assert found.sequence == sequence
    assert (found.held_bytes, found.freed_bytes) == (180_000_000, 120_000_000)
    assert [(one.shuffle_id, one.life, one.cause) for one in found.gone] == [(1, Life.DELETED, "policy")]
    assert [one.readers for one in found.generations] == [(), ("4.0",)]
    assert [one.name for one in found.stages] == [
        "stage 4.0 (collect at chain.py:31) of job 1 (collect at chain.py:31)"
    ]


def many_deleted(jobs: int) -> Iterator[Recorded]:
    told = Told()
    yield from told.log
    told.log.clear()
    yield from goes_on(told, jobs)


def test_of_what_is_gone_the_newest_are_named_and_all_are_counted() -> None:
    whole, some = Traveller(), Traveller(gone=Ended(3))
    for recorded in many_deleted(40):
        whole.take(recorded)
        some.take(recorded)
    assert len(moment(whole).gone) == 40
    assert moment(some).gone == moment(whole).gone[-3:]
    assert moment(some).counts == moment(whole).counts


def test_a_long_way_is_gone_in_as_much_memory_as_a_short_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(names, "_OVER", 20)

    def held_bytes(jobs: int) -> int:
        traveller = Traveller(gone=Ended(3))
        tracemalloc.start()
        try:
            for recorded in many_deleted(jobs):
                traveller.take(recorded)
            gc.collect()
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    held_bytes(1_600)  # Python 3.10 keeps caches with code that has run a thousand times
    assert (held_bytes(400) - held_bytes(50)) / 350 < 30, "bytes a job"


def test_outstanding_directives_are_shown_until_they_are_answered() -> None:
    asked = moment(at(LOG, until("FenceRequested"))).directives
    assert [(one.kind, one.shuffle_id, one.requested_ms) for one in asked] == [("fence", 1, BEGIN_MS + 50)]
    assert moment(at(LOG, until("GenerationDeleted"))).directives == ()


def test_a_time_of_day_behind_midnight_is_the_next_day_s() -> None:
    early = point("00:00:01").in_log(LOG[0])
    assert isinstance(early, points.AtTime)
    assert 0 < early.time_ms - LOG[-1].time_ms < 24 * 3_600_000


@pytest.mark.parametrize(
    ("said", "end"),
    [
        ("2026-11-21T10:02:11.180", "10:02:11.180"),
        ("2026-11-21T10:02:11", "10:02:11.999"),
        ("2026-11-21 10:02:11 UTC", "10:02:11.999"),
        ("2026-11-21T10:02", "10:02:59.999"),
        ("2026-11-21T12:02+02:00", "10:02:59.999"),
        ("2026-11-21T10:02Z", "10:02:59.999"),
        ("2026-11-21", "23:59:59.999"),
        ("2026-11-21 UTC", "23:59:59.999"),
    ],
)
def test_a_time_means_the_end_of_what_was_said(said: str, end: str) -> None:
    found = point(said)
    assert isinstance(found, points.AtTime)
    assert found.time_ms == round(datetime.fromisoformat(f"2026-11-21T{end}+00:00").timestamp() * 1_000)


def test_a_time_of_day_to_the_minute_means_all_of_it() -> None:
    begin = datetime.fromtimestamp(BEGIN_MS / 1_000, timezone.utc)
    found = point(f"{begin:%H:%M}").in_log(LOG[0])
    assert isinstance(found, points.AtTime)
    assert found.time_ms == BEGIN_MS - BEGIN_MS % 60_000 + 59_999
    assert found.overshot(LOG[0]) == "", "the log ends within what was said"


@pytest.mark.parametrize("zone", [" UTC", "Z"])
def test_a_time_of_day_may_name_its_zone_as_a_date_may(zone: str) -> None:
    assert point(f"10:02:11{zone}") == point("10:02:11")
    assert point(f"10:02{zone}") == point("10:02")


@pytest.mark.parametrize("said", ["", "yesterday", "25:99", "2026-13-01", "GenerationEaten", "#7", "-3"])
def test_what_is_no_point_is_refused(said: str) -> None:
    with pytest.raises(WrongPoint, match="an event's number"):
        point(said)


@pytest.mark.parametrize("said", ["33", "0", "GenerationLost", "GenerationDeleted #2", "2020-01-01"])
def test_a_point_that_the_log_does_not_have(said: str) -> None:
    with pytest.raises(NotReached):
        at(LOG, point(said))


def test_what_changed_is_told_in_words_and_not_as_fields_of_records() -> None:
    traveller = Traveller()
    told = {f"{one.what}: {one.how}" for recorded in LOG for one in traveller.step(recorded) or ()}
    assert {
        "shuffle #1 of app shuffle 0: is new: written by stage 0.0",
        "shuffle #1 of app shuffle 0: read by nobody → stage 1.0",
    } <= told, told
    assert not [one for one in told if any(raw in one for raw in ("true", "false", "life ", "_ms", "lineage of"))]
    for end in ("missed #1", "is new: made from app shuffle 0"):
        assert any(one.endswith(end) for one in told), (end, told)
