"""What an event says of one app shuffle: the lines of its story.

Responsible for which generation of the app shuffle an event concerns, or whether it concerns all of them, and for the
words of that. Refuses to remember events: what is known besides is handed over with each (`Scene`).
Invariant: an event that concerns other app shuffles alone gives no line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, ShuffleId, StageAttempt
from coordinator.core.lifecycle import Life
from coordinator.core.policies import policy_of
from coordinator.core.state import State
from coordinator.core.values import Loss
from replay.blocks import instead
from replay.names import Names
from replay.phrases import became, because, held, lineage, phrase, pressed, why_expired
from replay.units import clock, count, few, size

#: Lines: which generation each one is about (`ALL`: the app shuffle as a whole), and what it says.
Said = Iterator[tuple[ShuffleId, str]]
ALL = ShuffleId(0)  #: Stands for all generations of the app shuffle; none has this id.
#: Decisions of people: a generation that had expired before may be fenced because of one.
CHOSEN = (e.PolicyChanged, e.PinRemoved, e.DeletionResumed)

#: Facts that are no cause of a loss. One that stands first in the same report was merely told together with it.
_NO_LOSS = (
    e.OutputsLost,
    e.GenerationLost,
    e.JobStarted,
    e.JobEnded,
    e.StageCompleted,
    e.ExecutionStarted,
    e.ExecutionEnded,
)


@dataclass(frozen=True, slots=True)
class Scene:
    """What is known at the moment of an event. ``state``: the one after it.

    ``cause``: the fact that the event follows from. ``reading``, ``writing``: the attempts that run and use a
    generation of the app shuffle, and which.
    """

    app_shuffle: AppShuffle
    state: State
    names: Names
    cause: e.Recorded | None
    reading: dict[StageAttempt, ShuffleId]
    writing: dict[StageAttempt, ShuffleId]
    told_last: int = 0  #: The number of the event that the line before told.
    #: Of what is missed now: the stage that took cached blocks instead of it last, and what was lost since.
    blocks: tuple[e.Recorded, ...] = ()

    def is_ours(self, shuffle_id: ShuffleId) -> bool:
        """Whether it is a generation of the app shuffle."""
        return self.names.shuffle_of.get(shuffle_id) == self.app_shuffle

    def is_fencing(self, shuffle_id: ShuffleId) -> bool:
        """Whether its fence is under way: the outcome decides who uses it."""
        generation = self.state.generations.get(shuffle_id)
        return generation is not None and generation.life is Life.FENCING

    @property
    def after(self) -> str:
        """The fact that the event follows from, as the end of a sentence; its words only if they were not told last."""
        if self.cause is None:
            return ""
        told = "" if self.cause.sequence == self.told_last else f": {phrase(self.cause.event, self.names)}"
        return f"; follows from event {self.cause.sequence}{told}"


def tell(scene: Scene, event: e.Event) -> Said:
    """What the event says of the app shuffle."""
    telling = _TELLINGS.get(type(event))
    if telling is not None:
        yield from telling(scene, event)


# --- the app shuffle --------------------------------------------------------------------------------------------------


def _announced(scene: Scene, event: e.LineageLearned) -> Said:
    if event.lineage.app_shuffle == scene.app_shuffle:
        by = scene.cause.event if scene.cause is not None else None
        who = f" by {scene.names.job(by.job)}" if isinstance(by, e.JobStarted) else ""
        yield ALL, f"announced{who}: {lineage(event.lineage)}"
    if scene.app_shuffle in event.cut_off:
        yield ALL, f"{scene.names.shuffle(event.lineage.app_shuffle)}, written from it, is made from it no more"


def _pinned(scene: Scene, event: e.PinSet) -> Said:
    if event.app_shuffle == scene.app_shuffle:
        yield ALL, f"pinned: {event.why}" if event.why else "pinned"


def _unpinned(scene: Scene, event: e.PinRemoved) -> Said:
    if event.app_shuffle == scene.app_shuffle:
        yield ALL, "no longer pinned"


def _cleaned(scene: Scene, event: e.ShuffleCleaned) -> Said:
    if event.app_shuffle == scene.app_shuffle:
        yield ALL, "Spark's own cleaner: nothing can read it again"


# --- being written and read -------------------------------------------------------------------------------------------


def _started(scene: Scene, event: e.GenerationStarted) -> Said:
    if event.app_shuffle == scene.app_shuffle:
        answers = f", as recovery {event.recovery} asks" if event.recovery is not None else ""
        yield event.shuffle_id, f"{scene.names.stage_of_job(event.writer)} begins to write it{answers}"


def _adopted(scene: Scene, event: e.GenerationAdopted) -> Said:
    if event.app_shuffle == scene.app_shuffle:
        there = f"{event.available} of {event.total} outputs"
        yield event.shuffle_id, f"found with {there}: its writing was never told"


def _joined(scene: Scene, event: e.WriterJoined) -> Said:
    if scene.is_ours(event.shuffle_id):
        does = "asks to go on writing it" if scene.is_fencing(event.shuffle_id) else "goes on writing it"
        yield event.shuffle_id, f"{scene.names.stage_of_job(event.writer)} {does}"


def _submitted(scene: Scene, event: e.StageSubmitted) -> Said:
    if event.gives_up is not None and scene.is_ours(event.gives_up):
        scene.writing.pop(event.stage, None)
        yield event.gives_up, f"{scene.names.stage_of_job(event.stage)} had asked to write it, and does not"
    for app_shuffle, shuffle_id in instead(event, scene.state):
        if app_shuffle == scene.app_shuffle:
            yield shuffle_id, f"{scene.names.stage_of_job(event.stage)} takes cached blocks instead of it"


def _complete(scene: Scene, event: e.GenerationCompleted) -> Said:
    if scene.is_ours(event.shuffle_id):
        yield event.shuffle_id, f"complete, {size(event.bytes)}"


def _read(scene: Scene, event: e.ReaderRegistered) -> Said:
    if scene.is_ours(event.shuffle_id):
        does = "asks for it" if scene.is_fencing(event.shuffle_id) else "reads it"
        yield event.shuffle_id, f"{scene.names.stage_of_job(event.reader)} {does}"


def _stage_done(scene: Scene, event: e.StageCompleted) -> Said:
    written = scene.writing.pop(event.stage, None)
    if written is not None and event.failure:  # of one that succeeded, the completion tells
        after = f", after {size(event.shuffle_bytes_written)}" if event.shuffle_bytes_written else ""
        yield written, f"stage {event.stage} failed while it wrote it{after}{because(event.failure)}"
    shuffle_id = scene.reading.pop(event.stage, None)
    if shuffle_id is None:
        return
    if is_unread(scene.state, event, scene.app_shuffle, shuffle_id):
        ended = f"failed{because(event.failure)};" if event.failure else "has ended, and"
        yield shuffle_id, f"stage {event.stage} {ended} by its submission {'it ' * bool(event.failure)}did not read it"
        return
    if event.failure:
        yield shuffle_id, f"stage {event.stage} failed while it read it{because(event.failure)}"
        return
    wrote = event.shuffle_bytes_written + event.output_bytes
    yield shuffle_id, f"stage {event.stage} has read it" + (f" and wrote {size(wrote)}" if wrote else "")


def is_unread(state: State, event: e.StageCompleted, app_shuffle: AppShuffle, shuffle_id: ShuffleId) -> bool:
    """Whether the attempt had asked for the generation and, by what its submission says, does not read it.

    The end of an attempt names such generations (``unread``). A failed attempt, whose stage may be tried again, is
    kept in the state after it, with what its submission said.
    """
    attempt = state.attempts.get(event.stage) if event.failure else None
    return shuffle_id in event.unread or (
        attempt is not None and attempt.submitted and app_shuffle not in attempt.reads
    )


def _outputs_lost(scene: Scene, event: e.OutputsLost) -> Said:
    if scene.is_ours(event.shuffle_id):
        left = f"{event.available} of {count(event.total, 'output')} left"
        yield event.shuffle_id, f"{left}{_found(scene)}"


def _lost(scene: Scene, event: e.GenerationLost) -> Said:
    if scene.is_ours(event.shuffle_id):
        yield (
            event.shuffle_id,
            f"lost: {event.cause.value}{_found(scene) if event.cause is Loss.OUTPUTS else scene.after}",
        )


def _found(scene: Scene) -> str:
    """How a loss came to be known. A report tells what was lost of several app shuffles, and a resync also what has
    ended: its first fact stands beside the loss, and is not its cause."""
    is_beside = scene.cause is not None and isinstance(scene.cause.event, _NO_LOSS)
    return scene.after.replace("; follows from", "; found together with", 1) if is_beside else scene.after


# --- going ------------------------------------------------------------------------------------------------------------


def _expired(scene: Scene, event: e.GenerationExpired) -> Said:
    generation = scene.state.generations.get(event.shuffle_id)
    if scene.is_ours(event.shuffle_id) and generation is not None:
        policy = policy_of(scene.state, generation).name
        yield event.shuffle_id, f"expired (policy {policy}): {why_expired(event)}{scene.after}"


def _hold(scene: Scene, event: e.HoldChanged) -> Said:
    if scene.is_ours(event.shuffle_id):
        yield event.shuffle_id, (held(event.hold, event.due_ms).removeprefix("; ") or "released") + scene.after


def _rescued(scene: Scene, event: e.ExpiryTakenBack) -> Said:
    if scene.is_ours(event.shuffle_id):
        by = f" ({event.by})" if event.by not in ("", event.why.value) else ""
        yield event.shuffle_id, f"kept after all: {event.why.value}{by}{scene.after}"


def _fence_asked(scene: Scene, event: e.FenceRequested) -> Said:
    if scene.is_ours(event.shuffle_id):
        by_hand = scene.cause is not None and isinstance(scene.cause.event, CHOSEN)
        asked = f"the driver is asked to fence it (directive {event.directive}){pressed(event.pressed)}"
        yield event.shuffle_id, asked + (scene.after if by_hand else "")


def _fence_refused(scene: Scene, event: e.FenceRefused) -> Said:
    if scene.is_ours(event.shuffle_id):
        detail = f", {event.detail}" if event.detail else ""
        then = "it is kept" if event.keep else f"asked again at {clock(event.due_ms)}"
        yield event.shuffle_id, f"not fenced: {event.refusal.value}{detail}; {then}"


def _fenced(scene: Scene, event: e.GenerationFenced) -> Said:
    if scene.is_ours(event.shuffle_id):
        yield event.shuffle_id, f"fenced with {size(event.bytes)}: nobody reads it from here on"


def _delete_asked(scene: Scene, event: e.DeleteRequested) -> Said:
    if scene.is_ours(event.shuffle_id):
        yield event.shuffle_id, f"the driver is asked to delete it (directive {event.directive})"


def _failed(scene: Scene, event: e.DirectiveFailed) -> Said:
    if scene.is_ours(event.shuffle_id):
        again = f"asked again at {clock(event.due_ms)}"
        yield event.shuffle_id, f"directive {event.directive} failed: {event.error}; {again}"


def _invalidate_asked(scene: Scene, event: e.InvalidateRequested) -> Said:
    if scene.is_ours(event.shuffle_id):
        yield event.shuffle_id, f"the driver is asked to free what is left of it (directive {event.directive})"


def _invalidated(scene: Scene, event: e.DataInvalidated) -> Said:
    if scene.is_ours(event.shuffle_id):
        yield event.shuffle_id, f"what was left of it is freed, {size(event.bytes)}"


def _deleted(scene: Scene, event: e.GenerationDeleted) -> Said:
    if scene.is_ours(event.shuffle_id):
        freed = f", {size(event.bytes)} freed" if event.directive is not None else ""
        later = "; its files go with the next generation's" if event.superseded else ""
        gone = became("deleted", event.cause.value)
        yield event.shuffle_id, f"{gone} ({event.cause.value}){freed}{later}{'' if freed else scene.after}"


# --- being missed -----------------------------------------------------------------------------------------------------


def _missed(scene: Scene, event: e.PrematureDeletion) -> Said:
    if scene.is_ours(event.shuffle_id):
        detail = f" ({event.detail})" if event.detail else ""
        since = ", since something before it was lost" * event.after_loss
        yield event.shuffle_id, f"missed by {scene.names.stage_of_job(event.stage)}{since}{detail}{_blocks(scene)}"


def _blocks(scene: Scene) -> str:
    """Why it may be wanted again: cached blocks were taken instead of it, and since then some went, or may have."""
    gone = tuple(_gone(scene.blocks))
    if gone:
        return f"; cached blocks that are taken instead of it may have gone {', '.join(gone)}"
    lost = [one for one in scene.blocks if isinstance(one.event, e.ExecutorLost)]
    told = (f"{phrase(one.event, scene.names)} (event {one.sequence})" for one in lost)
    return f"; cached blocks had been taken instead of it, and since then: {', '.join(told)}" if lost else ""


def _gone(blocks: Iterable[e.Recorded]) -> Iterator[str]:
    for one in blocks:
        if isinstance(one.event, e.CachedBlocksLost):
            yield f"with executor {one.event.executor} (event {one.sequence})"


def _opened(scene: Scene, event: e.RecoveryOpened) -> Said:
    for shuffle_id in filter(scene.is_ours, event.gone):
        others = [one for one in event.gone if one != shuffle_id]
        also = f", with #{few(others)}" if others else ""
        yield shuffle_id, f"recovery {event.recovery} opened: it is written anew{also}"
    for shuffle_id in filter(scene.is_ours, event.mixing):
        made = f"it was made from #{few(event.gone)}, and would mix unless written anew as a whole"
        yield shuffle_id, f"recovery {event.recovery} opened: {made}"
    for shuffle_id in filter(scene.is_ours, event.awaited):
        yield shuffle_id, f"recovery {event.recovery} waits for the outcome of its fence"


def _widened(scene: Scene, event: e.RecoveryWidened) -> Said:
    if scene.is_ours(event.gone):
        yield event.gone, f"recovery {event.recovery} writes it anew too"


def _recovery_joined(scene: Scene, event: e.RecoveryJoined) -> Said:
    if scene.is_ours(event.missing):
        yield event.missing, f"{scene.names.stage_of_job(event.stage)} misses it too: the same recovery answers"


def _closed(scene: Scene, event: e.RecoveryClosed) -> Said:
    recovery = scene.state.recoveries.get(event.recovery)
    for shuffle_id, app_shuffle in recovery.gone if recovery is not None else ():
        if app_shuffle == scene.app_shuffle:
            yield shuffle_id, f"recovery {event.recovery} is done"


def _denied(scene: Scene, event: e.RecoveryDenied) -> Said:
    if scene.is_ours(event.missing):
        asked = f" for {scene.names.stage_of_job(event.stage)}" if event.stage is not None else ""
        yield event.missing, f"not recovered again{asked}: {event.count} of at most {event.limit} recoveries"


_TELLINGS: dict[type, Callable[[Scene, Any], Said]] = {
    e.LineageLearned: _announced,
    e.PinSet: _pinned,
    e.PinRemoved: _unpinned,
    e.ShuffleCleaned: _cleaned,
    e.GenerationStarted: _started,
    e.GenerationAdopted: _adopted,
    e.WriterJoined: _joined,
    e.StageSubmitted: _submitted,
    e.GenerationCompleted: _complete,
    e.ReaderRegistered: _read,
    e.StageCompleted: _stage_done,
    e.OutputsLost: _outputs_lost,
    e.GenerationLost: _lost,
    e.GenerationExpired: _expired,
    e.HoldChanged: _hold,
    e.ExpiryTakenBack: _rescued,
    e.FenceRequested: _fence_asked,
    e.FenceRefused: _fence_refused,
    e.GenerationFenced: _fenced,
    e.DeleteRequested: _delete_asked,
    e.DirectiveFailed: _failed,
    e.InvalidateRequested: _invalidate_asked,
    e.DataInvalidated: _invalidated,
    e.GenerationDeleted: _deleted,
    e.PrematureDeletion: _missed,
    e.RecoveryOpened: _opened,
    e.RecoveryWidened: _widened,
    e.RecoveryJoined: _recovery_joined,
    e.RecoveryClosed: _closed,
    e.RecoveryDenied: _denied,
}
