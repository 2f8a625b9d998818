"""Threads for work that may hang for ever, such as reading from a file system that has gone away.

Responsible for running so many pieces of work at a time, each in a daemon thread of its own. Refuses to know what the
work is. Invariant: work that hangs takes its own place and no other's: who waits for it may give up, this pool's places
stay bounded, the event loop's own threads stay free, and the process can end. What waits for no more than a processor
or a disk goes here too: the event loop's own threads take nothing any more once the main thread has ended, though the
program may go on for hours in another one.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any


class NoThreadError(RuntimeError):
    """None could be started: the process may have no more of them, or its interpreter ends. Nothing was run."""


class Threads:
    """So many at a time; the rest waits. An `Aside` of the coordinator's runtime, for one event loop."""

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

        self._start(work)
        return await done

    def _start(self, work: Callable[[], None]) -> None:
        try:
            threading.Thread(target=work, name=self._name, daemon=True).start()
        except RuntimeError as error:
            self._places.release()
            raise NoThreadError(
                f"no thread {self._name!r} could be started ({error}); expected one within the limits of this process "
                "and before its interpreter ends: raise the limit (ulimit -u), or end what runs beside it"
            ) from error

    def _over(self, settle: Callable[[], None]) -> None:
        self._places.release()
        settle()


def or_here(threads: Threads) -> Callable[[Callable[[], Any]], Awaitable[Any]]:
    """In a thread; where none can be started, in the event loop's own: for work that is soon done."""

    async def aside(run: Callable[[], Any]) -> Any:
        try:
            return await threads(run)
        except NoThreadError:
            return run()

    return aside


def _giving(done: asyncio.Future[Any], result: Any) -> Callable[[], None]:
    return lambda: None if done.done() else done.set_result(result)


def _raising(done: asyncio.Future[Any], error: BaseException) -> Callable[[], None]:
    return lambda: None if done.done() else done.set_exception(error)
