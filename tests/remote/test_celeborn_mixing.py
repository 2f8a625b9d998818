"""No output on Celeborn mixes two generations of one input: real jobs, undeclared random numbers (33 to 33b)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import listener_bridge
from listener_bridge.marks import marks
from listener_bridge.shuffle_services.choosing import choose
from listener_bridge.tap import facts
from tests.remote.conftest import OnCeleborn, on_celeborn
from tests.spark.mixing.conftest import MAPS, RIGHT, App, values
from tests.spark.mixing.test_alone import NOBODY
from tests.support.celeborn import Celeborn
from tests.support.spark import LOCAL, LOCAL_CLUSTER, wait_for

pytestmark = pytest.mark.timeout(300)


def app_of(run: OnCeleborn) -> App:
    return App(run.spark, run.tap, run.log, run.service, run.folder, marks.keep_apart(run.tap))  # type: ignore[arg-type]


@pytest.fixture(scope="module", params=[LOCAL, LOCAL_CLUSTER], ids=["local", "cluster"])
def random_app(
    celeborn: Celeborn, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[OnCeleborn, App]]:
    settings = {"spark.stage.maxConsecutiveAttempts": "1000"}
    with on_celeborn(celeborn, tmp_path_factory.mktemp("spark"), request.param, **settings) as run:
        yield run, app_of(run)


def lose(run: OnCeleborn, shuffle: int) -> None:
    """As if the workers had lost what they keep of it."""
    for path in run.cluster.files():
        if run.ids(shuffle).get(int(path.parent.name)):
            path.unlink()


def by_place(app: App, rdd: Any) -> Any:
    """One more shuffle, which keeps each row in the partition that it was drawn into: Celeborn loses a shuffle wholly,
    so what is read of a new B has to differ from what was read of the old one."""

    def placed(index: int, rows: Iterator[Any]) -> Iterator[Any]:
        return ((index, row[1]) for row in rows)

    return app.keep(rdd.mapPartitionsWithIndex(placed).partitionBy(MAPS))


def missed_in_between(run: OnCeleborn, app: App) -> list[int]:
    """A -> B -> C -> result. While C runs, A is deleted and B lost. Answers the result."""
    held = app.gate()
    last = app.step(by_place(app, app.random_rows()), held)
    with app.job(lambda: values(last), held) as running:
        wait_for(lambda: held.arrived() >= 1, "tasks of C")
        a, b, _ = app.shuffles()
        app.delete(a)
        lose(run, b)
        held.open()
        found: list[int] = running.result(200)
        return found


def test_33_what_reads_a_deleted_shuffle_is_written_again_under_an_id_of_its_own(
    random_app: tuple[OnCeleborn, App],
) -> None:
    run, app = random_app
    assert missed_in_between(run, app) == RIGHT
    a, b, c = app.shuffles()
    assert app.submissions(b) == [MAPS, MAPS]
    assert [list(run.ids(shuffle).values())[-1] for shuffle in (a, b, c)] == [True] * 3
    assert all(sum(run.ids(shuffle).values()) == 1 for shuffle in (a, b, c)), "one generation of each is readable"
    app.settled()
    assert values(app.kept[-1]) == RIGHT


def test_33a_after_it_another_lost_output_costs_its_own_task_only(random_app: tuple[OnCeleborn, App]) -> None:
    run, app = random_app
    assert missed_in_between(run, app) == RIGHT
    last, c = app.kept[-1], app.shuffles()[-1]
    app.settled()
    assert app.level(last) == "UNORDERED"
    before = run.ids(c)
    app.lose_output(c)
    assert values(last) == RIGHT
    assert app.submissions(c)[-1] == 1
    assert run.ids(c) == before, "a part continues its generation"


def test_33b_nor_where_nobody_is_attached_any_more(random_app: tuple[OnCeleborn, App]) -> None:
    run, app = random_app
    listener_bridge.attach(run.spark, policy="observe", address=NOBODY).detach()
    assert missed_in_between(run, app) == RIGHT


def cancelled_in_between(run: OnCeleborn, app: App) -> list[int]:
    """As above; while B is written from a new A the job is cancelled, before C begins anew. The next result."""
    held, writing = app.gate(), app.gate()
    writing.open()
    last = app.step(by_place(app, app.hold(app.random_rows(), writing, 0)), held)
    with app.job(lambda: values(last), held, writing) as running:
        wait_for(lambda: held.arrived() >= 1, "tasks of C")
        a, b, _ = app.shuffles()
        writing.close()
        app.delete(a)
        lose(run, b)
        held.open()
        wait_for(lambda: len(app.submissions(b)) == 2 and app.is_complete(a), "B begun anew from a new A")
        app.spark.sparkContext.cancelAllJobs()
        assert running.exception(120) is not None
    writing.open()
    app.settled()
    return values(last)


def test_33_what_a_cancelled_job_has_half_written_is_not_continued(random_app: tuple[OnCeleborn, App]) -> None:
    run, app = random_app
    assert cancelled_in_between(run, app) == RIGHT


@contextmanager
def partly_delivered(run: OnCeleborn, app: App) -> Iterator[list[object]]:
    """A -> B -> result, of which parts are delivered when A is deleted and B lost. Gives what came of it."""
    held = app.gate()
    found: list[object] = []
    last = app.hold(by_place(app, app.random_rows()), held)
    with app.job(lambda: values(last), held) as running:
        wait_for(lambda: held.arrived() >= 2, "a partition delivered, tasks behind it")
        a, b = app.shuffles()
        app.delete(a)
        lose(run, b)
        held.open()
        found.append(running.exception(200) or running.result())
    app.log.settle()
    yield found


def test_34_a_result_that_has_delivered_completes_and_is_told(random_app: tuple[OnCeleborn, App]) -> None:
    run, app = random_app
    with partly_delivered(run, app) as found:
        a, b = app.shuffles()
        assert isinstance(found[0], list)
        told = app.log.of(facts.GenerationsMixed)[-1]
        assert (told.app_shuffle, told.failed, told.partitions) == (a, False, MAPS)
        assert 1 <= told.delivered < MAPS
        assert app.submissions(b) == [MAPS, MAPS], "B itself is of one generation"


def test_34_strict_fails_the_job_and_says_why(random_app: tuple[OnCeleborn, App]) -> None:
    run, app = random_app
    with app.choosing(strict=True), partly_delivered(run, app) as found:
        a, _ = app.shuffles()
        assert f"mixes two generations of app shuffle {a}" in str(found[0])
        assert app.log.of(facts.GenerationsMixed)[-1].failed


def tell_nobody(run: OnCeleborn) -> None:
    """Planted: marks are put, and Celeborn's adapter does not hear which shuffles are written again."""
    run.generations.tellRewrites(None)


def test_marks_alone_do_not_keep_two_attempts_apart(random_app: tuple[OnCeleborn, App]) -> None:
    run, app = random_app
    tell_nobody(run)
    try:
        found = [missed_in_between(run, app) for _ in range(3)]
    finally:
        choose(run.tap)
    assert any(result != RIGHT for result in found)
    assert missed_in_between(run, app) == RIGHT


def test_without_marks_two_attempts_mix(random_app: tuple[OnCeleborn, App]) -> None:
    """Celeborn keeps what an older attempt has written, and drops what the new one writes.

    A program that calls itself deterministic, and is not, goes without marks.
    """
    run, app = random_app
    with app.choosing(deterministic=True):
        found = [missed_in_between(run, app) for _ in range(3)]
    assert any(result != RIGHT for result in found)
