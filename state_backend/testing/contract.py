"""The contract as a suite: subclass it and give it a backend.

Responsible for: putting the chapters together. Refuses to know: how a backend is opened.
Invariant: a chapter uses nothing but the contract and the fixtures named here.

Fixtures to override: `backend`, a fresh and empty store; `other`, a second client of the same store; `compact`, a
function that forgets history up to a revision. Without the last two, the tests that need them are skipped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from state_backend.api import Revision, StateBackend
from state_backend.testing.holding import HoldingContract
from state_backend.testing.reading import ReadingContract
from state_backend.testing.refusing import RefusingContract
from state_backend.testing.watching import WatchingContract
from state_backend.testing.writing import WritingContract

Compact = Callable[[Revision], Awaitable[None]]


class StateBackendContract(ReadingContract, WritingContract, RefusingContract, HoldingContract, WatchingContract):
    """All chapters. pytest-asyncio must be in auto mode."""

    ttl_seconds = 1.0
    """A short time to live that the store can keep, and that a busy machine can renew in time."""

    @pytest.fixture
    def backend(self) -> StateBackend:
        raise NotImplementedError("override the fixture `backend` with a fresh and empty store")

    @pytest.fixture
    def other(self) -> StateBackend:
        pytest.skip("no second client of the same store was given")

    @pytest.fixture
    def compact(self) -> Compact:
        pytest.skip("no way to compact the store was given")
