"""What generations held over time, and what became of them.

Responsible for the life of every generation in a simulated log, for bytes held over time, and for what premature
deletions cost. Refuses to decide. Invariant: all is read from the log. A generation holds what each attempt of its map
stage has written, from the attempt's end on; and from its fence on the bytes that the fence found, until it is gone.
"""

# Every row of a table takes what the table hands it.
# ruff: noqa: ARG002

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from coordinator.core import events as e
from coordinator.core.ids import NO_SHUFFLE, AppShuffle, ShuffleId, StageAttempt
from coordinator.core.values import Deletion, Expiry
from replay.simulate.fetching import Readings
from replay.simulate.outcome import Life, Miss
from replay.units import left, whole


@dataclass(slots=True)
class _Held:
    """One generation, while its log goes by."""

    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    bytes: int = 0
    whole_bytes: int = 0  #: Its bytes before outputs were lost, until it is complete again; else 0.
    anew: bool = False  #: Its last attempt has written all outputs, also those that failed attempts had written.
    written_ms: int | None = None
    last_read_ms: int | None = None
    expired_ms: int | None = None
    why: Expiry | None = None
    fenced_ms: int | None = None
    gone_ms: int | None = None
    end: str = ""
    cleaned: bool = False  #: Spark has forgotten its app shuffle.


@dataclass(slots=True)
class _Missed:
    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    at_ms: int
    stage: StageAttempt | None
    bytes: int | None = None  #: None: it was not written again.


