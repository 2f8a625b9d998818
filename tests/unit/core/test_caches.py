"""What a stage may take from caches, as it is told now and as it was told before."""

from __future__ import annotations

from shuffle_lifecycle.v1 import events_pb2

from coordinator.core import caches
from coordinator.core.commands import ReportStageSubmitted
from coordinator.core.events import StageSubmitted
from coordinator.core.ids import AppShuffle, StageAttempt, StageId
from coordinator.wire import codec

STAGE = StageAttempt(StageId(4), 0)
READS = (AppShuffle(3), AppShuffle(5), AppShuffle(11))


def test_what_lies_behind_and_what_is_read_directly_are_all_that_is_listed() -> None:
    stage = ReportStageSubmitted(STAGE, READS, cached=True, behind=READS[:2])
    assert (caches.behind(stage), caches.direct(stage)) == (READS[:2], READS[2:])


def test_without_persisted_rdds_all_is_read_directly() -> None:
    stage = StageSubmitted(STAGE, READS)
    assert (caches.behind(stage), caches.direct(stage)) == ((), READS)


def test_a_record_from_before_it_was_told_says_that_all_may_lie_behind() -> None:
    told = events_pb2.StageSubmitted(stage={"stage": 4}, reads=READS, cached=True)
    read = codec.record_from_message(events_pb2.Record(sequence=1, because=1, stage_submitted=told))
    assert read is not None
    assert isinstance(read.event, StageSubmitted)
    assert (caches.behind(read.event), caches.direct(read.event)) == (READS, ())
