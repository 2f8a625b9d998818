"""A lease says that it is lost, whatever keeps it from being renewed."""

from __future__ import annotations

import asyncio

from state_backend.lease import Lease, LeaseKeeper
from state_backend.values import LeaseId

PATIENCE_S = 10


class Mistaken(LeaseKeeper):
    """A backend with a mistake in it."""

    async def renew_lease(self, lease: LeaseId) -> None:
        raise ZeroDivisionError("a mistake")

    async def revoke_lease(self, lease: LeaseId) -> None: ...


async def test_a_renewal_that_fails_by_a_mistake_is_told_as_a_loss() -> None:
    """Else a replica would stay out of the registry, and a lock's work would go on, until somebody asks."""
    lease = Lease(Mistaken(), LeaseId(1), 0.03, asyncio.get_running_loop().time())
    lost = await asyncio.wait_for(lease.wait_lost(), PATIENCE_S)
    assert "a mistake" in str(lost)
