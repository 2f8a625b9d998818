"""Waiting for a store where nothing else waits.

Responsible for carrying coroutines through from plain code, beside an event loop that runs there too, as in every
notebook. Refuses to know stores. Invariant: a loop that runs here is not used, and what is waited for is over when the
call returns.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")


def waited(work: Coroutine[Any, Any, T]) -> T:
    """What it gives or raises."""
    return _aside(lambda: asyncio.run(work))


def each(found: AsyncGenerator[T, None]) -> Iterator[T]:
    """What it gives, one after the other."""
    loop = asyncio.new_event_loop()
    try:
        while True:
            try:
                yield _aside(lambda: loop.run_until_complete(anext(found)))
            except StopAsyncIteration:
                return
    finally:
        _aside(lambda: loop.run_until_complete(found.aclose()))
        _aside(lambda: loop.run_until_complete(loop.shutdown_default_executor()))
        loop.close()


def _aside(run: Callable[[], T]) -> T:
    """Here, or in a thread of its own where a loop runs here: one thread runs one."""
    if not _is_running():
        return run()
    with ThreadPoolExecutor(1, "store") as thread:
        return thread.submit(copy_context().run, run).result()


def _is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
