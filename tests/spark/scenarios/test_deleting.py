"""Fences and deletions that meet a crash, a delay or a repeat, as real jobs: scenarios 19b, 21, 22, and fail-over.

Responsible for: what the driver and the coordinator make of a directive's outcome that comes late, twice, or elsewhere.
Refuses to know: why a shuffle goes. Invariant: whatever is lost on the way, each generation is deleted once, its files
are gone, and a later generation is untouched.
"""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from shuffle_lifecycle.v1 import common_pb2, service_pb2

from coordinator.app import start_replica
from tests.spark.bridge.conftest import Log
from tests.spark.scenarios.conftest import deleted
from tests.support.gates import held_at
from tests.support.replicas import ReplicaProcess, replica_process
from tests.support.spark import Gate, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]


def test_19b_what_a_reader_did_before_the_fence_is_told_before_it(run: Any) -> None:
    with run.attached("frontier") as (attachment, log):
        first = run.keyed()
        expected = sorted(first.collect())
        run.settled(attachment)
        [a] = log.map_stages()
        log.ask("SetPin", service_pb2.SetPinCall(caller=log.caller, command=service_pb2.SetPin(app_shuffle=a)))
        assert run.again(first).count() == 400
        run.settled(attachment)
        [expired] = log.events("generation_expired")
        assert log.generations()[expired.shuffle_id] == a
        with held_facts(attachment):
            assert sorted(first.collect()) == expected  # its events wait in the queue
            log.ask(
                "RemovePin", service_pb2.RemovePinCall(caller=log.caller, command=service_pb2.RemovePin(app_shuffle=a))
            )
            wait_for(lambda: attachment.status().fenced, "the fence, which no reader hinders")
            assert log.events("generation_fenced") == []
        run.settled(attachment)
        wait_for(lambda: deleted(log) == [a], "A to go")
        assert Counter(log.generations().values())[a] == 1
        assert log.events("premature_deletion", "recovery_opened") == []
        kinds = [type(event).__name__ for event in log.events("reader_registered", "generation_fenced")]
        assert kinds.index("GenerationFenced") == len(kinds) - 1


class held_facts:  # noqa: N801 - reads as a verb
    """The bridge hears no fact within the block; the scheduler goes on."""

    def __init__(self, attachment: Any) -> None:
        self._reporter = attachment._bridge.reporter
        self._go_on = threading.Event()

    def __enter__(self) -> None:
        hear = self._reporter.facts

        def later(told: Any) -> None:
            self._go_on.wait(60)
            hear(told)

        self._reporter.facts = later

    def __exit__(self, *_: object) -> None:
        self._go_on.set()
        del self._reporter.facts


DIES = {
    "before the fence's outcome": (common_pb2.DIRECTIVE_KIND_FENCE, True),
    "before the deletion is heard": (common_pb2.DIRECTIVE_KIND_DELETE, False),
    "before the deletion's outcome": (common_pb2.DIRECTIVE_KIND_DELETE, True),
}


@pytest.mark.parametrize("when", DIES)
def test_21_another_replica_takes_up_what_a_killed_one_has_begun(run: Any, when: str, tmp_path: Path) -> None:
    kind, is_heard = DIES[when]
    store = f"sqlite://{tmp_path}/log.db"
    with (
        replica_process(store) as replica,
        run.attached_to(replica.address) as (attachment, log),
        dying_with(attachment, replica, kind, is_heard) as has_died,
    ):
        wait_for(lambda: attachment.status().state == "connected", "the session")
        first = run.keyed()
        second = run.again(first)
        expected = sorted(second.collect())
        assert has_died.wait(60)
        wait_for(lambda: attachment.status().state == "away", "it to be missed")
        assert sorted(second.collect()) == expected
        replica.start()
        wait_for(lambda: attachment.status().state == "connected", "the next one")
        run.settled(attachment)
        a, _ = log.map_stages()
        wait_for(lambda: deleted(log) == [a], "A to go")
        assert not run.files(a)
        steps = ("fence_requested", "generation_fenced", "generation_deleted")
        assert [Counter(log.app_shuffles(step))[a] for step in steps] == [1, 1, 1]
        assert attachment.status().fenced == 1  # the fence was done once, whoever asked
        assert sorted(second.collect()) == expected
        assert lost(log) == log.events("premature_deletion") == []


