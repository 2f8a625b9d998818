"""How work that takes long is run beside the event loop.

Responsible for the one way in which the runtime hands over what would hold up all its applications: encoding a
snapshot, asking an archive. Refuses to know threads (`state_backend.threads` has some) and what is run. Invariant: what
is handed over is run once, and its result or its error comes back to whoever waits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

#: Runs what takes long without holding up the event loop, or simply runs it.
Aside = Callable[[Callable[[], T]], Awaitable[T]]


async def at_once(run: Callable[[], T]) -> T:
    """The `Aside` of simulations: in the event loop's own thread."""
    return run()
