"""What may still be expected of a stage attempt.

Responsible for telling attempts that run or will run from those that are over, followed by a later one, or failed.
Refuses to know what they ask, and what they are told (`answers`). Invariant: an attempt that is over stays over: stage
ids only grow, and none is waited for that might never come.
"""

from __future__ import annotations

from coordinator.core.ids import StageAttempt, within
from coordinator.core.state import Generation, State


def is_over(state: State, attempt: StageAttempt) -> bool:
    """Whether it has ended for good, so that whoever asks in its name is a task that has outlived it.

    An attempt that is known runs, or holds its inputs for its retry. One that is not known is over if a live job has
    seen it, or a later attempt of its stage, end well. Where no live job lists the stage at all, it is over unless a
    job that is told soon may list it: stage ids only grow, and a stage far beyond all that were listed might never
    come, so that its attempt would count as a reader for ever.
    """
    if attempt in state.attempts:
        return False
    listing = [job for job in state.jobs.values() if job.lists(attempt.stage)]
    if not listing:
        return not state.meta.is_to_come(attempt.stage)
    return any(attempt <= done for job in listing for done in job.done if done.stage == attempt.stage)


def has_ended(state: State, attempt: StageAttempt) -> bool:
    """Whether its submission is told late, or a second time: then it begins nothing.

    A stage that no job was told to list may belong to a job whose start was missed in a gap: its submission counts.
    """
    is_listed = any(job.lists(attempt.stage) for job in state.jobs.values())
    return (is_listed or within(state.meta.stages_ended, attempt.stage)) and is_over(state, attempt)


def is_past(state: State, attempt: StageAttempt) -> bool:
    """Whether it is over, or a later attempt has taken its place: what its tasks still ask begins and ends nothing.

    A later attempt takes the place of one that runs when it is submitted, and not because its tasks merely ask.
    """
    known = state.attempts.get(attempt)
    runs = known is not None and known.running
    later = (at for a, at in state.attempts.items() if a.stage == attempt.stage and a > attempt)
    return is_over(state, attempt) or any(at.submitted or not runs for at in later)


def has_failed(state: State, attempt: StageAttempt) -> bool:
    """Whether it was submitted and has ended badly. It writes no more; what it read is held for its retry."""
    known = state.attempts.get(attempt)
    return known is not None and known.submitted and not known.running


def comes_late(state: State, generation: Generation | None, attempt: StageAttempt) -> bool:
    """Whether a task that asks to write belongs to an attempt that writes no more: it is past, or it has failed.

    Or a later attempt of its stage has written the generation, which is complete: after a gap nothing else may tell
    of that later attempt.
    """
    later = generation.written_by if generation is not None and generation.complete else frozenset()
    is_followed = any(one.stage == attempt.stage and one > attempt for one in later)
    return is_followed or is_past(state, attempt) or has_failed(state, attempt)


def asks_no_more(state: State, writer: StageAttempt) -> bool:
    """Whether nothing can follow from what it asks: it is not known any more, and no live job lists its stage."""
    return writer not in state.attempts and not any(job.lists(writer.stage) for job in state.jobs.values())
