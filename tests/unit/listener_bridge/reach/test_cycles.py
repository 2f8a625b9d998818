"""Python's collector is asked for what only cycles can hold: seldom, and where much would go."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import pairwise

import pytest

from listener_bridge.reach.cycles import SHARE, WAIT_MAX_S, WAIT_MIN_S, Cycles, collect, nameless_bytes
from listener_bridge.reach.findings import Kind, Root
from listener_bridge.reach.pace import BURST_S

MUCH = 1_000
SIZES = {0: 5_000, 1: 3_000, 2: 10}
NAMELESS = "what was made at job.py:3, held by an attribute, a container or a library"


def root(name: str, why: str, *needs: int, kind: Kind = Kind.HANDLE) -> Root:
    return Root(name, kind, frozenset(needs), why)


HELD = [root("o1", NAMELESS, 0)]


class Loop:
    """Something that only the collector can drop, and that says so."""

    def __init__(self, dropped: list[bool]) -> None:
        self.me = self
        self.dropped = dropped

    def __del__(self) -> None:
        self.dropped.append(True)


@pytest.fixture
def dropped() -> Iterator[list[bool]]:
    """A cycle that the collector has not come by yet; it is on."""
    gc.collect()
    thresholds = gc.get_threshold()
    gc.set_threshold(1_000_000, 1_000, 1_000)
    found: list[bool] = []
    Loop(found)
    yield found
    gc.set_threshold(*thresholds)


def test_what_something_with_a_name_needs_too_would_not_go() -> None:
    named = [root("o2", "`a` in job.py:9", 0), root("execution 1", "live plan", 2, kind=Kind.PLAN)]
    nameless = [root("o1", NAMELESS, 0, 1), root("o3", "an MLlib model", 1, 2, kind=Kind.OBJECT)]
    assert nameless_bytes([*named, *nameless], SIZES) == SIZES[1]
    assert nameless_bytes(nameless, SIZES) == sum(SIZES.values())
    assert nameless_bytes(named, SIZES) == 0


def test_what_is_held_for_a_moment_is_not_asked_for() -> None:
    cycles = Cycles(MUCH, 0.0)
    assert not cycles.are_worth_it(0.0, HELD, SIZES)
    assert not cycles.are_worth_it(WAIT_MIN_S / 2, [], SIZES)
    assert not cycles.are_worth_it(WAIT_MIN_S, HELD, SIZES)
    assert cycles.are_worth_it(2 * WAIT_MIN_S, HELD, SIZES)


def test_little_is_left_to_the_collector() -> None:
    cycles = Cycles(MUCH, 0.0)
    little = [root("o1", NAMELESS, 2)]
    assert not any(cycles.are_worth_it(float(now), little, SIZES) for now in range(100))


def test_where_nothing_is_found_it_is_asked_ever_more_seldom() -> None:
    cycles = Cycles(MUCH, 0.0)
    asked = []
    for step in range(8_000):
        now = step * WAIT_MIN_S
        if cycles.are_worth_it(now, HELD, SIZES):
            asked.append(now / WAIT_MIN_S)
            cycles.collected(now, 0.001, has_freed=False)
    assert asked[:8] == [1, 3, 7, 15, 31, 63, 127, 255]
    assert {later - sooner for sooner, later in pairwise(asked[12:])} == {WAIT_MAX_S / WAIT_MIN_S}


def test_where_something_went_it_is_asked_soon_again() -> None:
    cycles = Cycles(MUCH, 0.0)
    cycles.are_worth_it(0.0, HELD, SIZES)
    for now in (10.0, 20.0, 30.0):
        cycles.collected(now, 0.001, has_freed=False)
    assert not cycles.are_worth_it(31.0, HELD, SIZES)
    cycles.collected(32.0, 0.001, has_freed=True)
    assert cycles.are_worth_it(32.0 + WAIT_MIN_S, HELD, SIZES)


def test_collections_take_no_more_than_their_share_of_a_processor() -> None:
    cycles = Cycles(MUCH, 0.0)
    cycles.are_worth_it(0.0, HELD, SIZES)
    cycles.collected(1.0, BURST_S + 2.0, has_freed=True)
    assert not cycles.are_worth_it(2.0 / SHARE, HELD, SIZES)
    assert cycles.are_worth_it(1.0 + 2.0 / SHARE, HELD, SIZES)


def test_a_cycle_goes(dropped: list[bool]) -> None:
    assert not dropped
    collect()
    assert dropped


def test_a_program_that_has_switched_its_collector_off_is_left_alone(dropped: list[bool]) -> None:
    gc.disable()
    try:
        collect()
        assert not dropped
    finally:
        gc.enable()


def test_so_is_one_that_debugs_it(dropped: list[bool]) -> None:
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        collect()
        assert not dropped
        assert not gc.garbage
    finally:
        gc.set_debug(0)
