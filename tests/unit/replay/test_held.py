"""What one run held is told alike, whoever tells it: by the core's fold, by `simulate` as recorded, by a picture.

`report` is held against the same fold in tests/spark/frames.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from coordinator.core import events as e
from coordinator.core.evolve import apply
from coordinator.core.ids import ShuffleId
from coordinator.core.state import empty
from coordinator.wire.logfile import read_log
from replay.simulate import facts_of, simulate
from replay.timeline.collect import Picture
from tests.unit.replay.logs import deleted_and_missed, fence_finds, wanted_while_fencing
from tests.unit.replay.simulate.test_otherwise import repaired_unmeasured, written_in_parts

GOLDEN = sorted((Path(__file__).parents[2] / "golden").glob("*.log"))
LOGS = {
    "the fence finds more": fence_finds(150_000_000).log,
    "the fence finds less": fence_finds(90_000_000).log,
    "the fence does not tell": fence_finds(0).log,
    "written in parts": written_in_parts().log,
    "repaired, and nobody says how much": repaired_unmeasured().log,
    "deleted and missed": deleted_and_missed().log,
    "kept after all": wanted_while_fencing().log,
    **{file.name: [one for segment in read_log(file.read_bytes()) for one in segment.records] for file in GOLDEN},
}


def by_the_fold(log: list[e.Recorded]) -> list[int]:
    """Bytes held after each event, as `replay --at` shows them."""
    state, found = empty(), []
    for recorded in log:
        apply(state, recorded)
        found.append(sum(generation.bytes for generation in state.generations.values()))
    return found


def figures(log: list[e.Recorded], held: list[int]) -> tuple[float, int]:
    """Byte-seconds, and the peak."""
    steps = zip(pairwise(log), held, strict=False)
    return sum(size * (later.time_ms - one.time_ms) for (one, later), size in steps) / 1000, max(held)


def by_a_picture(log: list[e.Recorded], most: int = 20_000) -> list[int]:
    """The same by the changes of all bars, each at its event."""
    picture = Picture(most)
    for recorded in log:
        picture.hear(recorded)
    moved: dict[int, int] = {}
    for bar in picture.bars.values():
        for (_, before, _), (_, after, sequence) in pairwise([(0, 0, 0), *bar.changes]):
            moved[sequence] = moved.get(sequence, 0) + after - before
    held, found = 0, []
    for recorded in log:
        held += moved.get(recorded.sequence, 0)
        found.append(held)
    return found


@pytest.mark.parametrize("name", LOGS)
def test_a_picture_holds_after_each_event_what_the_fold_holds(name: str) -> None:
    log = LOGS[name]
    assert by_a_picture(log) == by_the_fold(log)


@pytest.mark.parametrize("name", [name for name in LOGS if not name.endswith(".log")])
def test_a_run_simulated_as_it_was_recorded_held_what_the_fold_held(name: str) -> None:
    log = LOGS[name]
    outcome = simulate(facts_of(log))
    byte_seconds, peak_bytes = figures(log, by_the_fold(log))
    assert outcome.held_byte_seconds == pytest.approx(byte_seconds)
    assert outcome.peak_bytes == peak_bytes


def test_what_the_fence_found_counts_from_the_fence_on() -> None:
    """120 MB from 30 ms, with 60 more from 50; fenced at 60 ms, deleted at 70; the end is at 100 ms."""
    log = fence_finds(150_000_000).log
    byte_seconds, peak_bytes = figures(log, by_the_fold(log))
    assert peak_bytes == 210_000_000
    assert byte_seconds == pytest.approx((120 * 0.030 + 150 * 0.010 + 60 * 0.050) * 1e6)


def test_a_repair_of_which_no_bytes_are_told_leaves_it_as_large_as_it_was() -> None:
    assert by_the_fold(repaired_unmeasured().log)[-1] == 180_000_000


def test_of_one_that_changes_all_the_time_what_lies_between_goes() -> None:
    log = fence_finds(0).log
    picture = Picture()
    for recorded in log:
        picture.hear(recorded)
    bar = picture.bars[ShuffleId(2)]
    for held in range(5_000):
        bar.hold(log[-1], held)
    assert (len(bar.changes), bar.changes[0][1], bar.changes[-1][1]) == (1_000, 60_000_000, 4_999)
