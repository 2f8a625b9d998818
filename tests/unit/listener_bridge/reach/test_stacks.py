"""Asking where threads stand."""

from __future__ import annotations

import dis
import gc
import itertools
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from listener_bridge.reach import stacks
from listener_bridge.reach.stacks import Seen, are_answering, is_called_back, outwards
from tests.support.liveness import in_a_thread

ROOT = Path(__file__).parents[4]


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


ON_3_11 = pytest.mark.skipif(not stacks.COLLECTS, reason="this CPython collects between two steps of the program only")


@ON_3_11
def test_no_collection_begins_within() -> None:
    begun: list[str] = []

    def note(phase: str, _info: dict[str, int]) -> None:
        begun.append(phase)

    threshold = gc.get_threshold()
    gc.callbacks.append(note)
    try:
        with stacks.without_collections():
            begun.clear()
            gc.set_threshold(1)
            kept: list[list[int]] = [[] for _ in range(100)]
            within = len(begun)
        kept += [[] for _ in range(100)]
        assert (within, bool(begun)) == (0, True)
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(note)


@ON_3_11
def test_collections_begin_again_when_the_last_one_has_looked() -> None:
    first, second = stacks.without_collections(), stacks.without_collections()
    assert gc.isenabled()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


@ON_3_11
def test_a_child_process_collects_though_a_look_was_under_way() -> None:
    with stacks.without_collections():
        child = os.fork()
        if not child:
            collects = gc.isenabled()
            with stacks.without_collections():
                pauses = not gc.isenabled()
            os._exit(0 if collects and pauses and gc.isenabled() else 1)
        assert not gc.isenabled()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


#: Threads whose frames differ in size come and go; what the collector finds gives way to them.
BUSY = """
import gc, random, sys, threading, time
from contextlib import nullcontext
from listener_bridge.reach import naming, stacks
from listener_bridge.reach.liveness import frames, values

if sys.argv[1] == "unguarded":
    stacks.without_collections = values.without_collections = nullcontext

class Noisy:
    alive = 0
    def __init__(self):
        self.me = self
        Noisy.alive += 1
    def __del__(self):
        Noisy.alive -= 1
        time.sleep(1e-5)

functions = []
for size in range(1, 25):
    names = ", ".join(f"v{place}" for place in range(size))
    known = {"functions": functions, "random": random}
    body = f"{names}, = [n] * {size}\\n  if n: random.choice(functions)(n - 1)\\n  return [{names}]"
    exec("def deep(n):\\n  " + body, known)
    functions.append(known["deep"])

over = False
def program():
    n = 0
    while not over:
        n += 1
        functions[3](n % 40)
        if n % 20 == 0 and Noisy.alive < 5:
            Noisy()

sys.setswitchinterval(1e-5)
gc.set_threshold(20)
threads = [threading.Thread(target=program) for _ in range(2)]
for thread in threads:
    thread.start()
try:
    for _ in range(1_000):
        frames._is_watched()
        frames.dead_references(lambda frame: True)
        for frame in stacks.other_frames().values():
            assert not stacks.is_called_back(frame)
            naming.line_of(frame)
finally:
    over = True
for thread in threads:
    thread.join()
print("whole")
"""


def after_a_thousand_looks(how: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", BUSY, how], capture_output=True, text=True, timeout=100, check=False, cwd=ROOT
    )
    return done.stdout if done.returncode == 0 else f"{done.returncode}: {done.stderr}"


def test_looks_at_threads_that_come_and_go_harm_nobody() -> None:
    assert after_a_thousand_looks("guarded") == "whole\n"


@ON_3_11
def test_without_the_pause_they_do() -> None:
    """Frames are made of what is none any more: what holds these looks to it would notice."""
    assert after_a_thousand_looks("unguarded") != "whole\n"


def test_whoever_is_seen_keeps_nothing() -> None:
    """A frame in hand would keep its variables: a file that nobody closes would be written when the look is over."""

    class Held:
        pass

    def work() -> weakref.ref[Held]:
        held = Held()
        in_a_thread(lambda: found.extend(stacks.seen()))
        return weakref.ref(held)

    found: list[stacks.Seen] = []
    known = work()
    assert work.__code__ in [each.f_code for each in found]
    assert known() is None


def test_all_frames_of_all_other_threads_are_seen_at_once() -> None:
    def work() -> None:
        arrived.set()
        assert go_on.wait(30)

    def look() -> None:
        each, walked = stacks.seen(), [frame for one in stacks.other_frames().values() for frame in outwards(one)]
        assert {one.frame: (one.f_code, one.f_globals, one.back) for one in each} == {
            id(one): (one.f_code, one.f_globals, id(one.f_back)) for one in walked
        }
        found.extend(one.f_code for one in each)

    arrived, go_on, found = threading.Event(), threading.Event(), list[CodeType]()
    thread = threading.Thread(target=work)
    thread.start()
    assert arrived.wait(30)
    in_a_thread(look)
    go_on.set()
    thread.join()
    assert work.__code__ in found
    assert look.__code__ not in found


def test_nothing_runs_while_frames_are_asked() -> None:
    """All of it is one instruction: before it nothing is asked, behind it no frame is in hand."""
    told = [one.opname for one in dis.get_instructions(stacks.seen)]
    assert told[told.index("LIST_EXTEND") - 1].startswith("CALL")
    assert type(stacks.asking()) is itertools.chain


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
    frames = [*outwards(stack_of(*names))]
    seen = [Seen(id(each), id(each.f_back), each.f_code, each.f_lasti, None, each.f_globals) for each in frames]
    assert are_answering(seen[: len(names)]) is answers


def test_whom_the_jvm_has_called() -> None:
    assert is_called_back(stack_of("run", "wait_for_commands", "_call_proxy", "call"))
    assert not is_called_back(stack_of("main", "count", "send_command"))
