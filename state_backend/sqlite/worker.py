"""The one thread that talks to SQLite, so that the event loop never waits for a disk.

Responsible for: taking what callers want, committing what waits together in one go, answering. Refuses to know: what a
write means.
Invariant: a write is answered only after its commit is on disk; writes that share a commit succeed or fail for
themselves, except where SQLite itself fails.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from state_backend.errors import Closed, StateBackendError
from state_backend.sqlite.file import named_errors

_Result = TypeVar("_Result")

#: Writes that share a transaction of SQLite's, and with it one flush to the disk.
_BATCH_WRITES_MAX = 256


@dataclass(frozen=True, slots=True)
class _Job:
    run: Callable[[], Any]
    answer: asyncio.Future[Any]


@dataclass(frozen=True, slots=True)
class _Write(_Job):
    doing: str


@dataclass(frozen=True, slots=True)
class _Answer:
    job: _Job
    result: Any = None
    error: BaseException | None = None


class Worker:
    """Owns the connection until `stop`."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        where: str,
        after_commit: Callable[[], None],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """`after_commit` is called in the event loop. `check`: raises what is wrong with the file's place."""
        self._connection = connection
        self._where = where
        self._after_commit = after_commit
        self._check = check
        self._loop = asyncio.get_running_loop()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._stopped = False
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._work, name=f"sqlite {where}", daemon=True)
        self._thread.start()

    async def read(self, run: Callable[[], _Result]) -> _Result:
        """Runs it in the thread, inside one read transaction."""
        answer = self._loop.create_future()
        return await self._submit(_Job(run, answer))  # type: ignore[no-any-return]

    async def write(self, doing: str, run: Callable[[], _Result]) -> _Result:
        """Runs it in the thread, inside a write transaction that it may share; it must raise before it writes."""
        answer = self._loop.create_future()
        return await self._submit(_Write(run, answer, doing))  # type: ignore[no-any-return]

    async def stop(self) -> None:
        """Answers what waits, then closes the connection."""
        if not self._stopped:
            self._stopped = True
            self._jobs.put(None)
        await self._ended.wait()  # in no executor's thread: at the interpreter's end none starts any more
        self._thread.join()  # it has nothing left to do

    async def _submit(self, job: _Job) -> Any:
        if self._stopped:
            raise Closed(self._where)
        self._jobs.put(job)
        return await job.answer

    # ---- in the thread ----------------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            self._work_off()
            self._connection.close()
        finally:
            self._soon(self._ended.set)

    def _work_off(self) -> None:
        going = True
        while going:
            jobs, going = self._take()
            writes = [job for job in jobs if isinstance(job, _Write)]
            if writes:
                self._tell(self._commit(writes))
            self._tell([self._read(job) for job in jobs if not isinstance(job, _Write)])

    def _take(self) -> tuple[list[_Job], bool]:
        """Waits for a job and takes what else is there; False after the last."""
        jobs: list[_Job] = []
        job = self._jobs.get()
        while job is not None:
            jobs.append(job)
            if len(jobs) == _BATCH_WRITES_MAX or self._jobs.empty():
                return jobs, True
            job = self._jobs.get()
        return jobs, False

    def _read(self, job: _Job) -> _Answer:
        self._roll_back()
        try:
            self._check()
            with named_errors(self._where):
                self._connection.execute("BEGIN")
                try:
                    return _run(job)
                finally:
                    self._connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - who asked must be answered, whatever it is
            return _Answer(job, error=error)

    def _commit(self, writes: list[_Write]) -> list[_Answer]:
        """All in one commit; where SQLite fails, all of them failed."""
        self._roll_back()
        try:
            self._check()
            with named_errors(self._where):
                self._connection.execute("BEGIN IMMEDIATE")
            try:
                with named_errors(self._where):
                    answers = [_run(job) for job in writes]
                with named_errors(self._where, commit_of=writes[0].doing):
                    self._connection.execute("COMMIT")
            finally:
                self._roll_back()
        except Exception as error:  # noqa: BLE001 - who asked must be answered, whatever it is
            return [_Answer(job, error=error) for job in writes]
        return answers

    def _roll_back(self) -> None:
        """Ends the transaction that a failure has left open.

        If that fails too, the next job tries again, and this job raises the first failure.
        """
        with suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _tell(self, answers: list[_Answer]) -> None:
        if answers:
            self._soon(self._deliver, answers)

    def _soon(self, run: Callable[..., Any], *arguments: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(run, *arguments)

    # ---- in the event loop ------------------------------------------------------------------------------------------

    def _deliver(self, answers: list[_Answer]) -> None:
        for answer in answers:
            _settle(answer)
        if any(isinstance(answer.job, _Write) for answer in answers):
            self._after_commit()


def _run(job: _Job) -> _Answer:
    """Our own errors are the job's; SQLite's concern all that share the transaction."""
    try:
        return _Answer(job, job.run())
    except StateBackendError as error:
        return _Answer(job, error=error)


def _settle(answer: _Answer) -> None:
    future = answer.job.answer
    if future.done():  # its caller was cancelled
        return
    if answer.error is not None:
        future.set_exception(answer.error)
    else:
        future.set_result(answer.result)
