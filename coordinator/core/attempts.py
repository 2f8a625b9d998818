"""What may still be expected of a stage attempt.

Responsible for telling attempts that run or will run from those that are over, followed by a later one, or failed.
Refuses to know what they ask, and what they are told (`answers`). Invariant: an attempt that is over stays over: stage
ids only grow, and none is waited for that might never come.
"""

from __future__ import annotations

from coordinator.core.ids import StageAttempt, within
from coordinator.core.state import Generation, State


def is_over(state: State, stage: StageAttempt) -> bool:
    """A task that outlived its attempt asks. Where no live job lists the stage, none will: stage ids only grow.

    Nor is a stage waited for that lies far beyond all that were listed: it might never come, and would read for ever.
    """
    if stage in state.attempts:
        return False
    listing = [job for job in state.jobs.values() if job.lists(stage.stage)]
    if not listing:
        return not state.meta.is_to_come(stage.stage)
    return any(stage <= done for job in listing for done in job.done if done.stage == stage.stage)


def has_ended(state: State, stage: StageAttempt) -> bool:
    """Whether its submission is told late, or once more. A stage that no job was told to list may be one of a gap."""
    is_listed = any(job.lists(stage.stage) for job in state.jobs.values())
    return (is_listed or within(state.meta.stages_ended, stage.stage)) and is_over(state, stage)


def is_past(state: State, stage: StageAttempt) -> bool:
    """Over, or a later attempt has taken its place: what its tasks still ask begins and ends nothing.

    Who merely asks as a later attempt takes no place of one that runs.
    """
    known = state.attempts.get(stage)
    runs = known is not None and known.running
    later = (at for a, at in state.attempts.items() if a.stage == stage.stage and a > stage)
    return is_over(state, stage) or any(at.submitted or not runs for at in later)


def has_failed(state: State, stage: StageAttempt) -> bool:
    """It has ended badly, and no later attempt is known yet: what that reads it still holds, but it writes no more."""
    known = state.attempts.get(stage)
    return known is not None and known.submitted and not known.running


def comes_late(state: State, generation: Generation | None, stage: StageAttempt) -> bool:
    """A writer that outlived its attempt. A later one has written what is whole: in a gap that may be all we know."""
    later = generation.written_by if generation is not None and generation.complete else frozenset()
    is_followed = any(one.stage == stage.stage and one > stage for one in later)
    return is_followed or is_past(state, stage) or has_failed(state, stage)


def asks_no_more(state: State, writer: StageAttempt) -> bool:
    """Nothing can follow from what it asks: it has ended, and no live job lists its stage."""
    return writer not in state.attempts and not any(job.lists(writer.stage) for job in state.jobs.values())
