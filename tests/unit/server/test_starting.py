"""A replica in a thread of its own: whoever waits for it in vain leaves none behind."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from coordinator import app

PATIENCE_S = 10


class Late:
    """What opens a store that lets everybody wait until a test says so, and notes what was left."""

    def __init__(self, error: Exception | None = None) -> None:
        self.go_on = threading.Event()
        self.was_left = threading.Event()
        self._error = error

    @asynccontextmanager
    async def running(self, *_: Any) -> AsyncIterator[Any]:
        self.go_on.wait(PATIENCE_S)  # as a disk does that does not answer
        try:
            if self._error is not None:
                raise self._error
            yield SimpleNamespace(address="nowhere:1")
        finally:
            self.was_left.set()


@pytest.mark.parametrize("error", [None, OSError("the disk is gone")], ids=["serves", "fails"])
def test_a_replica_that_comes_to_serve_too_late_stops_at_once(
    error: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try of a driver would leave one more behind, and all would serve when the store answers again."""
    late = Late(error)
    monkeypatch.setattr(app, "running", late.running)
    monkeypatch.setattr(app, "_PATIENCE_S", 0.01)
    with pytest.raises(TimeoutError, match=r"the coordinator did not serve within 0\.01 s"):
        app.start_replica("memory:")
    late.go_on.set()
    assert late.was_left.wait(PATIENCE_S)


def test_what_keeps_it_from_serving_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    late = Late(OSError("the disk is gone"))
    late.go_on.set()
    monkeypatch.setattr(app, "running", late.running)
    with pytest.raises(OSError, match="the disk is gone"):
        app.start_replica("memory:")
