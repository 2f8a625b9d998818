"""Who wrote a generation, who read it last, and who missed it.

Responsible for remembering the stage attempts that use one generation, by the names with which people find the line in
their program. Refuses to know what becomes of the generation (`ending`).
Invariant: an attempt that asked for the data while they were being fenced has neither read nor written them, unless the
fence was refused; nor has one read them whose submission says that it does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from coordinator.core import events as e
from coordinator.core.ids import ShuffleId, StageAttempt
from coordinator.core.lifecycle import Life
from coordinator.core.state import State
from replay.names import Names
from replay.telling import is_unread

_Use: TypeAlias = e.WriterJoined | e.ReaderRegistered


@dataclass(frozen=True, slots=True, order=True)
class _Reader:
    """A stage attempt that asked for the generation. ``order``: 1 for the first one that asked, then 2, and so on."""

    order: int = 0
    name: str = ""
    shuffle_id: ShuffleId = ShuffleId(0)


@dataclass(slots=True)
class Users:
    """The users of one generation, as far as its log was heard."""

    writer: str = ""  #: The stage that began, or went on, to write it last; empty: the log does not tell.
    missed_by: str = ""  #: The stage that missed it last; empty: nobody did.
    _last: _Reader = _Reader()  #: Of the readers whose attempts have ended, the one that asked last.
    _reading: dict[StageAttempt, _Reader] = field(default_factory=dict)  #: Readers whose attempts have not ended.
    _asked_in_fence: list[_Use] = field(default_factory=list)  #: Whether they use it is for the fence's outcome to say.

    @property
    def last_reader(self) -> str:
        """The stage that asked last, of those that have read it or are reading it; empty: nobody."""
        return max((self._last, *self._reading.values())).name

    def note(self, event: e.Event, state: State, names: Names) -> None:
        """One more event that concerns the generation; the state is the one after it."""
        self._note_use(event, state, names)
        self._note_end_of_reading(event, state, names)

    def _note_use(self, event: e.Event, state: State, names: Names) -> None:
        """A use counts at once, but while a fence is under way: then only if that is refused."""
        if isinstance(event, e.WriterJoined | e.ReaderRegistered) and _is_fencing(state, event.shuffle_id):
            self._asked_in_fence.append(event)
            return
        if isinstance(event, e.FenceRefused | e.GenerationFenced):
            for use in self._asked_in_fence if isinstance(event, e.FenceRefused) else ():
                self._name(use, names)
            self._asked_in_fence.clear()
        self._name(event, names)

    def _name(self, event: e.Event, names: Names) -> None:
        if isinstance(event, e.GenerationStarted | e.WriterJoined):
            self.writer = names.stage_of_job(event.writer)
        elif isinstance(event, e.ReaderRegistered):
            order = max((self._last, *self._reading.values())).order + 1
            self._reading[event.reader] = _Reader(order, names.stage_of_job(event.reader), event.shuffle_id)
        elif isinstance(event, e.PrematureDeletion):
            self.missed_by = names.stage_of_job(event.stage)

    def _note_end_of_reading(self, event: e.Event, state: State, names: Names) -> None:
        """A reader's attempt has ended, well or not: it counts as a reader from now on, unless it asked by mistake."""
        if not isinstance(event, e.StageCompleted):
            return
        reader = self._reading.pop(event.stage, None)
        if reader is None:
            return
        app_shuffle = names.shuffle_of.get(reader.shuffle_id)
        if app_shuffle is None or not is_unread(state, event, app_shuffle, reader.shuffle_id):
            named = replace(reader, name=f"{reader.name}, which failed") if event.failure else reader
            self._last = max(self._last, named)


def _is_fencing(state: State, shuffle_id: ShuffleId) -> bool:
    generation = state.generations.get(shuffle_id)
    return generation is not None and generation.life is Life.FENCING
