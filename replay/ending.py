"""What became of a generation, in one sentence.

Responsible for remembering the few events that decided, and for the verdict. Refuses to know the others. Invariant: a
verdict about an early deletion names the policy, the reason, the bytes, and who missed it; who merely asked while it
was being fenced has neither read nor written it, unless the fence was refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from coordinator.core import events as e
from coordinator.core.ids import ShuffleId, StageAttempt
from coordinator.core.lifecycle import Life
from coordinator.core.policies import policy_of
from coordinator.core.state import State
from coordinator.core.values import Deletion, Expiry, Loss, Pressed
from replay.names import Names
from replay.phrases import pressed
from replay.telling import is_unread
from replay.units import count, few, size, span


@dataclass(frozen=True, slots=True, order=True)
class Reader:
    """A stage attempt that asked for it. ``came``: as which of them."""

    came: int = 0
    name: str = ""
    shuffle_id: ShuffleId = ShuffleId(0)


@dataclass(slots=True)
class Ending:
    """What is remembered of one generation."""

    life: Life = Life.WRITING
    bytes: int = 0
    policy: str = ""
    expired: e.Recorded | None = None
    pressed: Pressed | None = None
    gone: e.Recorded | None = None  #: Deleted or lost.
    kept: tuple[str, ...] = ()  #: Why it was still there when the application ended.
    missed: list[e.Recorded] = field(default_factory=list)
    writer: str = ""
    complete: bool = False  #: It was, once.
    found: bool = False  #: Nobody told of its writing.
    last: Reader = Reader()  #: Of those whose stages have ended.
    asked: dict[StageAttempt, Reader] = field(default_factory=dict)  #: Whose stages have not.
    waiting: list[e.Event] = field(default_factory=list)  #: Who asked for it since its fence was asked for.
    missed_by: str = ""

    @property
    def cause(self) -> str | None:
        """Why it is gone."""
        gone = self.gone.event if self.gone is not None else None
        return gone.cause.value if isinstance(gone, (e.GenerationDeleted, e.GenerationLost)) else None

    @property
    def reader(self) -> str:
        """The last one; empty: nobody."""
        return max((self.last, *self.asked.values())).name

    def note(self, recorded: e.Recorded, state: State, names: Names) -> None:
        """One more event that concerns it; the state is the one after it."""
        event = recorded.event
        self._note_user(event, state, names)
        self._end_of_reading(event, state, names)
        if isinstance(event, e.GenerationCompleted):
            self.complete = True
            self.bytes = _bytes(state, event.shuffle_id) or self.bytes
        elif isinstance(event, e.OutputsLost):
            self.bytes = _bytes(state, event.shuffle_id) or self.bytes
        elif isinstance(event, e.GenerationAdopted):
            self.found = True
        elif isinstance(event, e.GenerationFenced):
            self.bytes = event.bytes or self.bytes
        elif isinstance(event, e.GenerationExpired):
            self.expired, self.policy = recorded, _policy(state, event.shuffle_id)
        elif isinstance(event, e.FenceRequested):
            self.pressed = event.pressed
            self.policy = _policy(state, event.shuffle_id) or self.policy  # it may have been changed since
        elif isinstance(event, (e.GenerationDeleted, e.GenerationLost)):
            self.gone = recorded
        elif isinstance(event, e.PrematureDeletion):
            self.missed.append(recorded)
        self.life = self._life(recorded, state)

    def _note_user(self, event: e.Event, state: State, names: Names) -> None:
        """Who uses it; while it is being fenced that is for the outcome to say."""
        generation = state.generations.get(getattr(event, "shuffle_id", ShuffleId(0)))
        if isinstance(event, _USES) and generation is not None and generation.life is Life.FENCING:
            self.waiting.append(event)
            return
        for user in self.waiting if isinstance(event, e.FenceRefused) else ():
            self._name(user, names)
        if isinstance(event, (e.FenceRefused, e.GenerationFenced)):
            self.waiting.clear()
        self._name(event, names)

    def _end_of_reading(self, event: e.Event, state: State, names: Names) -> None:
        """Who had asked for it by mistake has not read it."""
        asked = self.asked.pop(event.stage, None) if isinstance(event, e.StageCompleted) else None
        if asked is None or not isinstance(event, e.StageCompleted):
            return
        app_shuffle = names.shuffle_of.get(asked.shuffle_id)
        if app_shuffle is None or not is_unread(state, event, app_shuffle, asked.shuffle_id):
            told = replace(asked, name=f"{asked.name}, which failed") if event.failure else asked
            self.last = max(self.last, told)

    def _name(self, event: e.Event, names: Names) -> None:
        """Who wrote, read and missed it, so that its reader finds the line in the program."""
        if isinstance(event, (e.GenerationStarted, e.WriterJoined)):
            self.writer = names.stage_of_job(event.writer)
        elif isinstance(event, e.ReaderRegistered):
            came = max((self.last, *self.asked.values())).came + 1
            self.asked[event.reader] = Reader(came, names.stage_of_job(event.reader), event.shuffle_id)
        elif isinstance(event, e.PrematureDeletion):
            self.missed_by = names.stage_of_job(event.stage)

    def _life(self, recorded: e.Recorded, state: State) -> Life:
        shuffle_id = getattr(recorded.event, "shuffle_id", None)
        if self.gone is not None:
            return Life.LOST if isinstance(self.gone.event, e.GenerationLost) else Life.DELETED
        generation = state.generations.get(shuffle_id) if shuffle_id is not None else None
        return generation.life if generation is not None else self.life


_USES = (e.WriterJoined, e.ReaderRegistered)


def verdict(ending: Ending) -> str:
    """What became of it."""
    if ending.gone is not None and isinstance(ending.gone.event, e.GenerationDeleted):
        return _deleted(ending, ending.gone, ending.gone.event)
    if ending.gone is not None and isinstance(ending.gone.event, e.GenerationLost):
        lost = _NOT_BEGUN if _was_nothing(ending, ending.gone.event) else _LOST[ending.gone.event.cause]
        return f"{lost.format(ending.gone.sequence)}.{_users(ending)}"
    if ending.missed:
        return f"Fenced, {size(ending.bytes)}. {_missed(ending)}"
    return f"{ending.life.value.capitalize()}, {size(ending.bytes)}."


_LOST = {
    Loss.OUTPUTS: "Lost at event {}, not by our doing: its outputs are gone",
    Loss.REPORTED: "Lost at event {}, not by our doing: a reader has reported it missing",
    Loss.INVALIDATED: "Given up at event {}: it would have mixed two generations, or nobody could complete it",
}
_NOT_BEGUN = "Given up at event {}, half-written: it has no outputs"


def _was_nothing(ending: Ending, event: e.GenerationLost) -> bool:
    """Nothing was lost with it: it was given up before any of its outputs were written, or when no more were left."""
    expired = ending.expired.event if ending.expired is not None else None
    is_given_up = isinstance(expired, e.GenerationExpired) and expired.why is Expiry.ABANDONED
    return is_given_up and event.cause is Loss.OUTPUTS


def _deleted(ending: Ending, gone: e.Recorded, event: e.GenerationDeleted) -> str:
    kept = f" Held until then: {few(ending.kept, 3)}." if ending.kept else ""
    if event.cause is Deletion.APPLICATION_DETACHED:
        return f"Closed at event {gone.sequence}: {_LEFT}.{kept}{_users(ending)}"
    if event.cause is not Deletion.POLICY:
        missed = f" {_missed(ending)}" if ending.missed else ""  # while it was fenced
        return f"Deleted at event {gone.sequence}, not by us: {_OTHERS[event.cause]}.{kept}{missed}{_users(ending)}"
    why, waited = "", ""
    if ending.expired is not None and isinstance(ending.expired.event, e.GenerationExpired):
        why = f": {ending.expired.event.why.value}{pressed(ending.pressed)}"
        waited = f", {span(gone.time_ms - ending.expired.time_ms)} after it expired"
    return (
        f"Deleted early at event {gone.sequence} by policy {ending.policy}{why}. {size(event.bytes)} freed{waited}. "
        + (_missed(ending))
        + _users(ending)
    )


def _users(ending: Ending) -> str:
    by = "Written by" if ending.complete or ending.found else "Never complete, written last by"
    written = f" {by} {ending.writer}" if ending.writer else " Who wrote it was never told"
    return f"{written}, {f'read last by {ending.reader}' if ending.reader else 'read by nobody'}."


def _missed(ending: Ending) -> str:
    if not ending.missed:
        return "Nobody missed it."
    at = few((recorded.sequence for recorded in ending.missed), 4)
    return f"It was missed {count(len(ending.missed), 'time')} (event {at}), last by {ending.missed_by}."


_OTHERS = {
    Deletion.SPARK: "Spark's own cleaner let it go",
    Deletion.APPLICATION_ENDED: "the application ended",
    Deletion.APPLICATION_LOST: "the application was lost",
}
_LEFT = "its driver left, as by detach(), and the data are Spark's from then on"


def _bytes(state: State, shuffle_id: ShuffleId) -> int:
    """All that it holds: a repair tells its own part."""
    generation = state.generations.get(shuffle_id)
    return generation.bytes if generation is not None else 0


def _policy(state: State, shuffle_id: ShuffleId) -> str:
    generation = state.generations.get(shuffle_id)
    return policy_of(state, generation).name if generation is not None else ""