@dataclass(slots=True)
class Ledger:
    """Adds up a log, event by event. Without ``keeps_lives`` it forgets generations that are gone and cleaned."""

    keeps_lives: bool = True
    held_bytes: int = 0
    peak_bytes: int = 0
    deleted_bytes: int = 0
    began_ms: int = 0
    now_ms: int = 0
    _byte_ms: int = 0
    _held: dict[ShuffleId, _Held] = field(default_factory=dict)
    _call_sites: dict[AppShuffle, str] = field(default_factory=dict)
    _maps: dict[AppShuffle, int] = field(default_factory=dict)  #: How many tasks write all of it.
    _anew: set[StageAttempt] = field(default_factory=set)  #: Running attempts that write all outputs.
    _born: dict[AppShuffle, list[_Held]] = field(default_factory=dict)  #: Until cleaned; without ``keeps_lives`` alone.
    _reading: dict[StageAttempt, list[ShuffleId]] = field(default_factory=dict)
    _readings: Readings = field(default_factory=Readings)
    _writing: dict[StageAttempt, ShuffleId] = field(default_factory=dict)
    _misses: list[_Missed] = field(default_factory=list)
    _open_miss: dict[AppShuffle, _Missed] = field(default_factory=dict)

    def hear(self, log: Iterable[e.Recorded]) -> None:
        """The next events of the log."""
        for recorded in log:
            rule = _HEARD.get(type(recorded.event))
            if rule is not None:
                rule(self, recorded.time_ms, recorded.event)

    def close(self, now_ms: int) -> None:
        """The log has ended: what is held then counts as held until this time."""
        self._pass(now_ms)

    @property
    def byte_seconds(self) -> float:
        """Bytes held, times how long."""
        return self._byte_ms / 1000

    def lives(self) -> tuple[Life, ...]:
        """Every generation, in the order of their ids."""
        return tuple(
            Life(
                h.shuffle_id,
                h.app_shuffle,
                self._call_sites.get(h.app_shuffle, ""),
                h.bytes,
                h.written_ms,
                h.last_read_ms,
                h.expired_ms,
                h.why,
                h.fenced_ms,
                h.gone_ms,
                h.end,
            )
            for h in self._held.values()
        )

    def misses(self, task_ms: Mapping[AppShuffle, int]) -> tuple[Miss, ...]:
        """Every premature deletion. ``task_ms``: what it takes to write each app shuffle once."""
        return tuple(self._miss(one, task_ms.get(one.app_shuffle)) for one in self._misses)

    def _miss(self, missed: _Missed, task_ms: int | None) -> Miss:
        known = self._held.get(missed.shuffle_id)
        return Miss(
            missed.shuffle_id,
            missed.app_shuffle,
            self._call_sites.get(missed.app_shuffle, ""),
            missed.at_ms,
            missed.stage,
            known.why if known is not None else None,
            known.fenced_ms if known is not None else None,
            missed.bytes or 0,
            None if task_ms is None or missed.bytes is None else task_ms / 1000,
        )

    # ---- single events ----

    def _pass(self, now_ms: int) -> None:
        self.began_ms = self.began_ms or now_ms
        if now_ms > self.now_ms:
            self._byte_ms += self.held_bytes * (now_ms - self.now_ms) if self.now_ms else 0
            self.now_ms = now_ms

    def _learned(self, now_ms: int, event: e.LineageLearned) -> None:
        self._call_sites[event.lineage.app_shuffle] = event.lineage.call_site
        self._maps[event.lineage.app_shuffle] = event.lineage.maps

    def _started(self, now_ms: int, event: e.GenerationStarted | e.GenerationAdopted) -> None:
        held = self._held[event.shuffle_id] = _Held(event.shuffle_id, event.app_shuffle)
        if not self.keeps_lives:
            self._born.setdefault(event.app_shuffle, []).append(held)
        if isinstance(event, e.GenerationAdopted):
            held.written_ms = now_ms
        else:
            self._writing[event.writer] = event.shuffle_id

    def _joined(self, now_ms: int, event: e.WriterJoined) -> None:
        self._writing[event.writer] = event.shuffle_id

    def _hold(self, now_ms: int, held: _Held, bytes_: int) -> None:
        """From now on the generation holds so many bytes, if it is not gone."""
        if held.gone_ms is None:
            self._pass(now_ms)
            self.held_bytes += bytes_ - held.bytes
            held.bytes = bytes_
            self.peak_bytes = max(self.peak_bytes, self.held_bytes)

    def _completed(self, now_ms: int, event: e.GenerationCompleted) -> None:
        held = self._held.get(event.shuffle_id)
        if held is None:
            return
        self._hold(now_ms, held, whole(held.bytes, held.whole_bytes, event.bytes))
        held.whole_bytes = 0
        held.written_ms = now_ms if held.written_ms is None else held.written_ms
        missed = self._open_miss.pop(held.app_shuffle, None)
        if missed is not None:
            missed.bytes = event.bytes if held.anew and event.bytes else held.bytes

    def _outputs_lost(self, now_ms: int, event: e.OutputsLost) -> None:
        held = self._held.get(event.shuffle_id)
        if held is not None:
            held.whole_bytes = held.whole_bytes or held.bytes
            self._hold(now_ms, held, left(held.bytes, event.available, event.total))

    def _submitted(self, now_ms: int, event: e.StageSubmitted) -> None:
        self._readings.submitted(event)
        if event.writes is not None and 0 < self._maps.get(event.writes, 0) <= event.tasks:
            self._anew.add(event.stage)

    def _reader(self, now_ms: int, event: e.ReaderRegistered) -> None:
        self._reading.setdefault(event.reader, []).append(event.shuffle_id)

    def _stage_over(self, now_ms: int, event: e.StageCompleted) -> None:
        written = self._held.get(self._writing.pop(event.stage, ShuffleId(-1)))
        if written is not None:
            written.anew = event.stage in self._anew
        self._anew.discard(event.stage)
        if written is not None and event.failure:  # of one that succeeded, the generation's completion tells
            self._hold(now_ms, written, written.bytes + event.shuffle_bytes_written)
        read = self._readings.over(event)
        for shuffle_id in self._reading.pop(event.stage, ()):
            held = self._held.get(shuffle_id)
            if held is not None and (read is None or held.app_shuffle in read):
                held.last_read_ms = now_ms

    def _expired(self, now_ms: int, event: e.GenerationExpired) -> None:
        held = self._held.get(event.shuffle_id)
        if held is not None:
            held.expired_ms, held.why = now_ms, event.why

    def _taken_back(self, now_ms: int, event: e.ExpiryTakenBack) -> None:
        held = self._held.get(event.shuffle_id)
        if held is not None:
            held.expired_ms = held.why = None

    def _refused(self, now_ms: int, event: e.FenceRefused) -> None:
        held = self._held.get(event.shuffle_id)
        if held is not None and event.keep:
            held.expired_ms = held.why = None

    def _fenced(self, now_ms: int, event: e.GenerationFenced) -> None:
        held = self._held.get(event.shuffle_id)
        if held is not None:
            held.fenced_ms = now_ms
            self._hold(now_ms, held, event.bytes or held.bytes)

    def _gone(self, now_ms: int, event: e.GenerationDeleted | e.GenerationLost) -> None:
        held = self._held.get(event.shuffle_id)
        if held is None or held.gone_ms is not None:
            return
        self._pass(now_ms)
        held.gone_ms = now_ms
        self.held_bytes -= held.bytes
        held.end = f"lost: {event.cause.value}" if isinstance(event, e.GenerationLost) else event.cause.value
        if isinstance(event, e.GenerationDeleted) and event.cause is Deletion.POLICY:
            self.deleted_bytes += held.bytes
        self._forget(held)

    def _cleaned(self, now_ms: int, event: e.ShuffleCleaned) -> None:
        self._readings.forget(event.app_shuffle)
        for held in self._born.pop(event.app_shuffle, ()):
            held.cleaned = True
            self._forget(held)
        if not self.keeps_lives:
            self._call_sites.pop(event.app_shuffle, None)
            self._maps.pop(event.app_shuffle, None)

    def _forget(self, held: _Held) -> None:
        if held.cleaned and held.gone_ms is not None:
            self._held.pop(held.shuffle_id, None)

    def _premature(self, now_ms: int, event: e.PrematureDeletion) -> None:
        held = self._held.get(event.shuffle_id)
        app_shuffle = held.app_shuffle if held is not None else NO_SHUFFLE
        missed = _Missed(event.shuffle_id, app_shuffle, now_ms, event.stage)
        self._misses.append(missed)
        self._open_miss[app_shuffle] = missed


_HEARD: dict[type, Any] = {
    e.LineageLearned: Ledger._learned,  # noqa: SLF001 - the class's own table
    e.GenerationStarted: Ledger._started,  # noqa: SLF001
    e.GenerationAdopted: Ledger._started,  # noqa: SLF001
    e.WriterJoined: Ledger._joined,  # noqa: SLF001
    e.GenerationCompleted: Ledger._completed,  # noqa: SLF001
    e.OutputsLost: Ledger._outputs_lost,  # noqa: SLF001
    e.ReaderRegistered: Ledger._reader,  # noqa: SLF001
    e.StageSubmitted: Ledger._submitted,  # noqa: SLF001
    e.StageCompleted: Ledger._stage_over,  # noqa: SLF001
    e.GenerationExpired: Ledger._expired,  # noqa: SLF001
    e.ExpiryTakenBack: Ledger._taken_back,  # noqa: SLF001
    e.FenceRefused: Ledger._refused,  # noqa: SLF001
    e.GenerationFenced: Ledger._fenced,  # noqa: SLF001
    e.GenerationDeleted: Ledger._gone,  # noqa: SLF001
    e.GenerationLost: Ledger._gone,  # noqa: SLF001
    e.ShuffleCleaned: Ledger._cleaned,  # noqa: SLF001
    e.PrematureDeletion: Ledger._premature,  # noqa: SLF001
}
