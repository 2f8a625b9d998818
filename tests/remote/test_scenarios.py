"""The numbered stories, as real jobs on each remote service.

Those of `tests/spark` run here as they are: they say nothing of a service. Where a service is otherwise, in what it
answers or loses, the story is told anew, for both. Each with its tasks in the driver, and in executors of their own;
what an executor's death costs: `test_scenarios_cluster`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from shuffle_lifecycle.v1 import common_pb2, service_pb2

from listener_bridge.shuffle_services.api import Busy, Fenced
from listener_bridge.shuffle_services.testing import TIMEOUT
from tests.remote.conftest import OPENED, Served, served
from tests.spark.bridge.conftest import Log
from tests.spark.bridge.test_scenarios import (  # noqa: F401 - they are collected here
    test_1_a_chain_leaves_the_disk_as_it_goes,
    test_3_sampling_first_recomputes_nothing,
    test_4_a_diamond_keeps_what_its_second_reader_needs,
    test_6_a_loop_keeps_the_newest_only,
    test_9_what_is_missed_after_all_is_recovered_and_told,
    test_19_fences_against_readers_of_other_threads_cost_nothing,
)
from tests.spark.scenarios.conftest import deleted
from tests.spark.scenarios.test_asking import (  # noqa: F401 - they are collected here
    report,
    test_26_a_late_report_joins_the_recovery_and_leaves_the_next_generation_alone,
    test_27_and_35_two_replicas_give_one_recovery_and_a_repeat_its_first_answer,
    test_36_what_nobody_heard_of_is_an_error_that_says_what_there_is,
    test_37_who_asks_while_it_is_written_is_told_when_to_ask_again,
)
from tests.spark.scenarios.test_deleting import (  # noqa: F401 - they are collected here
    close,
    newest,
    test_19b_what_a_reader_did_before_the_fence_is_told_before_it,
)
from tests.support.gates import held_at
from tests.support.premature import UNBOUNDED, deleting_at_random
from tests.support.spark import LOCAL, LOCAL_CLUSTER, wait_for

pytestmark = pytest.mark.timeout(300, func_only=True)
ROWS = list(range(600))
MASTERS = {"local": LOCAL, "cluster": LOCAL_CLUSTER}
A_ZOMBIE_LIVES = {"spark.python.task.killTimeout": "60s"}  # two seconds otherwise


@pytest.fixture(scope="module", params=list(product(OPENED, MASTERS)), ids="-".join)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    service, master = request.param
    cluster = request.getfixturevalue(service)
    with served(service, cluster, tmp_path_factory.mktemp("spark"), MASTERS[master], **A_ZOMBIE_LIVES) as found:
        yield found


@pytest.fixture
def incomplete(run: Served) -> Served:
    if run.world.service.probe().can_complete_generation_after_loss:
        pytest.skip("what is reported missing is completed, not lost")
    return run


def pin(log: Log, app_shuffle: int) -> None:
    command = service_pb2.SetPin(app_shuffle=app_shuffle, why="a test")
    log.ask("SetPin", service_pb2.SetPinCall(caller=log.caller, command=command))


def remove_pin(log: Log, app_shuffle: int) -> None:
    command = service_pb2.RemovePin(app_shuffle=app_shuffle)
    log.ask("RemovePin", service_pb2.RemovePinCall(caller=log.caller, command=command))


_NUMBERS = iter(range(1_000_000, 2_000_000))


def test_22_directives_for_a_generation_that_has_a_successor_touch_nothing(run: Served) -> None:
    with run.attached() as (attachment, log):
        held = run.gate()
        held.open()
        first = run.again(run.keyed(), held)
        expected = sorted(first.collect())
        assert run.again(first).count() == 400
        run.settled(attachment)
        source, a, _ = log.map_stages()
        wait_for(lambda: set(deleted(log)) == {source, a}, "A to go")
        a1 = newest(log, a)
        close(held)
        with held_at(held, lambda: sorted(first.collect())) as job:
            wait_for(held.arrived, "writers of A2")
            late(attachment, log, a, a1)
            held.open()
            assert job.result() == expected
        stored = run.files(a)
        late(attachment, log, a, a1)
        assert run.files(a) == stored != {}
        run.settled(attachment)
        before = len(log.map_stages())
        assert sorted(first.collect()) == expected
        run.settled(attachment)
        assert len(log.map_stages()) == before, "A2 was read, not computed"


def late(attachment: Any, log: Log, app_shuffle: int, shuffle_id: int) -> None:
    """The fence and the deletion of a generation, once more. What has left its servers may be said to be freed again:
    with nothing in it."""
    [locator] = [e.locator for e in log.events("generation_fenced") if e.shuffle_id == shuffle_id]
    before = attachment.status()
    for kind in (common_pb2.DIRECTIVE_KIND_FENCE, common_pb2.DIRECTIVE_KIND_DELETE):
        attachment._bridge.executor.submit(
            service_pb2.Directive(
                directive=next(_NUMBERS), kind=kind, shuffle_id=shuffle_id, app_shuffle=app_shuffle, locator=locator
            )
        )
    wait_for(lambda: ended(attachment) == before.refused + before.deleted + 2, "an answer to both")
    assert attachment.status().fenced == before.fenced
    assert attachment.status().freed_bytes == before.freed_bytes


def ended(attachment: Any) -> int:
    status = attachment.status()
    return int(status.refused + status.deleted)


def test_23_what_a_hanging_server_has_is_deleted_when_it_is_back_and_counted_once(run: Served) -> None:
    with run.attached() as (attachment, log):
        first = run.keyed()
        expected = sorted(first.collect())
        run.settled(attachment)
        [a] = log.map_stages()
        pin(log, a)
        assert run.again(first).count() == 400
        run.settled(attachment)
        assert log.app_shuffles("generation_expired") == [a]
        with run.world.hanging(a):
            remove_pin(log, a)
            wait_for(lambda: log.events("directive_failed"), "a deletion that fails")
            assert deleted(log) == []
            assert attachment.status().freed_bytes == 0
        wait_for(lambda: deleted(log) == [a], "A to go when its servers are back")
        assert not run.files(a)
        assert log.events("generation_deleted")[0].bytes > 0
        assert sorted(first.collect()) == expected


def test_24_a_writer_that_its_job_has_given_up_makes_the_fence_wait(run: Served) -> None:
    held = run.gate()
    keyed = run.again(run.keyed(), held)
    with held_at(held, keyed.count) as job:
        wait_for(held.arrived, "writers")
        written = run.world.newest_shuffle() - 1  # Spark gives it its id before what it reads
        run.spark.sparkContext.cancelAllJobs()
        assert job.exception(60) is not None
        busy = run.world.service.fence(written, TIMEOUT)
        assert isinstance(busy, Busy), busy
        assert any("writes it" in who for who in busy.who), busy
    wait_for(lambda: not isinstance(run.world.service.fence(written, TIMEOUT), Busy), "an end of its writers")
    assert keyed.count() == 400


def test_28_what_is_missed_again_is_another_recovery(run: Served) -> None:
    with deleting_at_random(0, 0.0) as chance, run.attached(budget_premature=UNBOUNDED) as (attachment, log):
        first = run.keyed()
        expected = sorted(first.collect())
        run.settled(attachment)
        [a] = log.map_stages()
        for round_ in range(1, 4):
            chance.odds = 1.0
            wait_for(lambda again=round_: gone(run, log, a) == again, "A to go")  # type: ignore[misc]
            chance.odds = 0.0
            assert sorted(first.collect()) == expected
            run.settled(attachment)
        named = [generation for event in log.events("recovery_opened") for generation in event.gone]
        assert len(named) == len(set(named)) == 3


def gone(run: Served, log: Log, app_shuffle: int) -> int:
    """How often it was deleted, once something has happened that the coordinator hears of."""
    run.spark.sparkContext.parallelize([1], 1).count()
    return deleted(log).count(app_shuffle)


def test_29_what_a_task_did_not_find_is_recovered_though_we_held_it_for_readable(incomplete: Served) -> None:
    """What is there of it is given up and freed, so that the next reader gets one that was written anew."""
    run = incomplete
    with run.attached() as (attachment, log):
        first = run.keyed()
        expected = sorted(first.collect())
        run.settled(attachment)
        [a] = log.map_stages()
        a1 = newest(log, a)
        told = report(log, a, a1)
        assert told.recover.missing == a1, told
        assert list(told.recover.recompute) == [a]
        [lost] = log.events("generation_lost")
        assert (lost.shuffle_id, lost.cause) == (a1, common_pb2.LOSS_REPORTED)
        wait_for(lambda: log.events("data_invalidated"), "its data to go")
        [freed] = log.events("data_invalidated")
        assert freed.shuffle_id == a1
        assert freed.bytes > 0
        assert sorted(first.collect()) == expected
        run.settled(attachment)
        assert log.map_stages() == [a, a]
        assert newest(log, a) > a1
        assert len(log.events("recovery_opened")) == 1


def test_30_what_is_merely_expired_is_rescued_and_not_written_again(run: Served) -> None:
    with run.attached() as (attachment, log):
        first, other = run.keyed(), run.keyed(rows=300)
        assert (first.count(), other.count()) == (400, 300)
        run.settled(attachment)
        a, d = log.map_stages()
        pin(log, d)
        assert (run.again(first).count(), run.again(other).count()) == (400, 300)
        run.settled(attachment)
        wait_for(lambda: deleted(log) == [a], "A to go")
        assert d in log.app_shuffles("generation_expired")
        assert first.union(other).count() == 700
        run.settled(attachment)
        [recovery] = log.events("recovery_opened")
        assert [log.generations()[generation] for generation in recovery.gone] == [a]
        assert log.app_shuffles("expiry_taken_back") == [d]
        assert Counter(log.map_stages())[a] == 2
        assert Counter(log.map_stages())[d] == 1


def test_31_of_what_was_written_before_anybody_listened_only_itself_is_named(incomplete: Served) -> None:
    run = incomplete
    source = run.keyed()
    first = run.again(source)
    expected = sorted(first.collect())
    with run.attached() as (attachment, log):
        run.settled(attachment)
        adopted = {event.app_shuffle: event.shuffle_id for event in log.events("generation_adopted")}
        a = max(adopted)
        told = report(log, a, adopted[a]).recover
        assert (told.missing, list(told.recompute), told.lineage_known) == (adopted[a], [a], False)
        wait_for(lambda: log.events("data_invalidated"), "its data to go")
        assert [event.bytes > 0 for event in log.events("data_invalidated")] == [True]
        assert sorted(first.collect()) == expected
        run.settled(attachment)
        assert log.map_stages() == []  # what was written of it lies intact before it


def drawn(number: int) -> tuple[int, int]:
    """Looks deterministic to Spark."""
    return random.SystemRandom().randrange(1_000_000), number


def drawn_anew(run: Served) -> tuple[Callable[[], list[int]], Any]:
    """A -> B -> result, whose A is another one with each computation, and whose right result is always the same."""
    a = run.keep(run.spark.sparkContext.parallelize(ROWS, 4).map(drawn).partitionBy(4))
    b = run.keep(a.map(lambda row: (row[0] % 101, row[1])).partitionBy(4))
    return lambda: sorted(row[1] for row in b.collect()), b


def test_33_and_33a_undeclared_random_numbers_are_of_one_generation_and_the_loop_goes_on(run: Served) -> None:
    with deleting_at_random(0, 0.0) as chance, run.attached(budget_premature=UNBOUNDED) as (attachment, log):
        values, b = drawn_anew(run)
        assert values() == ROWS
        run.settled(attachment)
        shuffles = log.map_stages()
        for round_ in range(1, 4):
            chance.odds = 1.0
            wait_for(lambda again=round_: all(gone(run, log, s) == again for s in shuffles), "A and B to go")  # type: ignore[misc]
            chance.odds = 0.0
            assert values() == ROWS
            run.settled(attachment)
        assert log.map_stages() == shuffles * 4
        before = len(deleted(log))
        assert run.again(run.again(b)).count() == len(ROWS)
        wait_for(lambda: len(deleted(log)) > before, "later shuffles to go as before")


def test_33b_what_was_deleted_is_kept_apart_also_when_nobody_is_attached_any_more(run: Served) -> None:
    with run.attached() as (attachment, log):
        values, b = drawn_anew(run)
        assert values() == ROWS
        run.settled(attachment)
        a = log.map_stages()[0]
        wait_for(lambda: a in deleted(log), "A to go")
    fenced = run.world.service.fence(run.world.newest_shuffle(), TIMEOUT)  # B, as if it were lost wholly
    assert isinstance(fenced, Fenced)
    assert values() == ROWS
    assert run.again(b).count() == len(ROWS)
