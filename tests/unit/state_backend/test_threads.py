"""Work that hangs takes its own place, and keeps neither the others nor the process from going on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from functools import partial

import pytest

from state_backend.threads import NoThreadError, Threads, or_here


async def test_what_it_gives_and_raises_comes_back() -> None:
    threads = Threads(2, "work")
    assert await asyncio.gather(*(threads(partial(pow, n, 2)) for n in range(20))) == [n * n for n in range(20)]
    with pytest.raises(ZeroDivisionError):
        await threads(lambda: 1 // 0)
    assert await threads(lambda: threading.current_thread().name) == "work"


async def test_so_many_at_a_time_also_where_nobody_waits_any_more() -> None:
    threads, going_on, begun = Threads(2, "work"), threading.Event(), []

    def hang() -> None:
        begun.append(1)
        going_on.wait(60)

    waiting = [asyncio.ensure_future(threads(hang)) for _ in range(5)]
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(asyncio.shield(waiting[0]), 0.05)
    waiting[0].cancel()
    waiting[1].cancel()
    await asyncio.sleep(0)
    assert len(begun) == 2, "a place is free when its work is over, not when somebody has given up"
    assert await asyncio.to_thread(lambda: "free") == "free"
    going_on.set()
    await asyncio.gather(*waiting[2:])
    assert len(begun) == 5


def test_a_process_ends_though_something_hangs() -> None:
    program = (
        "import asyncio, threading\n"
        "from state_backend.threads import Threads\n"
        "async def main():\n"
        "    try:\n"
        "        await asyncio.wait_for(Threads(1, 'work')(threading.Event().wait), 0.05)\n"
        "    except asyncio.TimeoutError:\n"
        "        print('given up')\n"
        "asyncio.run(main())\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (told.returncode, told.stdout) == (0, "given up\n")


async def test_a_thread_that_cannot_be_started_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = Threads(1, "work")
    for _ in range(2):
        with monkeypatch.context() as without:
            without.setattr(threading.Thread, "start", _refuse)
            with pytest.raises(NoThreadError, match="no thread 'work' could be started"):
                await asyncio.wait_for(threads(lambda: 1), 5)
    assert await asyncio.wait_for(threads(lambda: 1), 5) == 1


async def test_what_is_soon_done_is_done_here_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    aside = or_here(Threads(1, "work"))
    assert await aside(lambda: threading.current_thread().name) == "work"
    monkeypatch.setattr(threading.Thread, "start", _refuse)
    assert await aside(threading.current_thread) is threading.main_thread()
    with pytest.raises(ZeroDivisionError):
        await aside(lambda: 1 // 0)


def _refuse(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")
