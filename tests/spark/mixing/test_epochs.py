"""What begins again within its attempt, on an executor that has read the input before that was written again.

An executor asks where an input lies once, and again only for a task that is newer than what it was told. The files of
before still lie there, so a task that is not newer reads them, and nothing fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spark.mixing.conftest import App, application
from tests.spark.mixing.test_branches import KEYS, agreeing
from tests.spark.mixing.test_overtaken import READERS, lose_all, made
from tests.spark.mixing.test_result_overtaken import deleted_behind, heard, hearing_late, read, reading
from tests.support.spark import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

ROUNDS = [1, pytest.param(6, marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def wide(folder: Path) -> Iterator[App]:
    """Each of the readers has an executor of its own, and one is left for others."""
    with application(folder, f"local-cluster[{READERS + 1},1,1024]") as found:
        yield found


def a_result(app: App) -> None:
    """It has delivered nothing, and begins again as a whole with a task that has failed by itself."""
    held, failing = app.gate(), app.gate()
    with reading(app, lambda a: read(a, held, failing, 0), held, failing) as found:
        assert found.other.count() == KEYS
        heard(app)
        failing.open()
        wait_for(lambda: held.arrived() == READERS + 1, "both again")
        held.open()
        assert found.agreeing() == KEYS
        assert found.told() == []


def a_map_stage(app: App) -> None:
    """Its input is there again when the hook hears of that, so that nothing fails."""
    held, queue = app.gate(), app.gate()
    a, told = deleted_behind(app)
    q = made(app, read(a, held, None, 0))
    with app.job(q.count, held, queue) as running:
        wait_for(lambda: held.arrived() == READERS, "tasks of Q that have read A")
        with hearing_late(app, queue):
            lose_all(app, a)
            other = made(app, a)
            assert other.count() == KEYS
        wait_for(lambda: held.arrived() == 2 * READERS, "both again")
        held.open()
        assert running.result(120) == KEYS
    assert agreeing(app, q, other)() == KEYS
    assert told() == []


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("of", [a_result, a_map_stage])
def test_what_begins_again_reads_what_is_new(wide: App, of: Any, rounds: int) -> None:
    for _ in range(rounds):
        of(wide)
