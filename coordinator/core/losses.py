"""What goes without our doing, or is given up.

Responsible for ending a generation as lost and for having what is left of its data freed. Refuses to know what follows
for those who want it (``recovery``). Invariant: only the record of a generation goes here; its successor is another's.
"""

from __future__ import annotations

from coordinator.core import events as e
from coordinator.core.desk import Desk
from coordinator.core.policies import policy_of
from coordinator.core.state import Generation
from coordinator.core.values import Loss


def lose(desk: Desk, generation: Generation, cause: Loss) -> None:
    """Ends a generation as lost, or given up, and has what is left of its data freed.

    Nothing is left where its outputs are gone, and nothing is freed where nothing may be deleted.
    """
    may_delete = desk.state.meta.capabilities.deletes and not policy_of(desk.state, generation).observe
    desk.emit(e.GenerationLost(generation.shuffle_id, cause))
    if cause is not Loss.OUTPUTS and may_delete:
        directive = desk.state.meta.next_directive
        named = generation.shuffle_id, generation.app_shuffle, generation.locator
        desk.emit(e.InvalidateRequested(directive, *named))
