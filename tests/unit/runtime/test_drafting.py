"""How much of what waits one segment takes."""

from __future__ import annotations

import asyncio

import pytest

from coordinator.core import commands as c
from coordinator.core.ids import ClientId, JobId, StageId
from coordinator.runtime import drafting
from coordinator.runtime.waiting import Batch
from tests.scenarios.story import REACHABLE, Story, delayed


def test_what_a_tick_moves_counts_in_the_segment_that_it_begins() -> None:
    story = Story(delayed(REACHABLE, 100))
    story.whole("s0>A, s1>B, s2:A,B!")
    story.look("")
    made = drafting.draft(story.state, [], 1, story.now_ms + 100, tick=True)
    assert made.records == set(story.state.generations)
    assert drafting.draft(story.state, [], 1, story.now_ms + 99, tick=True).records == set()


@pytest.mark.parametrize("most", [0, 1])
async def test_who_does_not_fit_is_cut_off_unless_it_is_the_first(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Each of them is one event."""
    monkeypatch.setattr(drafting, "EVENTS_MAX", most)
    requests = [c.Request(ClientId("x"), 0, c.ReportJobStarted(JobId(n), StageId(n))) for n in range(3)]
    batch = Batch(requests, asyncio.get_running_loop().create_future())
    made = drafting.draft(Story().state, [batch], 3, 2_000, tick=False)
    assert (made.count, made.full) == (1, True)
