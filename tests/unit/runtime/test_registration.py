"""What a replica says of the others where it cannot read of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from coordinator.runtime import peers
from coordinator.runtime.clock import Clock
from coordinator.runtime.options import Options
from coordinator.runtime.registration import Registration
from state_backend.open import open_backend


async def test_a_store_that_says_nothing_is_said_to_have_said_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A time that runs out has no words of its own."""

    async def hang(backend: Any) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(peers, "registered", hang)
    async with await open_backend("memory:") as backend:
        with capture_logs() as said:
            await Registration(backend, Options(replica="one"), Clock()).refresh(0.01)
    assert [line["error"] for line in said] == ["no answer within 0.01 s"]
