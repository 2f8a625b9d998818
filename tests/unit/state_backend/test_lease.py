"""A lease says that it is lost, whatever keeps it from being renewed."""

from __future__ import annotations

import asyncio

import pytest

from state_backend.errors import LeaseLost
from state_backend.lease import Lease, LeaseKeeper
from state_backend.values import LeaseId

PATIENCE_S = 10


class Mistaken(LeaseKeeper):
    """A backend with a mistake in it."""

    async def renew_lease(self, lease: LeaseId) -> None:
        raise ZeroDivisionError("a mistake")

    async def revoke_lease(self, lease: LeaseId) -> None: ...


class Silent(LeaseKeeper):
    """A store that hears and does not answer, as where its disk hangs."""

    async def renew_lease(self, lease: LeaseId) -> None:
        await asyncio.Event().wait()

    async def revoke_lease(self, lease: LeaseId) -> None:
        await asyncio.Event().wait()


async def test_what_would_run_out_by_itself_is_not_waited_for_any_longer(caplog: pytest.LogCaptureFixture) -> None:
    lease = Lease(Silent(), LeaseId(1), 0.03, asyncio.get_running_loop().time())
    await asyncio.wait_for(lease.revoke(), PATIENCE_S)
    assert "lease 1 could not be revoked and will run out by itself: the store did not answer" in caplog.text


async def test_a_store_that_does_not_answer_is_a_lost_lease_when_its_time_is_over() -> None:
    begun_s = asyncio.get_running_loop().time()
    lease = Lease(Silent(), LeaseId(1), 0.1, begun_s)
    lost = await asyncio.wait_for(lease.wait_lost(), PATIENCE_S)
    assert "did not answer in time" in str(lost)
    assert asyncio.get_running_loop().time() - begun_s >= 0.1
    with pytest.raises(LeaseLost):
        lease.check()


async def test_a_renewal_that_fails_by_a_mistake_is_told_as_a_loss() -> None:
    """Else a replica would stay out of the registry, and a lock's work would go on, until somebody asks."""
    lease = Lease(Mistaken(), LeaseId(1), 0.03, asyncio.get_running_loop().time())
    lost = await asyncio.wait_for(lease.wait_lost(), PATIENCE_S)
    assert "a mistake" in str(lost)
