"""What is dead in real programs: PySpark's own handles, names, proxies and iterators."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from listener_bridge.reach.handles import target
from listener_bridge.tap.facts import JobStarted
from tests.spark.reach.conftest import Stand, Watched, name_of
from tests.support.spark import gate, in_background, wait_for

pytestmark = [
    pytest.mark.spark,
    pytest.mark.newest,
    pytest.mark.skipif(sys.version_info < (3, 11), reason="names are read from CPython 3.11 on"),
]
HERE = Path(__file__).name


def keyed(watched: Watched) -> Any:
    return watched.spark.sparkContext.parallelize(range(40), 2).map(lambda n: (n % 5, n)).partitionBy(2)


def test_a_script_that_names_every_step(watched: Watched) -> None:
    def program(stand: Stand) -> int:
        first = keyed(watched)
        first.count()
        second = first.mapValues(lambda n: n + 1).partitionBy(3)
        second.count()
        third = second.mapValues(lambda n: n + 1).partitionBy(2)
        names = [name_of(first), name_of(second), name_of(third)]
        stand.still(names=names)
        return int(third.count())

    told, found = watched.look(program)
    first, second, third = told["names"]
    assert {first, second} <= found.dead
    assert third not in found.dead
    assert found.names[third].startswith("`third` in test_handles.py:")


def test_a_loop_that_rebinds_its_name(watched: Watched) -> None:
    def program(stand: Stand) -> int:
        seen = []
        ranks = keyed(watched)
        for turn in range(4):
            ranks.count()
            seen.append(name_of(ranks))
            ranks = ranks.mapValues(lambda n: n + 1).partitionBy(3 - turn % 2)  # as many as before would be no shuffle
        stand.still(seen=seen, last=name_of(ranks))
        return int(ranks.count())

    gc.disable()  # as between two collections: py4j's proxies are in cycles, and outlive their handles
    try:
        told, found = watched.look(program)
        bound = {target(proxy) for proxy in watched.handles._proxies()}
    finally:
        gc.enable()
    assert set(told["seen"]) <= bound & found.dead
    assert told["last"] not in found.dead


def test_what_containers_attributes_and_closures_hold_is_alive(watched: Watched) -> None:
    def program(stand: Stand) -> Any:
        listed, owned, closed = keyed(watched), keyed(watched), keyed(watched)
        shelf, box = [listed], SimpleNamespace(rdd=owned)

        def again() -> Any:
            return closed.count()

        stand.still(names=[name_of(listed), name_of(owned), name_of(closed)])
        return shelf[0].count(), box.rdd.count(), again()

    told, found = watched.look(program)
    assert not found.dead & set(told["names"])
    assert all(name in found.names for name in told["names"])


class Step:
    def __init__(self, made: Any) -> None:
        self.made = made


def test_what_only_dead_names_hold_is_dead_in_lists_dictionaries_and_objects_too(watched: Watched) -> None:
    def program(stand: Stand) -> int:
        shelf = [keyed(watched), keyed(watched)]
        table, step = {"k": (keyed(watched),)}, Step(keyed(watched))
        grouped = watched.spark.range(20).groupBy("id")
        pair = grouped.count().randomSplit([0.5, 0.5], 1)
        kept = [shelf[1]]
        dead = [name_of(one) for one in (shelf[0], table["k"][0], step.made, grouped._df, *pair)]
        stand.still(dead=dead, alive=name_of(kept[0]))
        return int(kept[0].count())

    told, found = watched.look(program)
    assert set(told["dead"]) <= found.dead
    assert told["alive"] not in found.dead


def test_a_handle_with_only_a_name_that_is_dead_stays_for_another_that_is_not(watched: Watched) -> None:
    def program(stand: Stand) -> Any:
        frame = watched.spark.range(100).groupBy("id").count()
        frame.collect()
        jdf = frame._jdf
        other = watched.spark.range(50).groupBy("id").count()
        other.collect()
        stand.still(held=target(jdf), dropped=name_of(other))
        return jdf.count()

    told, found = watched.look(program)
    assert told["held"] not in found.dead
    assert told["dropped"] in found.dead


def test_a_pipeline_that_was_never_evaluated_holds_what_it_grows_from(watched: Watched) -> None:
    def program(stand: Stand) -> int:
        shuffled = keyed(watched)
        lazy = shuffled.mapValues(lambda n: n + 1).mapValues(lambda n: n + 1)
        name = name_of(shuffled)
        stand.still(name=name)
        return int(lazy.count())

    told, found = watched.look(program)
    assert told["name"] not in found.dead
    assert "`lazy` in test_handles.py:" in found.names[told["name"]]


def test_the_rdd_of_a_dataframe_dies_with_it(watched: Watched) -> None:
    def program(stand: Stand) -> None:
        frame = watched.spark.range(100).repartition(3)
        frame.rdd.count()
        stand.still(names=[name_of(frame), name_of(frame.rdd)])

    told, found = watched.look(program)
    assert set(told["names"]) <= found.dead


def test_the_handle_of_a_running_job_is_alive(watched: Watched, tmp_path: Path) -> None:
    """Its name is dead already where the call is its last use; PySpark's own frame needs it."""
    closed = gate(tmp_path / "gate")
    named: list[str] = []

    def waits(number: int) -> int:
        closed.pass_through(number)
        return number

    def program() -> int:
        rdd = keyed(watched).mapValues(waits)
        named.append(name_of(rdd))
        return len(rdd.collect())

    with in_background(program) as running:
        wait_for(closed.arrived, "a task at the gate")
        found = watched.handles.read()
        closed.open()
        assert running.result() == 40
    assert named[0] not in found.dead


