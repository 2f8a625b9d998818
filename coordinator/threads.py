"""Threads for work that may hang for ever, such as reading from a file system that has gone away.

Responsible for running so many pieces of work at a time, each in a daemon thread of its own. Refuses to know what the
work is. Invariant: work that hangs takes its own place and no other's: who waits for it may give up, this pool's places
stay bounded, the event loop's own threads stay free, and the process can end.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any


class Threads:
    """So many at a time; the rest waits. An `Aside` of the runtime, for one event loop."""

    def __init__(self, most: int, name: str) -> None:
        self._places = asyncio.Semaphore(most)
        self._name = name

    async def __call__(self, run: Callable[[], Any]) -> Any:
        """What ``run`` gives or raises."""
        await self._places.acquire()
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()

        def work() -> None:
            try:
                settle = _giving(done, run())
            except BaseException as error:  # noqa: BLE001 - it is raised where somebody waits for it
                settle = _raising(done, error)
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(self._over, settle)

        threading.Thread(target=work, name=self._name, daemon=True).start()
        return await done

    def _over(self, settle: Callable[[], None]) -> None:
        self._places.release()
        settle()


def _giving(done: asyncio.Future[Any], result: Any) -> Callable[[], None]:
    return lambda: None if done.done() else done.set_result(result)


def _raising(done: asyncio.Future[Any], error: BaseException) -> Callable[[], None]:
    return lambda: None if done.done() else done.set_exception(error)
