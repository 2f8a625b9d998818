"""The lease: a promise to the store that its holder is alive, renewed in the background.

Responsible for: renewing in time, and saying loudly when that failed. Refuses to know: what the lease holds.
Invariant: it counts itself as lost no later than the store does, because its own clock starts when a renewal is sent
and the store's when it arrives.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from types import TracebackType

from state_backend.errors import HoldLost, LeaseLost, NoSuchLease, StateBackendError
from state_backend.values import LeaseId
from state_backend.waiting import within

logger = logging.getLogger(__name__)

#: So two may go wrong before the time to live is over.
_RENEWALS_PER_TTL = 3
#: The shortest pause between two tries: towards the deadline each is half of what is left.
_RETRY_SECONDS = 0.05


class LeaseKeeper(ABC):
    """What a backend does for a lease: one renewal, one revocation. Both may be repeated."""

    @abstractmethod
    async def renew_lease(self, lease: LeaseId) -> None:
        """Gives the lease its whole time again. Raises `NoSuchLease` when it is gone."""

    @abstractmethod
    async def revoke_lease(self, lease: LeaseId) -> None:
        """Ends the lease and removes its keys in one commit. A lease that is gone is no error."""


class Lease:
    """A granted lease; `async with` revokes it at the end. Only a backend makes one, in its event loop."""

    def __init__(self, keeper: LeaseKeeper, lease: LeaseId, ttl_seconds: float, granted_seconds: float) -> None:
        """`granted_seconds`: the loop's time when the grant was sent."""
        self.id = lease
        self.ttl_seconds = ttl_seconds
        self._keeper = keeper
        self._deadline_seconds = granted_seconds + ttl_seconds
        self._loop = asyncio.get_running_loop()
        self._lost: asyncio.Future[LeaseLost] = self._loop.create_future()
        self._renewing = self._loop.create_task(self._renew_until_lost(), name=f"lease {lease:x}")

    @property
    def remaining_seconds(self) -> float:
        """How long the store surely still counts it as alive; zero when lost."""
        return 0.0 if self._lost.done() else max(0.0, self._deadline_seconds - self._loop.time())

    def check(self) -> None:
        """Raises `LeaseLost` unless the lease is surely alive now."""
        if self.remaining_seconds <= 0:
            self._lose("it was not renewed in time")
        if self._lost.done():
            raise self._lost.result()

    async def wait_lost(self) -> LeaseLost:
        """Waits until the lease is lost, revoked or abandoned, and gives (not raises) the reason."""
        return await asyncio.shield(self._lost)

    async def revoke(self) -> None:
        """Ends the lease; its keys go at once. Where the store does not answer they go when the time has run out.

        That is not waited for any longer.
        """
        await self.abandon("it was revoked")
        try:
            await within(self.ttl_seconds, self._keeper.revoke_lease(self.id))
        except (StateBackendError, asyncio.TimeoutError) as error:
            why = str(error) or "the store did not answer in time"
            logger.warning("lease %x could not be revoked and will run out by itself: %s", self.id, why)

    async def abandon(self, cause: str) -> None:
        """Stops renewing: the store takes the keys when the time has run out."""
        self._lose(cause)
        self._renewing.cancel()
        await asyncio.wait((self._renewing,))

    async def _renew_until_lost(self) -> None:
        while not self._lost.done():
            await self._wait(self.ttl_seconds / _RENEWALS_PER_TTL)
            await self._renew()

    async def _renew(self) -> None:
        sent_seconds = self._loop.time()
        try:
            await within(self._deadline_seconds - sent_seconds, self._keeper.renew_lease(self.id))
            self._deadline_seconds = sent_seconds + self.ttl_seconds
        except (NoSuchLease, HoldLost) as error:
            self._lose(str(error))
        except StateBackendError as error:
            self._lose_when_overdue(str(error))
        except asyncio.TimeoutError:
            self._lose_when_overdue("the store did not answer in time")
        except Exception as error:  # a mistake of ours: who waits for the loss must not wait for ever
            logger.exception("lease %x is renewed no more", self.id)
            self._lose(f"its renewal failed: {type(error).__name__}: {error}")

    def _lose_when_overdue(self, cause: str) -> None:
        logger.warning("lease %x was not renewed: %s", self.id, cause)
        if self._loop.time() >= self._deadline_seconds:
            self._lose(cause)

    async def _wait(self, seconds: float) -> None:
        """Waits for the loss at most so long, and never beyond the deadline: what is left is for a last try."""
        left_seconds = self._deadline_seconds - self._loop.time()
        await asyncio.wait((self._lost,), timeout=min(seconds, max(left_seconds / 2, _RETRY_SECONDS)))

    def _lose(self, cause: str) -> None:
        if not self._lost.done():
            self._lost.set_result(LeaseLost(self.id, cause))

    async def __aenter__(self) -> Lease:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.revoke()