@pytest.mark.parametrize("kind", ["rdd", "dataframe"])
def test_a_half_consumed_iterator_keeps_its_handle(watched: Watched, kind: str) -> None:
    def make() -> Any:
        return keyed(watched) if kind == "rdd" else watched.spark.range(40).repartition(4)

    def program(stand: Stand) -> list[Any]:
        handle = make()
        name = name_of(handle)
        iterator = handle.toLocalIterator()
        got = [next(iterator)]
        stand.still(name=name)
        return got + list(iterator)

    told, found = watched.look(program)
    assert told["name"] not in found.dead

    def ended(stand: Stand) -> int:
        handle = make()
        name, rows = name_of(handle), len(list(handle.toLocalIterator()))
        stand.still(name=name, rows=rows)
        return rows

    told, found = watched.look(ended)
    assert told["rows"] == 40
    assert told["name"] in found.dead


def test_a_job_of_an_iterator_says_the_programs_own_line(watched: Watched) -> None:
    assert len(list(keyed(watched).toLocalIterator())) == 40
    watched.log.settle()
    assert f"toLocalIterator at {__file__}:" in watched.log.of(JobStarted)[-1].call_site


def test_the_end_of_a_handle_is_counted(watched: Watched) -> None:
    rdd = keyed(watched)
    before = watched.handles.changed
    del rdd
    assert watched.handles.changed > before


def test_a_look_asks_the_jvm_nothing(watched: Watched) -> None:
    rdd = keyed(watched)
    said: list[str] = []
    client = watched.spark.sparkContext._gateway._gateway_client
    send = client.send_command

    def listening(command: str, *rest: Any) -> Any:
        said.append(command)
        return send(command, *rest)

    client.send_command = listening
    try:
        watched.handles.read()
    finally:
        client.send_command = send
    assert [command for command in said if command.startswith("c\n") and "take" not in command] == []
    assert rdd.count() == 40


def test_what_the_program_has_dropped_is_dead_at_once(watched: Watched) -> None:
    """py4j has the JVM let go of it only when a thread of its own wakes, once a second."""
    context: Any = watched.spark.sparkContext
    bound: Any = context._gateway.java_gateway_server.getGateway().getBindings()
    ahead = set()
    for _ in range(20):
        name = target(context.parallelize(range(2), 1)._jrdd.rdd())
        gc.collect()  # a proxy whose method was called is in a cycle
        if name in watched.handles.read().dead:
            ahead |= {name} & set(bound)
        else:  # py4j's thread has come just now
            wait_for(lambda: name not in bound, f"{name} to go")  # noqa: B023 - called here
    assert ahead
