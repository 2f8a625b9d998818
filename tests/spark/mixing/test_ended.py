"""Jobs that are over when the hook hears of what they have read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark.mixing.conftest import App, application
from tests.spark.mixing.test_branches import KEYS, branch, tokens
from tests.spark.mixing.test_overtaken import READERS, lose_all, made
from tests.spark.mixing.test_result_overtaken import TRIES, deleted_behind, hearing_late, telling
from tests.support.spark import shuffle_of

pytestmark = [pytest.mark.spark, pytest.mark.newest]


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[App]:
    with application(folder, f"local[4,{TRIES}]") as found:
        yield found


@pytest.mark.parametrize("jobs", [1, 3])
def test_each_that_has_read_a_mix_is_told(app: App, jobs: int) -> None:
    """X -> A -> B: A was lost, and a part of B."""
    queue = app.gate()
    a, told = deleted_behind(app)
    b = branch(app, a)
    assert b.count() == KEYS
    with hearing_late(app, queue):
        lose_all(app, a)
        app.lose_output(shuffle_of(b))
        found = [set(b.collect()) for _ in range(jobs)]
    assert all(one == found[0] for one in found)
    assert len(told()) == jobs


SLEEPS = """package shufflelifecycle;
public class Sleeps implements Work {
  public Object run() throws Exception {
    Thread.sleep(2000L);
    return null;
  }
}
"""


def test_one_that_has_read_both_is_told(app: App) -> None:
    """X -> A, B: A was lost and is new, B is of before. All of it is heard of while the scheduler is busy."""
    queue = app.gate()
    x = tokens(app)
    lost, stays = made(app, x, READERS), made(app, x, READERS)
    assert lost.count() == stays.count() == KEYS
    app.delete(shuffle_of(x))
    told = telling(app)
    driver = app.tap.driver
    sleeps = driver.construct(driver.load([SLEEPS], parent=app.tap.loader), "Sleeps")
    with hearing_late(app, queue):
        lose_all(app, lost)
        assert len(set(lost.union(stays).collect())) == 2 * KEYS, "none agrees"
        app.tap.java.scheduler().post(driver.construct(app.tap.loader, "Ticket", sleeps))
    assert told() == [(0, False)]
