"""Asking where threads stand."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator

import pytest

from listener_bridge.reach import stacks


@pytest.fixture
def waiting() -> Iterator[list[threading.Thread]]:
    """Threads whose frames nobody has asked for yet."""
    over = threading.Event()
    threads = [threading.Thread(target=over.wait) for _ in range(8)]
    for thread in threads:
        thread.start()
    yield threads
    over.set()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("enabled", [True, False])
def test_every_thread_is_there_and_the_collector_is_as_it_was(waiting: list[threading.Thread], enabled: bool) -> None:
    was_enabled = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        found = stacks.current_frames()
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()
    assert {thread.ident for thread in (*waiting, threading.current_thread())} <= set(found)


def test_no_collection_begins_within(waiting: list[threading.Thread]) -> None:
    """On the versions where one that does may never end."""
    if not stacks.COLLECTS:
        pytest.skip("this CPython makes frames without its lock of threads, or collects elsewhere")
    asked = []

    def note(phase: str, _info: dict[str, int]) -> None:
        asked.append((phase, sys._getframe(1).f_code is stacks.current_frames.__code__))

    threshold = gc.get_threshold()
    gc.callbacks.append(note)
    gc.set_threshold(1)
    try:
        stacks.current_frames()
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(note)
    assert ("start", True) not in asked
