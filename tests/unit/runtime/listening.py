"""What a driver hears on its session: the next message, the next directive, or nothing for a while.

Responsible for waiting in virtual time. Refuses to know what ought to come. Invariant: no wait is without an end.
"""

from __future__ import annotations

import asyncio

from coordinator.core.state import Directive
from coordinator.runtime.api import Message, Session
from coordinator.runtime.replica import Replica
from tests.simulation import facts
from tests.simulation.world import registered


async def next_of(session: Session, within_s: float = 5.0) -> Message:
    return await asyncio.wait_for(session.__anext__(), within_s)


async def directive_of(session: Session, within_s: float = 5.0) -> Directive:
    message = await next_of(session, within_s)
    assert isinstance(message, Directive)
    return message


async def silent(session: Session, for_s: float) -> bool:
    try:
        await asyncio.wait_for(session.__anext__(), for_s)
    except asyncio.TimeoutError:
        return True
    return False


async def fencing(replica: Replica) -> facts.Numbers:
    """An application with one fence outstanding."""
    number = await registered(replica)
    await replica.submit(facts.APP, number(facts.whole(0)))
    return number
