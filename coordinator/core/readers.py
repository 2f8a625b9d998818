"""Who reads which generation.

Responsible for registering readers, who ask for an id or of whom the scheduler's facts tell, and for what they are
told. Refuses to know transport and policy. Invariant: nobody is registered whose end will never be told.
"""

from __future__ import annotations

from coordinator.core import events as e
from coordinator.core.answers import BEING_FENCED, not_ready, recover, told_late, truth, unfinished, unknown
from coordinator.core.attempts import is_over, is_past
from coordinator.core.desk import Desk
from coordinator.core.ids import AppShuffle, ShuffleId, StageAttempt
from coordinator.core.lifecycle import Life
from coordinator.core.rejections import Answer, Ready
from coordinator.core.state import Generation
from coordinator.core.values import Rescue


def ask_to_read(desk: Desk, app_shuffle: AppShuffle, attempt: StageAttempt) -> Answer:
    """Answers a reader, and registers it where there is something to read; what had expired is kept for it.

    Where the generation is gone, its recovery is joined or opened. An asker whose attempt is over is told what is so,
    and nothing follows.
    """
    shuffle = desk.state.shuffles.get(app_shuffle)
    if shuffle is None:
        return unknown(desk.state, app_shuffle)
    if shuffle.current is None:
        return not_ready(desk, ShuffleId(0), "announced and not yet written")
    generation = desk.state.generations.get(shuffle.current)
    if generation is None or generation.life is Life.FENCED:
        if is_past(desk.state, attempt):
            return truth(desk, app_shuffle, shuffle.current)
        return recover(desk, app_shuffle, attempt)
    if not generation.complete:
        return not_ready(desk, generation.shuffle_id, unfinished(generation))
    if is_over(desk.state, attempt):
        return told_late(desk, generation)
    _register(desk, generation, attempt)
    if generation.life is Life.FENCING:
        return not_ready(desk, generation.shuffle_id, BEING_FENCED)
    return Ready(generation.shuffle_id, generation.locator)


def note_reader(desk: Desk, app_shuffle: AppShuffle, attempt: StageAttempt) -> None:
    """The scheduler has submitted a reader, which counts without asking.

    Where the generation is gone, the stage has missed it: its recovery is joined or opened. Where it has expired and
    this command has no move left to take that back, the sweep registers the reader.
    """
    generation = desk.state.current(app_shuffle)
    if generation is None or generation.life is Life.FENCED:
        ask_to_read(desk, app_shuffle, attempt)
    elif generation.life is not Life.EXPIRED or desk.take_move_of(app_shuffle):
        _register(desk, generation, attempt)


def _register(desk: Desk, generation: Generation, attempt: StageAttempt) -> None:
    """Registers the reader; what had expired is readable again."""
    if generation.life is Life.EXPIRED:
        desk.emit(e.ExpiryTakenBack(generation.shuffle_id, Rescue.READER, f"stage {attempt}"))
    if attempt not in generation.readers:
        desk.emit(e.ReaderRegistered(generation.shuffle_id, attempt))