class dying_with:  # noqa: N801 - reads as a clause
    """The replica is killed the moment that the driver is sent its first directive of a kind."""

    def __init__(self, attachment: Any, replica: ReplicaProcess, kind: int, is_heard: bool) -> None:
        self._bridge = attachment._bridge
        self._replica, self._kind, self._is_heard = replica, kind, is_heard
        self._died = threading.Event()

    def __enter__(self) -> threading.Event:
        directed = self._bridge.directed

        def killing(directives: service_pb2.Directives) -> None:
            if not self._died.is_set() and any(d.kind == self._kind for d in directives.directives):
                self._replica.kill()
                self._died.set()
                if not self._is_heard:
                    return
            directed(directives)

        self._bridge.directed = killing
        return self._died

    def __exit__(self, *_: object) -> None:
        del self._bridge.directed


def test_22_directives_for_a_generation_that_has_a_successor_touch_nothing(run: Any) -> None:
    with run.attached() as (attachment, log):
        held = run.gate()
        held.open()
        first = run.again(run.keyed(), held)
        second = run.again(first)
        expected = sorted(first.collect())
        assert second.count() == 400
        run.settled(attachment)
        source, a, _ = log.map_stages()
        wait_for(lambda: set(deleted(log)) == {source, a}, "A to go")
        a1 = newest(log, a)
        close(held)
        with held_at(held, lambda: sorted(first.collect())) as job:  # A2 is being written
            wait_for(lambda: newest(log, a) > a1, "A's next generation")
            wait_for(held.arrived, "its writers")
            late(attachment, log, a, a1)
            held.open()
            assert job.result() == expected
        assert run.files(a)
        late(attachment, log, a, a1)  # A2 is there
        assert run.files(a)
        before = len(log.map_stages())
        assert sorted(first.collect()) == expected
        run.settled(attachment)
        assert len(log.map_stages()) == before  # A2 was read, not computed
        assert Counter(deleted(log))[a] == 1


def newest(log: Log, app_shuffle: int) -> int:
    return max(generation for generation, of in log.generations().items() if of == app_shuffle)


def close(held: Gate) -> None:
    for file in Path(held.folder).iterdir():
        file.unlink()


_NUMBERS = iter(range(1_000_000, 2_000_000))


def late(attachment: Any, log: Log, app_shuffle: int, shuffle_id: int) -> None:
    """The fence and the deletion of a generation, once more, as if they had been on their way for long."""
    executor = attachment._bridge.executor
    [locator] = [e.locator for e in log.events("generation_fenced") if e.shuffle_id == shuffle_id]
    before = attachment.status()
    for kind in (common_pb2.DIRECTIVE_KIND_FENCE, common_pb2.DIRECTIVE_KIND_DELETE):
        executor.submit(
            service_pb2.Directive(
                directive=next(_NUMBERS), kind=kind, shuffle_id=shuffle_id, app_shuffle=app_shuffle, locator=locator
            )
        )
    wait_for(lambda: attachment.status().refused == before.refused + 2, "both to be answered with Superseded")
    assert (attachment.status().fenced, attachment.status().deleted) == (before.fenced, before.deleted)


def lost(log: Log) -> list[Any]:
    """Gaps with something lost in them: that of attaching has none, what was there before is told."""
    return [gap for gap in log.events("gap_recorded") if gap.dropped]


def test_a_second_replica_goes_on_where_the_first_one_stopped(run: Any, tmp_path: Path) -> None:
    store = f"sqlite://{tmp_path}/log.db"
    expected = sorted(run.again(run.again(run.keyed())).collect())
    one, two = start_replica(store), start_replica(store)
    try:
        with run.attached_to(f"{one.address},{two.address}") as (attachment, log):
            wait_for(lambda: attachment.status().address == one.address, "the first replica")
            chain = run.again(run.keyed())
            assert chain.count() == 400
            run.settled(attachment)
            one.stop()
            wait_for(lambda: attachment.status().address == two.address, "the second replica")
            later = run.again(chain)
            assert sorted(later.collect()) == expected
            run.settled(attachment)
            a, b, _ = log.map_stages()
            wait_for(lambda: deleted(log) == [a, b], "A and B to go")
            assert lost(log) == []
            assert len(log.events("recovery_opened")) == len(log.events("premature_deletion")) == 0
    finally:
        one.stop()
        two.stop()
