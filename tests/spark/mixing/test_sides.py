"""Jobs one after another: each reads one branch of a deleted random shuffle, and a later one reads what they have made.

None that reads two generations may end without a word (what had to stay cannot be taken back for a job that nobody
could foresee), and no other one may be told so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from listener_bridge.tap import facts
from tests.spark.mixing.conftest import MAPS, App
from tests.spark.mixing.test_branches import AGAIN, KEYS, WHOLE, agreeing, branch, tokens
from tests.support.spark import shuffle_of, wait_for

pytestmark = pytest.mark.spark


@contextmanager
def telling(app: App) -> Iterator[Callable[[], list[tuple[int, bool]]]]:
    """What is told in here: the app shuffle, and whether the job was failed for it."""
    app.log.settle()
    before = len(app.log.of(facts.GenerationsMixed))

    def told() -> list[tuple[int, bool]]:
        app.log.settle()
        mixed = app.log.of(facts.GenerationsMixed)[before:]
        assert not any(fact.delivered for fact in mixed), "it is not by what was delivered before"
        return [(fact.app_shuffle, fact.failed) for fact in mixed]

    yield told


def parted(app: App) -> tuple[Any, Any, Any]:
    """A, the branch that stays as it was, and the other one, lost and written again for a job of its own."""
    a = tokens(app)
    stays, lost = branch(app, a), branch(app, a)
    assert stays.count() == lost.count() == KEYS
    app.delete(shuffle_of(a))
    app.lose_output(shuffle_of(lost))
    assert lost.count() == KEYS
    assert app.submissions(shuffle_of(a)) == app.submissions(shuffle_of(lost)) == AGAIN
    return a, stays, lost


def test_a_job_that_reads_both_is_told(app: App) -> None:
    with telling(app) as told:
        a, stays, lost = parted(app)
        agreeing(app, stays, lost)()
    assert told() == [(shuffle_of(a), False)]
    assert app.submissions(shuffle_of(stays)) == WHOLE


def test_also_by_what_other_jobs_have_made_of_them(app: App) -> None:
    with telling(app) as told:
        a, stays, lost = parted(app)
        left, right = branch(app, stays), branch(app, branch(app, lost))
        assert left.count() == right.count() == KEYS
        assert told() == []
        agreeing(app, left, right)()
    assert told() == [(shuffle_of(a), False)]


def test_also_by_what_was_made_before(app: App) -> None:
    with telling(app) as told:
        a = tokens(app)
        first, lost = branch(app, a), branch(app, a)
        stays = branch(app, first)
        assert stays.count() == lost.count() == KEYS
        app.delete(shuffle_of(a))
        app.lose_output(shuffle_of(lost))
        assert lost.count() == KEYS
        agreeing(app, stays, lost)()
    assert told() == [(shuffle_of(a), False)]


def test_also_behind_what_is_gone(app: App) -> None:
    """Between A and what stays of it lies one that was deleted too, and that nobody asks for again."""
    with telling(app) as told:
        a = tokens(app)
        between = branch(app, a)
        stays = branch(app, between)
        assert stays.count() == KEYS
        app.delete(shuffle_of(between))
        app.delete(shuffle_of(a))
        later = branch(app, a)
        assert later.count() == KEYS
        agreeing(app, stays, later)()
    assert told() == [(shuffle_of(a), False)]


def test_who_only_lists_a_stage_that_reads_both_is_not_told(app: App) -> None:
    """It reads what that stage wrote when all was of one generation."""
    with telling(app) as told:
        a = tokens(app)
        stays, lost = branch(app, a), branch(app, a)
        both = app.keep(app.spark.sparkContext.union([stays, lost]).groupByKey(MAPS))
        made = branch(app, both.mapValues(lambda tokens: len(set(tokens))))
        assert made.values().sum() == KEYS
        app.delete(shuffle_of(a))
        app.delete(shuffle_of(both))
        app.lose_output(shuffle_of(lost))
        assert lost.count() == KEYS
        held = app.gate()
        with app.job(app.hold(made, held, MAPS - 1).count, held) as right:
            wait_for(held.arrived, "a job that reads what was made of it before")
            agreeing(app, stays, lost)()
            assert both.count() == KEYS
            held.open()
            assert right.result(120) == KEYS
    assert told() == [(shuffle_of(a), False)] * 2, "the two others"


def test_also_beside_the_shuffle_itself(app: App) -> None:
    with telling(app) as told:
        a, stays, _ = parted(app)
        agreeing(app, a, stays)()
    assert told() == [(shuffle_of(a), False)]


def test_who_reads_one_side_is_not_told(app: App) -> None:
    with telling(app) as told:
        a, stays, lost = parted(app)
        assert agreeing(app, stays, branch(app, stays))() == KEYS
        assert agreeing(app, a, lost, branch(app, lost))() == KEYS
        assert told() == []


def test_what_is_written_again_has_changed_sides(app: App) -> None:
    with telling(app) as told:
        _, stays, lost = parted(app)
        app.lose_output(shuffle_of(stays))
        assert stays.count() == KEYS
        assert agreeing(app, stays, lost)() == KEYS
        assert told() == []


def test_three_generations_are_three(app: App) -> None:
    """What was of the new generation is of an old one when A is deleted and written once more."""
    with telling(app) as told:
        a, stays, lost = parted(app)
        third = branch(app, a)
        assert third.count() == KEYS
        app.delete(shuffle_of(a))
        app.lose_output(shuffle_of(third))
        assert third.count() == KEYS
        agreeing(app, stays, lost)()
        agreeing(app, lost, third)()
        agreeing(app, stays, third)()
    assert told() == [(shuffle_of(a), False)] * 3


def test_under_strict_it_fails(app: App) -> None:
    with telling(app) as told:
        a, stays, lost = parted(app)
        with app.choosing(strict=True), app.job(agreeing(app, branch(app, stays), branch(app, lost))) as running:
            assert "mixes two generations" in str(running.exception(120))
    assert told() == [(shuffle_of(a), True)]


def test_what_is_declared_deterministic_is_not_told(app: App) -> None:
    with telling(app) as told:
        _, stays, lost = parted(app)
        with app.properties(deterministic="true"):
            agreeing(app, stays, lost)()
        assert told() == []


def test_also_where_nothing_was_lost_and_a_rule_guessed_wrong(app: App) -> None:
    """The job that misses A reads beside it what earlier ones have made of A, and so does the next."""
    with telling(app) as told:
        a = tokens(app)
        made = branch(app, a)
        assert made.count() == KEYS
        app.delete(shuffle_of(a))
        again = branch(app, a)
        agreeing(app, again, made)()
        assert told() == [(shuffle_of(a), False)]
        agreeing(app, again, made)()
    assert told() == [(shuffle_of(a), False)] * 2
    assert app.submissions(shuffle_of(made)) == WHOLE


def test_exchanges_of_an_adaptive_plan_are_jobs_one_after_another(app: App) -> None:
    """Each side of the join is a job of its own, and the join reads what they have made."""
    with telling(app) as told:
        a, stays, lost = parted(app)
        rows = [app.spark.createDataFrame(one, "key long, token long") for one in (stays, lost)]
        named = [frame.repartition(3, "token").withColumnRenamed("token", f"token{n}") for n, frame in enumerate(rows)]
        joined = named[0].hint("shuffle_merge").join(named[1].hint("shuffle_merge"), "key")
        assert joined.where("token0 = token1").count() == 0
    assert set(told()) == {(shuffle_of(a), False)}
