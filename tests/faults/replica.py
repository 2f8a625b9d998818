"""A replica that writes down what it asks of its store: `python -m tests.faults.replica HISTORY CLOCK NAME serve …`.

Responsible for running `shufflectl` unchanged over a store that is watched, by a clock that can be set. Refuses to know
commands. Invariant: every
append is in the history before it is sent, and its outcome before the replica knows it; what the store says of the
replicas is there before this one knows it too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from shuffle_lifecycle.v1 import events_pb2

import coordinator.app
from coordinator.cli.main import main as shufflectl
from coordinator.runtime.clock import Clock
from coordinator.wire import upcast
from state_backend.api import StateBackend
from state_backend.errors import OutcomeUnknown, StateBackendError
from state_backend.limits import PAGE_LIMIT
from state_backend.open import open_backend
from state_backend.testing.faults import Faults, FaultyBackend
from state_backend.values import Compare, Keyspace, Operation, Page, Put, Revision
from tests.faults.fold import unseal
from tests.faults.history import Outcome, Recorder

_READ_EVERY_S = 0.05


class Wall:
    """The machine's clock, off by what a file says; there is no file: it is right."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset_s = 0.0
        self._read_s = float("-inf")

    def __call__(self) -> float:
        if time.monotonic() - self._read_s > _READ_EVERY_S:
            self._read_s = time.monotonic()
            self._offset_s = float(self._path.read_text() or 0) if self._path.exists() else 0.0
        return time.time() + self._offset_s


class WatchedBackend(FaultyBackend):
    """A store without faults of ours; its appends are written down."""

    def __init__(self, inner: StateBackend, recorder: Recorder, who: str) -> None:
        super().__init__(inner, Faults())
        self._recorder = recorder
        self._who = who
        recorder.note(who, "release", reads=upcast.VERSION)

    async def scan(
        self,
        keyspace: Keyspace,
        prefix: str = "",
        after: str | None = None,
        limit: int = PAGE_LIMIT,
        at: Revision | None = None,
    ) -> Page:
        page = await super().scan(keyspace, prefix, after, limit, at)
        if keyspace is Keyspace.REPLICAS:
            self._recorder.note(self._who, "heard", reads=dict(_reads(bytes(entry.value)) for entry in page.entries))
        return page

    async def put_txn(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        appended = [each for each in operations if isinstance(each, Put) and each.keyspace is Keyspace.EVENTS]
        if not appended:
            return await super().put_txn(compares, operations)
        commit = events_pb2.Segment.FromString(bytes(appended[0].value)).commit_id.decode()
        number = self._recorder.begin(self._who, "append", key=appended[0].key, commit=commit)
        outcome: Outcome = "unknown"
        error = ""
        try:
            revision = await super().put_txn(compares, operations)
            outcome = "ok"
            return revision
        except StateBackendError as failed:
            outcome = "unknown" if isinstance(failed, OutcomeUnknown) else "failed"
            error = f"{type(failed).__name__}: {failed}"
            raise
        finally:
            self._recorder.end(number, outcome, error=error[:200])


def _reads(value: bytes) -> tuple[str, int]:
    record = events_pb2.ReplicaRecord.FromString(unseal(value) or b"")
    return record.replica, record.reads_version


def main() -> None:
    """The replica, under its name in the test."""
    path, clock, who = sys.argv[1:4]
    recorder = Recorder(Path(path))

    async def opened(address: str) -> StateBackend:
        return WatchedBackend(await open_backend(address), recorder, who)

    vars(coordinator.app)["open_backend"] = opened
    Clock.__init__.__defaults__ = (Wall(Path(clock)),)
    sys.argv = ["shufflectl", *sys.argv[4:]]
    shufflectl()


if __name__ == "__main__":
    main()
