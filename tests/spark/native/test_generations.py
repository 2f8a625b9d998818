"""What is kept of a shuffle that Spark has let go, where files outlive their executors."""

from __future__ import annotations

from typing import Any

import pytest

from listener_bridge.shuffle_services import native
from tests.support.generations import called, kept_in

pytestmark = pytest.mark.spark


@pytest.fixture
def counts(run: Any) -> Any:
    found = run.tap.driver.construct(native.load(run.tap), "Generations")
    called(run.tap, found, "noteWhatIsForgotten")
    return found


def lie_somewhere(run: Any, shuffle: Any) -> None:
    place = run.tap.driver.construct(native.load(run.tap), "Place", "7", "127.0.0.1", 7337)
    kept_in(shuffle, "places").put("7", place)


def test_what_is_let_go_before_it_is_known_where_its_files_lie_is_kept_all_the_same(run: Any, counts: Any) -> None:
    """Spark's cleaner comes between the fence and what is noted of it."""
    shuffle = counts.of(3)
    counts.cleaned(3)
    lie_somewhere(run, shuffle)
    called(run.tap, counts, "placed", shuffle)
    assert kept_in(called(run.tap, counts, "abandoned"), "id") == 3
    kept_in(shuffle, "places").clear()
    counts.cleaned(3)
    assert called(run.tap, counts, "abandoned") is None


def test_one_that_is_tried_in_vain_waits_behind_the_others(run: Any, counts: Any) -> None:
    for shuffle in (3, 4):
        lie_somewhere(run, counts.of(shuffle))
        counts.cleaned(shuffle)
    found = []
    for _ in range(3):
        found.append(kept_in(called(run.tap, counts, "abandoned"), "id"))
        counts.cleaned(found[-1])
    assert found == [3, 4, 3]
