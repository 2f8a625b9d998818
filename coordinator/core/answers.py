"""What those who ask for a shuffle are told.

Responsible for the answer to each thing that a generation can be: ready, not ready, gone with its recovery, given up,
never heard of. Refuses to know who asks, and registers nobody. Invariant: always an answer, and never an id of data
that are gone.
"""

from __future__ import annotations

from heapq import nlargest

from coordinator.core import cuts, recovery
from coordinator.core.desk import Desk
from coordinator.core.ids import AppShuffle, ShuffleId, StageAttempt
from coordinator.core.lifecycle import Life
from coordinator.core.rejections import Answer, NotReady, Ready, Reason, Recover, Rejection
from coordinator.core.state import Generation, Recovery, State

BEING_FENCED = "being fenced; its outcome decides"

#: Why a generation that is not complete cannot be read, by its life. What is fenced or gone has a recovery instead.
_UNFINISHED = {
    Life.WRITING: "being written",
    Life.PARTIAL: "some of its outputs are gone and not yet back",
    Life.EXPIRED: "given up while it was not whole; its map stage will run again",
    Life.FENCING: BEING_FENCED,
}


def told_late(desk: Desk, generation: Generation) -> Answer:
    """The generation's id for an asker whose attempt is over: nobody will read for it, so nobody is registered."""
    if generation.life is Life.FENCING:
        return not_ready(desk, generation.shuffle_id, BEING_FENCED)
    return Ready(generation.shuffle_id, generation.locator)


def not_ready(desk: Desk, shuffle_id: ShuffleId, why: str) -> NotReady:
    """It is to be asked for again, after the pause that the settings say."""
    return NotReady(shuffle_id, why, desk.state.meta.settings.ask_again_ms)


def unfinished(generation: Generation) -> str:
    """Why one that is not complete cannot be read."""
    return _UNFINISHED[generation.life]


def recover(desk: Desk, app_shuffle: AppShuffle, attempt: StageAttempt | None) -> Answer:
    """The generation is gone: joins or opens its recovery and tells of it; refused where its recoveries are used up."""
    missing = desk.state.shuffles[app_shuffle].current
    assert missing is not None
    found = recovery.answer(desk, app_shuffle, attempt)
    return told(found, missing) if found is not None else _given_up(desk.state, app_shuffle, missing)


def told(found: Recovery, missing: ShuffleId) -> Recover:
    """A recovery, as whoever missed this generation is told of it."""
    return Recover(found.recovery, missing, tuple(sorted({a for _, a in found.gone})), found.lineage_known)


def _given_up(state: State, app_shuffle: AppShuffle, missing: ShuffleId) -> Rejection:
    return Rejection(
        Reason.EXHAUSTED,
        f"generation {missing} of app shuffle {app_shuffle} is gone and its recoveries, or its inputs' or output's, "
        "are used up",
        f"at most {state.meta.settings.recoveries_per_shuffle} recoveries of a shuffle until one is read to its end, "
        f"and {state.meta.settings.recoveries} of an application until one of any is",
        "Look with `shufflectl explain` at what destroys its data; deletion is suspended until `shufflectl resume`, "
        "which has recoveries counted anew.",
        app_shuffle,
    )


def truth(desk: Desk, app_shuffle: AppShuffle, missing: ShuffleId) -> Answer:
    """What a reader would be told, for an asker whose attempt is past: nobody is registered, and no recovery begins."""
    state, generation = desk.state, desk.state.current(app_shuffle)
    if missing in state.recovered and cuts.is_gone(state.generations.get(missing)):
        found = state.recoveries.get(state.recovered[missing])
        return told(found, missing) if found is not None else _given_up(state, app_shuffle, missing)
    if generation is None or generation.life is Life.FENCED:
        return not_ready(desk, missing, "gone, and nobody who runs has missed it")
    if not generation.complete:
        return not_ready(desk, generation.shuffle_id, unfinished(generation))
    return told_late(desk, generation)


def unknown(state: State, app_shuffle: AppShuffle) -> Rejection:
    """Never heard of: says what was asked and what exists."""
    known = len(state.shuffles)
    newest = ", ".join(map(str, sorted(nlargest(20, state.shuffles))))
    shown = f"{newest} and {known - 20} older" if known > 20 else newest
    return Rejection(
        Reason.NOT_FOUND,
        f"app shuffle {app_shuffle} is not known in application {state.meta.application}",
        f"one of: {shown}" if known else "an app shuffle that a job has announced (none has been yet)",
        "Check the id; a shuffle that Spark's own cleaner has removed is unknown too.",
        app_shuffle,
    )
