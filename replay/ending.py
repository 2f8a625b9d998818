"""What became of a generation, in a few sentences.

Responsible for remembering, of the events that concern a generation, those that decided what became of it, and for the
verdict that a person reads. Refuses to know who used it (`users`), and the events that decided nothing.
Invariant: the verdict on an early deletion names the policy, its reason, the bytes freed, and who missed them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from coordinator.core import events as e
from coordinator.core.ids import ShuffleId
from coordinator.core.lifecycle import Life
from coordinator.core.policies import policy_of
from coordinator.core.state import State
from coordinator.core.values import Deletion, Expiry, Loss, Pressed
from replay.names import Names
from replay.phrases import pressed
from replay.units import count, few, size, span
from replay.users import Users


@dataclass(slots=True)
class Ending:
    """What is remembered of one generation, as far as its log was heard."""

    life: Life = Life.WRITING
    bytes: int = 0  #: What it holds, or held last.
    policy: str = ""  #: The name of the policy that let it go; empty: none has.
    expired: e.Recorded | None = None  #: Its last expiry.
    pressed: Pressed | None = None  #: The full disk that its fence was asked for; None: there was none.
    gone: e.Recorded | None = None  #: Its deletion or its loss.
    kept: tuple[str, ...] = ()  #: Why it was still there when the application ended.
    missed: list[e.Recorded] = field(default_factory=list)  #: Every premature deletion that was noticed of it.
    was_complete: bool = False
    was_adopted: bool = False  #: It was there when the log first heard of it, so the log has no writer.
    users: Users = field(default_factory=Users)

    @property
    def cause(self) -> str | None:
        """Why it is gone; None: it is not."""
        gone = self.gone.event if self.gone is not None else None
        return gone.cause.value if isinstance(gone, (e.GenerationDeleted, e.GenerationLost)) else None

    def note(self, recorded: e.Recorded, state: State, names: Names) -> None:
        """One more event that concerns it; the state is the one after the event."""
        self.users.note(recorded.event, state, names)
        noted = _NOTED.get(type(recorded.event))
        if noted is not None:
            noted(self, recorded, recorded.event, state)
        self.life = self._life(recorded, state)

    def _life(self, recorded: e.Recorded, state: State) -> Life:
        if self.gone is not None:
            return Life.LOST if isinstance(self.gone.event, e.GenerationLost) else Life.DELETED
        shuffle_id = getattr(recorded.event, "shuffle_id", None)
        generation = state.generations.get(shuffle_id) if shuffle_id is not None else None
        return generation.life if generation is not None else self.life


# ---- what each kind of event decides ---------------------------------------------------------------------------------


def _completed(ending: Ending, _: e.Recorded, event: e.GenerationCompleted, state: State) -> None:
    ending.was_complete = True
    ending.bytes = _bytes(state, event.shuffle_id) or ending.bytes  # a repair tells its own part alone


def _outputs_lost(ending: Ending, _: e.Recorded, event: e.OutputsLost, state: State) -> None:
    ending.bytes = _bytes(state, event.shuffle_id) or ending.bytes


def _adopted(ending: Ending, _: e.Recorded, event: e.GenerationAdopted, state: State) -> None:  # noqa: ARG001
    ending.was_adopted = True


def _expired(ending: Ending, recorded: e.Recorded, event: e.GenerationExpired, state: State) -> None:
    ending.expired, ending.policy = recorded, _policy(state, event.shuffle_id)


def _fence_requested(ending: Ending, _: e.Recorded, event: e.FenceRequested, state: State) -> None:
    ending.pressed = event.pressed
    ending.policy = _policy(state, event.shuffle_id) or ending.policy  # it may have been changed since the expiry


def _fenced(ending: Ending, _: e.Recorded, event: e.GenerationFenced, state: State) -> None:  # noqa: ARG001
    ending.bytes = event.bytes or ending.bytes


def _gone(ending: Ending, recorded: e.Recorded, event: e.Event, state: State) -> None:  # noqa: ARG001
    ending.gone = recorded


def _was_missed(ending: Ending, recorded: e.Recorded, event: e.PrematureDeletion, state: State) -> None:  # noqa: ARG001
    ending.missed.append(recorded)


_NOTED: dict[type, Callable[[Ending, e.Recorded, Any, State], None]] = {
    e.GenerationCompleted: _completed,
    e.OutputsLost: _outputs_lost,
    e.GenerationAdopted: _adopted,
    e.GenerationExpired: _expired,
    e.FenceRequested: _fence_requested,
    e.GenerationFenced: _fenced,
    e.GenerationDeleted: _gone,
    e.GenerationLost: _gone,
    e.PrematureDeletion: _was_missed,
}


def _bytes(state: State, shuffle_id: ShuffleId) -> int:
    """All that the generation holds; 0: it is not there."""
    generation = state.generations.get(shuffle_id)
    return generation.bytes if generation is not None else 0


def _policy(state: State, shuffle_id: ShuffleId) -> str:
    """The name of the policy that counts for the generation; empty: it is not there."""
    generation = state.generations.get(shuffle_id)
    return policy_of(state, generation).name if generation is not None else ""


# ---- the verdict -----------------------------------------------------------------------------------------------------


def verdict(ending: Ending) -> str:
    """What became of the generation, in a few sentences for people."""
    if ending.gone is not None and isinstance(ending.gone.event, e.GenerationDeleted):
        return _on_deletion(ending, ending.gone, ending.gone.event)
    if ending.gone is not None and isinstance(ending.gone.event, e.GenerationLost):
        lost = _HALF_WRITTEN if _had_nothing(ending, ending.gone.event) else _LOST[ending.gone.event.cause]
        return f"{lost.format(ending.gone.sequence)}.{_users(ending)}"
    if ending.missed:
        return f"Fenced, {size(ending.bytes)}. {_missed(ending)}"
    return f"{ending.life.value.capitalize()}, {size(ending.bytes)}."


#: Of a loss, by its cause; the braces stand for the number of its event.
_LOST = {
    Loss.OUTPUTS: "Lost at event {}, not by our doing: its outputs are gone",
    Loss.REPORTED: "Lost at event {}, not by our doing: a reader has reported it missing",
    Loss.INVALIDATED: "Given up at event {}: it would have mixed two generations, or nobody could complete it",
}
_HALF_WRITTEN = "Given up at event {}, half-written: it has no outputs"
#: Of a deletion that is not ours, by its cause.
_BY_OTHERS = {
    Deletion.SPARK: "Spark's own cleaner let it go",
    Deletion.APPLICATION_ENDED: "the application ended",
    Deletion.APPLICATION_LOST: "the application was lost",
}
_LEFT_TO_SPARK = "its driver left, as by detach(), and the data are Spark's from then on"


def _had_nothing(ending: Ending, event: e.GenerationLost) -> bool:
    """Whether no data were lost with it: it expired half-written, and then turned out to have no outputs."""
    expired = ending.expired.event if ending.expired is not None else None
    is_half_written = isinstance(expired, e.GenerationExpired) and expired.why is Expiry.ABANDONED
    return is_half_written and event.cause is Loss.OUTPUTS


def _on_deletion(ending: Ending, gone: e.Recorded, event: e.GenerationDeleted) -> str:
    if event.cause is Deletion.POLICY:
        return _on_early_deletion(ending, gone, event)
    kept = f" Held until then: {few(ending.kept, 3)}." if ending.kept else ""
    if event.cause is Deletion.APPLICATION_DETACHED:
        return f"Closed at event {gone.sequence}: {_LEFT_TO_SPARK}.{kept}{_users(ending)}"
    missed = f" {_missed(ending)}" if ending.missed else ""  # while it was fenced
    return f"Deleted at event {gone.sequence}, not by us: {_BY_OTHERS[event.cause]}.{kept}{missed}{_users(ending)}"


def _on_early_deletion(ending: Ending, gone: e.Recorded, event: e.GenerationDeleted) -> str:
    why, waited = "", ""
    if ending.expired is not None and isinstance(ending.expired.event, e.GenerationExpired):
        why = f": {ending.expired.event.why.value}{pressed(ending.pressed)}"
        waited = f", {span(gone.time_ms - ending.expired.time_ms)} after it expired"
    deleted = f"Deleted early at event {gone.sequence} by policy {ending.policy}{why}"
    return f"{deleted}. {size(event.bytes)} freed{waited}. {_missed(ending)}{_users(ending)}"


def _users(ending: Ending) -> str:
    """Who wrote it and who read it, as the last sentence."""
    users = ending.users
    by = "Written by" if ending.was_complete or ending.was_adopted else "Never complete, written last by"
    written = f" {by} {users.writer}" if users.writer else " Who wrote it was never told"
    return f"{written}, {f'read last by {users.last_reader}' if users.last_reader else 'read by nobody'}."


def _missed(ending: Ending) -> str:
    if not ending.missed:
        return "Nobody missed it."
    at = few((recorded.sequence for recorded in ending.missed), 4)
    return f"It was missed {count(len(ending.missed), 'time')} (event {at}), last by {ending.users.missed_by}."
