"""A replica that writes down what it asks of its store: `python -m tests.faults.replica HISTORY NAME serve …`.

Responsible for running `shufflectl` unchanged over a store that is watched. Refuses to know commands. Invariant: every
append is in the history before it is sent, and its outcome before the replica knows it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from shuffle_lifecycle.v1 import events_pb2

import coordinator.app
from coordinator.cli.main import main as shufflectl
from state_backend.api import StateBackend
from state_backend.errors import OutcomeUnknown, StateBackendError
from state_backend.open import open_backend
from state_backend.testing.faults import Faults, FaultyBackend
from state_backend.values import Compare, Keyspace, Operation, Put, Revision
from tests.faults.history import Outcome, Recorder


class WatchedBackend(FaultyBackend):
    """A store without faults of ours; its appends are written down."""

    def __init__(self, inner: StateBackend, recorder: Recorder, who: str) -> None:
        super().__init__(inner, Faults())
        self._recorder = recorder
        self._who = who

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


def main() -> None:
    """The replica, under its name in the test."""
    path, who = sys.argv[1], sys.argv[2]
    recorder = Recorder(Path(path))

    async def opened(address: str) -> StateBackend:
        return WatchedBackend(await open_backend(address), recorder, who)

    vars(coordinator.app)["open_backend"] = opened
    sys.argv = ["shufflectl", *sys.argv[3:]]
    shufflectl()


if __name__ == "__main__":
    main()
