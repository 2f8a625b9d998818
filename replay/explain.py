"""The story of one shuffle: who wrote it, who read it, why it went or is still there, and who missed it.

Responsible for picking the events that concern a shuffle out of a log, and for telling them in order. Refuses to know
where the log comes from and how a story is shown. Invariant: all that is told follows from the recorded events alone,
and names the event that it follows from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from coordinator.core import events as e
from coordinator.core.evolve import apply
from coordinator.core.ids import (
    NO_SHUFFLE,
    ApplicationId,
    AppShuffle,
    Sequence,
    ShuffleId,
    Span,
    StageAttempt,
    add_span,
)
from coordinator.core.state import State, empty
from replay.blocks import Blocks
from replay.causes import Causes
from replay.ending import Ending, verdict
from replay.holding import reasons
from replay.names import Names
from replay.phrases import became, kind
from replay.story import Chapter, Line, Story, shortened
from replay.telling import ALL, Scene, tell
from replay.units import few, printable


class UnknownShuffle(LookupError):  # noqa: N818 - it says what is so
    """The log never speaks of it."""

    def __init__(self, asked: str, known: Iterable[int], what: str) -> None:
        there = sorted(known)
        super().__init__(asked, there)
        self.fact = f"{asked} does not occur in the log"
        self.expected = f"{what}: {few(there)}" if there else f"{what}; the log names none yet"


def explain(
    log: Iterable[e.Recorded], app_shuffle: AppShuffle | None = None, shuffle_id: ShuffleId | None = None
) -> Story:
    """The story of an app shuffle, or of the one generation with this shuffle id. Raises `UnknownShuffle`."""
    records = list(log)
    if shuffle_id is not None:
        births = Births(shuffle_id)
        for recorded in records:
            births.hear(recorded)
        app_shuffle = births.app_shuffle()
    teller = Teller(NO_SHUFFLE if app_shuffle is None else app_shuffle)
    for recorded in records:
        teller.hear(recorded)
    return teller.story(shuffle_id)


@dataclass(slots=True)
class Births:
    """Listens to a whole log for the app shuffle of one generation."""

    shuffle_id: ShuffleId
    found: AppShuffle | None = None
    born: tuple[Span, ...] = ()

    def hear(self, recorded: e.Recorded) -> None:
        """One more event."""
        event = recorded.event
        if isinstance(event, (e.GenerationStarted, e.GenerationAdopted)):
            self.born = add_span(self.born, Span(event.shuffle_id, event.shuffle_id))
            if event.shuffle_id == self.shuffle_id:
                self.found = event.app_shuffle

    def app_shuffle(self) -> AppShuffle:
        """Whose generation it is. Raises `UnknownShuffle`."""
        if self.found is None:
            raise UnknownShuffle(f"shuffle id {self.shuffle_id}", _numbers(self.born), "one of the shuffle ids")
        return self.found


def _numbers(spans: Iterable[Span]) -> Iterator[int]:
    for span in spans:
        yield from range(span.first, span.last + 1)


_WRITES = (e.GenerationStarted, e.WriterJoined)


@dataclass(slots=True)
class Teller:
    """Listens to a whole log and remembers what concerns one app shuffle; the log itself may be longer than memory."""

    app_shuffle: AppShuffle
    state: State = field(default_factory=empty)
    names: Names = field(default_factory=Names)
    common: list[Line] = field(default_factory=list)
    chapters: dict[ShuffleId, list[Line]] = field(default_factory=dict)
    endings: dict[ShuffleId, Ending] = field(default_factory=dict)
    reading: dict[StageAttempt, ShuffleId] = field(default_factory=dict)
    writing: dict[StageAttempt, ShuffleId] = field(default_factory=dict)
    call_site: str = ""
    announced: tuple[Span, ...] = ()
    blocks: Blocks = field(default_factory=Blocks)
    causes: Causes = field(default_factory=Causes)
    told_last: int = 0
    last: e.Recorded | None = None

    def hear(self, recorded: e.Recorded) -> None:
        """One more event."""
        self.causes.hear(recorded, self.state)
        if isinstance(recorded.event, e.ApplicationEnded):
            self._note_kept()
        apply(self.state, recorded)
        self.names.hear(recorded)
        self._follow(recorded)
        cause = self.causes.of(recorded, self.state)
        scene = Scene(
            self.app_shuffle,
            self.state,
            self.names,
            cause,
            self.reading,
            self.writing,
            self.told_last,
            self._blocks_before(recorded),
        )
        for shuffle_id, text in tell(scene, recorded.event):
            self._write_down(shuffle_id, recorded, text)
        self.blocks.hear(recorded, self.state)
        self.last = recorded

    def _note_kept(self) -> None:
        """Who held what is there to the end: with the application all that could be asked of goes."""
        for shuffle_id, ending in self.endings.items():
            generation = self.state.generations.get(shuffle_id)
            ending.kept = reasons(self.state, generation, self.names) if generation is not None else ()

    def _blocks_before(self, recorded: e.Recorded) -> tuple[e.Recorded, ...]:
        """What is known of cached blocks that were taken instead of what is missed now."""
        event = recorded.event
        return self.blocks.before(self.app_shuffle, event.shuffle_id) if isinstance(event, e.PrematureDeletion) else ()

    def _write_down(self, shuffle_id: ShuffleId, recorded: e.Recorded, text: str) -> None:
        line = Line(recorded.sequence, recorded.time_ms, recorded.because, kind(recorded.event), printable(text))
        self.told_last = recorded.sequence
        if shuffle_id == ALL:
            self.common.append(line)
            return
        self.chapters.setdefault(shuffle_id, []).append(line)
        self.endings.setdefault(shuffle_id, Ending()).note(recorded, self.state, self.names)

    def story(self, only: ShuffleId | None) -> Story:
        """What was heard, told."""
        if not self.common and not self.chapters:
            known = _numbers(self.announced)
            raise UnknownShuffle(f"app shuffle {self.app_shuffle}", known, "one of the app shuffles")
        chapters = [self._chapter(shuffle_id) for shuffle_id in sorted(self.chapters) if only in (None, shuffle_id)]
        meta = self.state.meta
        return Story(
            application=meta.application or ApplicationId(""),
            name=meta.driver.name,
            app_shuffle=self.app_shuffle,
            call_site=self.call_site,
            last_sequence=self.last.sequence if self.last is not None else Sequence(0),
            lines=shortened(self.common),
            chapters=tuple(chapters),
        )

    def _chapter(self, shuffle_id: ShuffleId) -> Chapter:
        ending = self.endings[shuffle_id]
        generation = self.state.generations.get(shuffle_id)
        return Chapter(
            shuffle_id,
            ending.life,
            became(ending.life.value, ending.cause),
            ending.bytes,
            verdict(ending),
            reasons(self.state, generation, self.names) if generation is not None else (),
            shortened(self.chapters[shuffle_id]),
        )

    def _follow(self, recorded: e.Recorded) -> None:
        """Remembers who reads or writes a generation of ours until the stage has ended, and what was announced."""
        event = recorded.event
        if isinstance(event, e.LineageLearned):
            told = event.lineage.app_shuffle
            self.announced = add_span(self.announced, Span(told, told))
            self.call_site = event.lineage.call_site if told == self.app_shuffle else self.call_site
        if isinstance(event, e.ReaderRegistered) and self.names.shuffle_of.get(event.shuffle_id) == self.app_shuffle:
            self.reading[event.reader] = event.shuffle_id
        if isinstance(event, _WRITES) and self.names.shuffle_of.get(event.shuffle_id) == self.app_shuffle:
            self.writing[event.writer] = event.shuffle_id
        if isinstance(event, e.GenerationFenced):  # who still waits has not used it, and never will
            for used in (self.reading, self.writing):
                for stage in [stage for stage, shuffle_id in used.items() if shuffle_id == event.shuffle_id]:
                    del used[stage]
