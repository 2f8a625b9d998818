"""Asking where threads stand."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from listener_bridge.reach import stacks
from listener_bridge.reach.stacks import is_answering, is_called_back


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


def stack_of(*names: str) -> FrameType:
    """Functions that call each other, the outermost first; where the innermost stands."""
    inner: Callable[[], FrameType] = sys._getframe
    for name in reversed(names):
        known: dict[str, Any] = {"inner": inner}
        exec(f"def {name}():\n    return inner()", known)
        inner = known[name]
    return inner()


@pytest.mark.parametrize(
    ("names", "answers"),
    [
        (("run", "wait_for_commands"), True),
        (("run", "wait_for_commands", "readinto"), False),
        (("run", "wait_for_commands", "_call_proxy", "call", "count", "send_command", "readinto"), True),
        (("main", "count", "send_command"), False),
        (("main", "count", "send_command", "_call_proxy", "call"), True),
        (("run",), False),
    ],
)
def test_who_may_be_answering_the_jvm(names: tuple[str, ...], answers: bool) -> None:
    assert is_answering(stack_of(*names)) is answers


def test_whom_the_jvm_has_called() -> None:
    assert is_called_back(stack_of("run", "wait_for_commands", "_call_proxy", "call"))
    assert not is_called_back(stack_of("main", "count", "send_command"))
