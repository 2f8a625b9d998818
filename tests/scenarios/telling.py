"""Events as short lines: `A1 expired: in no live cut`.

Responsible for one line an event, with generations named as the scenarios name them. Refuses to leave one out.
Invariant: no event without a line, so that comparing lines compares whole event lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, ShuffleId, StageAttempt
from coordinator.core.values import Hold


class Teller:
    """Names generations in the order in which they begin."""

    def __init__(self) -> None:
        self._names: dict[ShuffleId, str] = {ShuffleId(0): "nothing"}
        self._counts: dict[AppShuffle, int] = {}

    def name_of(self, shuffle_id: ShuffleId) -> str:
        return self._names[shuffle_id]

    def id_of(self, name: str) -> ShuffleId:
        return next((key for key, known in self._names.items() if known == name), ShuffleId(9_999))

    def tell(self, log: Iterable[e.Recorded]) -> list[str]:
        """One line an event; lineage, which repeats what the story says, without one."""
        lines = []
        for recorded in log:
            event: Any = recorded.event
            if isinstance(event, (e.GenerationStarted, e.GenerationAdopted)):
                self._name(event)
            if not isinstance(event, e.LineageLearned):
                lines.append(_LINES[type(event)](self, event))
        return lines

    def _name(self, event: e.GenerationStarted | e.GenerationAdopted) -> None:
        count = self._counts.get(event.app_shuffle, 0) + 1
        self._counts[event.app_shuffle] = count
        self._names[event.shuffle_id] = f"{letter(event.app_shuffle)}{count}"

    def names(self, ids: Iterable[ShuffleId]) -> str:
        return " ".join(self._names[shuffle_id] for shuffle_id in ids)


def letter(app_shuffle: AppShuffle) -> str:
    return chr(app_shuffle + ord("A"))


def letters(app_shuffles: Iterable[AppShuffle]) -> str:
    return "".join(map(letter, app_shuffles))


def _recovery(t: Teller, event: e.RecoveryOpened) -> str:
    parts = [f"recovery {event.recovery} of {t.names(event.gone)}"]
    parts += [f"rescues {t.names(event.rescued)}"] if event.rescued else []
    parts += [f"awaits {t.names(event.awaited)}"] if event.awaited else []
    parts += [f"would mix {t.names(event.mixing)}"] if event.mixing else []
    parts += [] if event.lineage_known else ["lineage unknown"]
    return ", ".join(parts)


def _expired(t: Teller, event: e.GenerationExpired) -> str:
    held = f", held: {event.hold.value}" if event.hold is not Hold.NONE else ""
    until = f" until {event.due_ms}" if event.due_ms else ""
    return f"{t.name_of(event.shuffle_id)} expired: {event.why.value}{held}{until}"


def _hold(t: Teller, event: e.HoldChanged) -> str:
    until = f" until {event.due_ms}" if event.due_ms else ""
    return f"{t.name_of(event.shuffle_id)} held: {event.hold.value}{until}"


def _refused(t: Teller, event: e.FenceRefused) -> str:
    then = "kept" if event.keep else f"again at {event.due_ms}"
    return f"{t.name_of(event.shuffle_id)} fence refused: {event.refusal.value}, {then}"


def _stage_completed(t: Teller, event: e.StageCompleted) -> str:
    recovered = f", recovered {letters(event.recovered)}" if event.recovered else ""
    return f"s{event.stage} failed" if event.failure else f"s{event.stage} completed{recovered}"


def _to(stage: StageAttempt | None) -> str:
    return f" to s{stage}" if stage is not None else ""


def _cut(t: Teller, event: e.CutReported) -> str:
    added, removed = letters(event.added), letters(event.removed)
    return f"root {event.root} needs" + (f" +{added}" if added else "") + (f" -{removed}" if removed else "")


_LINES: dict[type, Callable[[Teller, Any], str]] = {
    e.ApplicationRegistered: lambda t, x: f"application {x.application}",
    e.ApplicationEnded: lambda t, x: f"application {x.ending.value}",
    e.ClientRegistered: lambda t, x: f"client {x.client}",
    e.ClientDropped: lambda t, x: f"client {x.client} dropped",
    e.RequestsAnswered: lambda t, x: f"answered {', '.join(f'{s.first}-{s.last}' for s in x.answered)}",
    e.PolicyChanged: lambda t, x: f"policy {x.policy.name}" + (f" for {x.group}" if x.group else ""),
    e.PinSet: lambda t, x: f"{letter(x.app_shuffle)} pinned",
    e.PinRemoved: lambda t, x: f"{letter(x.app_shuffle)} unpinned",
    e.DeletionSuspended: lambda t, x: f"suspended: {x.why.value}",
    e.DeletionResumed: lambda t, x: "resumed",
    e.GapRecorded: lambda t, x: f"{'resync' if x.resynced else 'gap'}, until jobs {list(x.until)} have ended",
    e.SweepChanged: lambda t, x: "more to sweep" if x.pending else "swept",
    e.JobStarted: lambda t, x: f"job {x.job}",
    e.JobEnded: lambda t, x: f"job {x.job} ended" if x.succeeded else f"job {x.job} failed",
    e.StageSubmitted: lambda t, x: (
        f"s{x.stage} submitted" + (f", gives up {t.name_of(x.gives_up)}" if x.gives_up else "")
    ),
    e.StageCompleted: _stage_completed,
    e.ExecutionStarted: lambda t, x: f"execution {x.execution}",
    e.ExecutionEnded: lambda t, x: f"execution {x.execution} ended",
    e.DiskReported: lambda t, x: f"disk {x.disk}: {x.used_bytes} used, {x.free_bytes} free",
    e.ExecutorLost: lambda t, x: f"executor {x.executor} lost",
    e.CachedBlocksLost: lambda t, x: f"cached blocks before {''.join(map(letter, x.app_shuffles))} lost",
    e.ShuffleCleaned: lambda t, x: f"{letter(x.app_shuffle)} cleaned",
    e.LookBegan: lambda t, x: "look",
    e.CutReported: _cut,
    e.RootGone: lambda t, x: f"root {x.root} gone",
    e.LookEnded: lambda t, x: "look ended",
    e.GenerationStarted: lambda t, x: (
        f"{t.name_of(x.shuffle_id)} begun by s{x.writer}" + (f" for recovery {x.recovery}" if x.recovery else "")
    ),
    e.GenerationAdopted: lambda t, x: f"{t.name_of(x.shuffle_id)} found, {x.available} of {x.total}",
    e.WriterJoined: lambda t, x: f"{t.name_of(x.shuffle_id)} continued by s{x.writer}",
    e.GenerationCompleted: lambda t, x: f"{t.name_of(x.shuffle_id)} complete",
    e.ReaderRegistered: lambda t, x: f"{t.name_of(x.shuffle_id)} read by s{x.reader}",
    e.OutputsLost: lambda t, x: f"{t.name_of(x.shuffle_id)} partial, {x.available} of {x.total}",
    e.GenerationLost: lambda t, x: f"{t.name_of(x.shuffle_id)} lost: {x.cause.value}",
    e.GenerationExpired: _expired,
    e.HoldChanged: _hold,
    e.ExpiryTakenBack: lambda t, x: f"{t.name_of(x.shuffle_id)} rescued: {x.why.value} ({x.by})",
    e.FenceRequested: lambda t, x: f"fence {t.name_of(x.shuffle_id)}",
    e.FenceRefused: _refused,
    e.GenerationFenced: lambda t, x: f"{t.name_of(x.shuffle_id)} fenced",
    e.DeleteRequested: lambda t, x: f"delete {t.name_of(x.shuffle_id)}",
    e.DirectiveFailed: lambda t, x: f"{t.name_of(x.shuffle_id)} failed: {x.error}, again at {x.due_ms}",
    e.InvalidateRequested: lambda t, x: f"invalidate {t.name_of(x.shuffle_id)}",
    e.DataInvalidated: lambda t, x: f"{t.name_of(x.shuffle_id)} invalidated, {x.bytes} bytes",
    e.GenerationDeleted: lambda t, x: (
        f"{t.name_of(x.shuffle_id)} deleted: {x.cause.value}, {x.bytes} bytes" + (" (superseded)" * x.superseded)
    ),
    e.PrematureDeletion: lambda t, x: f"{t.name_of(x.shuffle_id)} missed" + (f" by s{x.stage}" if x.stage else ""),
    e.RecoveryOpened: _recovery,
    e.RecoveryWidened: lambda t, x: f"recovery {x.recovery} also of {t.name_of(x.gone)}",
    e.RecoveryJoined: lambda t, x: (
        f"recovery {x.recovery} joined for {t.name_of(x.missing)}" + (f" by s{x.stage}" if x.stage else "")
    ),
    e.RecoveryClosed: lambda t, x: f"recovery {x.recovery} closed",
    e.GenerationsMixed: lambda t, x: f"job {x.job} mixes generations of {letter(x.app_shuffle)}",
    e.ResultsMayDiffer: lambda t, x: f"results from {letter(x.app_shuffle)} may differ",
    e.RecoveryDenied: lambda t, x: f"{t.name_of(x.missing)} denied{_to(x.stage)}: {x.count} of {x.limit}",
}
