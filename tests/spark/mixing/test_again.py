"""Fences of what has been fenced before."""

from __future__ import annotations

import pytest

from listener_bridge.shuffle_services.api import Fenced, Superseded
from listener_bridge.tap import facts
from tests.spark.mixing.conftest import RIGHT, TIMEOUT, App, values
from tests.support.spark import wait_for

pytestmark = pytest.mark.spark


def passed(app: App, marker: str) -> int:
    app.log.settle()
    return [fact.name for fact in app.log.of(facts.MarkerPassed)].count(marker)


def test_a_fence_that_is_asked_for_again_gives_its_place_again(app: App) -> None:
    """To somebody else, perhaps, who was not there when its marker passed."""
    rows = app.random_rows()
    assert values(rows) == RIGHT
    (a,) = app.shuffles()
    first = app.service.fence(a, TIMEOUT)
    assert isinstance(first, Fenced)
    assert app.service.fence(a, TIMEOUT) == first
    assert passed(app, first.marker) == 2


def test_a_generation_that_was_lost_is_not_answered_with_the_fence_of_the_one_before(app: App) -> None:
    rows = app.random_rows()
    assert values(rows) == RIGHT
    (a,) = app.shuffles()
    app.delete(a)
    assert values(rows) == RIGHT
    app.tap.driver.map_output_tracker.unregisterAllMapAndMergeOutput(a)
    outcome = wait_for(lambda: app.service.fence(a, TIMEOUT), "an answer")
    assert isinstance(outcome, Superseded)
    assert "all are lost" in outcome.by
