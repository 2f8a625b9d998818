"""A signal: tells whoever listens that something has changed.

Responsible for: waking any number of listeners. Refuses to know: what has changed.
Invariant: one that is busy hears of it when it next waits; telling waits for nobody.
"""

from __future__ import annotations

import asyncio


class Signal:
    """One signal, for the tasks of one event loop."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Event] = set()

    def subscribe(self) -> asyncio.Event:
        """An event that is set at each change; its owner clears it before looking at what changed."""
        event = asyncio.Event()
        self._listeners.add(event)
        return event

    def unsubscribe(self, event: asyncio.Event) -> None:
        """The event is set no more."""
        self._listeners.discard(event)

    def tell(self) -> None:
        """Something changed."""
        for event in self._listeners:
            event.set()

    @property
    def has_listeners(self) -> bool:
        return bool(self._listeners)
