"""Every kind of event has its sentence, also where it has as few parts as it may have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

from coordinator.core.events import (
    CutReported,
    Event,
    ExecutionEnded,
    ExecutionStarted,
    GapRecorded,
    GenerationExpired,
    GenerationsMixed,
    Recorded,
    RootGone,
    StageCompleted,
    StageSubmitted,
)
from coordinator.core.ids import AppShuffle, ExecutionId, JobId, LookId, Sequence, ShuffleId, StageAttempt, StageId
from coordinator.core.values import Expiry, Hold, Pressed, RootKind
from coordinator.wire.logfile import read_log
from replay.names import Names
from replay.phrases import kinds, phrase, pressed
from replay.units import clock, few, moment, place, size, span

GOLDEN = Path(__file__).parents[2] / "golden" / "0.1.0.log"


def test_every_kind_of_event_has_a_sentence() -> None:
    assert set(kinds()) == {kind.__name__ for kind in get_args(Event)}
    names = Names()
    for segment in read_log(GOLDEN.read_bytes()):
        for recorded in segment.records:
            names.hear(recorded)
            told = phrase(recorded.event, names)
            assert told
            assert "\n" not in told
            assert "None" not in told


def test_a_root_that_is_gone_or_needs_nothing_is_called_as_when_it_came() -> None:
    names = Names()
    assert phrase(RootGone("o12"), names) == "o12 needs nothing any more"
    cut = CutReported(LookId(1), "o12", RootKind.HANDLE, why="`ranks` in pagerank.py:41")
    names.hear(Recorded(Sequence(1), 0, Sequence(1), cut))
    assert phrase(RootGone("o12"), names) == "handle `ranks` in pagerank.py:41 needs nothing any more"


def test_a_plan_is_called_by_the_line_of_its_execution() -> None:
    names = Names()
    cut = CutReported(LookId(1), "execution 12", RootKind.PLAN, (AppShuffle(3),), why="SQL execution 12")
    assert phrase(cut, names) == "plan SQL execution 12 needs app shuffle 3"
    started = ExecutionStarted(ExecutionId(12), "show at /home/ann/etl.py:41")
    assert phrase(started, names) == "SQL execution 12 started: show at etl.py:41"
    names.hear(Recorded(Sequence(1), 0, Sequence(1), started))
    names.hear(Recorded(Sequence(2), 0, Sequence(2), cut))
    assert phrase(cut, names) == "plan SQL execution 12 (show at etl.py:41) needs app shuffle 3"
    assert phrase(RootGone("execution 12"), names) == "plan SQL execution 12 (show at etl.py:41) needs nothing any more"
    assert phrase(ExecutionEnded(ExecutionId(12)), names) == "SQL execution 12 (show at etl.py:41) ended"


def test_a_mixed_result_says_how_it_came_to_be_one() -> None:
    delivered = GenerationsMixed(AppShuffle(3), JobId(1), StageId(5), delivered=2, partitions=8)
    assert phrase(delivered, Names()) == (
        "the result of job 1 (stage 5) mixes two generations of app shuffle 3: "
        "2 of 8 partitions were delivered before it was computed again; right only if it is deterministic"
    )
    torn = phrase(replace(delivered, delivered=0, failed=True), Names())
    assert torn.endswith("and a part after that; it was failed, as strict asks for")


def test_sizes_and_times_read_well() -> None:
    assert [size(n) for n in (0, 999, 1_000, 1_234_567, 120_000_000, 5 * 10**14)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "1.2 MB",
        "120 MB",
        "500 TB",
    ]
    assert [span(n) for n in (41, 3_200, 245_000, 7_800_000)] == ["41 ms", "3.2 s", "4 min 05 s", "2 h 10 min"]
    assert clock(1_790_000_000_123) == "14:13:20.123"
    assert moment(1_790_000_000_123) == "2026-09-21 14:13:20 UTC"
    assert clock(2**62).startswith("23:59")
    assert place("map at /home/ann/jobs/chain.py:12") == place("map at chain.py:12") == "map at chain.py:12"
    assert place("collect at NativeMethodAccessorImpl.java:0") == "collect at NativeMethodAccessorImpl.java:0"
    assert few(range(11)) == "0, 1, 2, 3, 4, 5, 6, 7 and 3 more"


def test_who_had_asked_to_write_another_shuffle_is_told_to_give_it_up() -> None:
    submitted = StageSubmitted(StageAttempt(StageId(3), 0), tasks=2, gives_up=ShuffleId(7))
    assert phrase(submitted, Names()) == "stage 3.0 submitted: 2 tasks, gives up #7"


def test_who_has_read_what_had_been_recovered_says_so() -> None:
    completed = StageCompleted(StageAttempt(StageId(3), 0), shuffle_bytes_read=10, recovered=(AppShuffle(7),))
    told = "stage 3.0 completed: read 10 B, read app shuffle 7, which had been recovered"
    assert phrase(completed, Names()) == told


def test_a_gap_says_what_is_waited_for() -> None:
    """Without a job that runs the gap is over when the truth has been told."""
    told = [
        phrase(GapRecorded(0, "resync", tuple(map(JobId, until)), resynced=True), Names())
        for until in ((), (3,), (3, 4))
    ]
    assert [one.partition("; ")[2] for one in told] == [
        "no job runs, and what nobody needs expires again",
        "nothing expires until job 3 has ended",
        "nothing expires until jobs 3, 4 have ended",
    ]
    missed = [phrase(GapRecorded(dropped, "outbox", ()), Names()).partition(" (")[0] for dropped in (0, 1, 2)]
    assert missed == ["some facts were missed", "1 fact was missed", "2 facts were missed"]


def test_a_full_disk_is_not_said_to_be_above_what_it_is_below() -> None:
    """The first that goes finds the disk above its high watermark; for the next one the first is on its way out."""
    first, next_one = Pressed("/d", 86, 85, 10, 100), Pressed("/d", 76, 85, 10, 200)
    assert pressed(first) == ": disk /d at 86 %, above 85 %; 0.1 task-s for 10 B"
    still = "had reached 85 %, still at 76 % without what is on its way out"
    assert pressed(next_one) == f": disk /d {still}; 0.2 task-s for 10 B"
    assert "above" not in pressed(Pressed("/d", 85, 85, 10, 100))


def test_what_a_full_disk_takes_is_not_said_to_wait_for_one() -> None:
    """It is fenced in the same moment; what expires otherwise under that policy does wait."""
    reasons = (Expiry.PRESSED, Expiry.UNREACHABLE)
    pressing, waiting = (phrase(GenerationExpired(ShuffleId(1), why, Hold.PRESSURE), Names()) for why in reasons)
    assert pressing == "#1 expired: a disk is full, and nobody is known to need it"
    assert waiting == "#1 expired: in no live cut; held: there is room on the disks, or others go first"


def test_a_root_of_which_only_the_name_is_new_is_a_whole_sentence() -> None:
    cut = CutReported(LookId(1), "o12", RootKind.HANDLE, why="`ranks` in pagerank.py:41")
    assert phrase(cut, Names()) == "handle `ranks` in pagerank.py:41 needs nothing new"
