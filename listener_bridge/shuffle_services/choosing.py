"""Which shuffle service a session uses.

Responsible for: finding the adapter by the shuffle manager that Spark holds, or the one that the user named.
Refuses to know: what a service can do; its adapter's `probe` says so.
Invariant: where the named service is not the session's, nothing is deleted, and one line says what was found.
"""

from __future__ import annotations

from collections.abc import Callable

from listener_bridge.shuffle_services import celeborn, native, uniffle
from listener_bridge.shuffle_services.api import ShuffleService
from listener_bridge.tap.tap import Tap

AUTO = "auto"
_OF_MANAGER = {celeborn.MANAGER: celeborn.SERVICE, uniffle.MANAGER: uniffle.SERVICE}
_ADAPTERS: dict[str, Callable[[Tap], ShuffleService]] = {
    celeborn.SERVICE: celeborn.CelebornShuffleService,
    uniffle.SERVICE: uniffle.UniffleShuffleService,
}


def choose(tap: Tap, wanted: str = AUTO) -> ShuffleService:
    """The adapter of the session's service; of the named one, which then says itself why it cannot act here.

    A shuffle manager that nobody knows is native's to refuse.
    """
    if wanted == AUTO:
        manager = str(tap.driver.shuffle_manager.getClass().getName())
        wanted = _OF_MANAGER.get(manager, native.SERVICE)
    return _ADAPTERS.get(wanted, native.NativeShuffleService)(tap)
