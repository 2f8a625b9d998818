"""One sentence an event.

Responsible for what each kind of event is called and what it says, in the words of the vocabulary. Refuses to know the
events around it, but for the names that they taught. Invariant: every kind of event has its sentence, and a sentence
says nothing that its event does not say.
"""

# Every row of a table takes what the table hands it.
# ruff: noqa: ARG001, ARG005

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, JobId
from coordinator.core.values import Deletion, Ending, Expiry, Hold, Lineage, Pressed
from replay.names import Names
from replay.units import clock, count, few, place, printable, size

Phrase = Callable[[Any, Names], str]

_ENDINGS = {
    Ending.ENDED: "the application ended",
    Ending.LOST: "the application was lost",
    Ending.DETACHED: "the driver left, as by detach(), and lives on: its data are Spark's",
}


def kind(event: e.Event) -> str:
    """The name of the event's kind: `GenerationExpired`."""
    return type(event).__name__


def kinds() -> tuple[str, ...]:
    """All kinds of events."""
    return tuple(kind.__name__ for kind in _PHRASES)


def kind_named(text: str) -> str | None:
    """The kind, however it is written: generation-expired, GenerationExpired; None: there is no such kind."""
    folded = {one.lower(): one for one in kinds()}
    return folded.get(text.replace("-", "").replace("_", "").replace(" ", "").lower())


def phrase(event: e.Event, names: Names) -> str:
    """What the event says."""
    return printable(_PHRASES[type(event)](event, names))


# --- the application --------------------------------------------------------------------------------------------------


def _registered(event: e.ApplicationRegistered, names: Names) -> str:
    driver = event.driver
    unable = "" if event.capabilities.deletes else f"; only observed: {event.capabilities.why_not}"
    who = driver.name or driver.spark_application_id or event.application
    return f"{who} registered, Spark {driver.spark_version or '?'}, policy {event.policy.name}{unable}"


def _answered(event: e.RequestsAnswered, names: Names) -> str:
    numbers = sum(s.last - s.first + 1 for s in event.answered)
    refused = "".join(f", {r.count} {r.answer}" for r in event.refused)
    return f"{event.client}: {count(numbers, 'request')} answered, {event.repeats:,} of them repeats{refused}"


def _policy(event: e.PolicyChanged, names: Names) -> str:
    where = f" for job group {event.group}" if event.group else ""
    return f"policy is {event.policy.name}{where} from here on{_by(event.by)}"


def _gap(event: e.GapRecorded, names: Names) -> str:
    if event.resynced:
        return f"the whole truth was told again; {_goes_on(event.until)}"
    missed = "1 fact was" if event.dropped == 1 else f"{event.dropped or 'some'} facts were"
    return f"{missed} missed ({event.where}); nothing expires meanwhile"


def _goes_on(until: tuple[JobId, ...]) -> str:
    """Where no job ran when facts were missed, or since then, nothing is waited for."""
    if not until:
        return "no job runs, and what nobody needs expires again"
    have = f"job {until[0]} has" if len(until) == 1 else f"jobs {few(until)} have"
    return f"nothing expires until {have} ended"


# --- the scheduler ----------------------------------------------------------------------------------------------------


def lineage(told: Lineage) -> str:
    """What an app shuffle is made of."""
    reads = f"made from app {_shuffles(told.reads)}" if told.reads else "made from no other shuffle"
    barrier = ", barrier" if told.barrier else ""
    return f"{reads}, {count(told.maps, 'map')}, {told.level.value}{barrier}"


def _announced(event: e.LineageLearned, names: Names) -> str:
    cut_off = f", no more from app {_shuffles(event.cut_off)}" if event.cut_off else ""
    return f"{names.shuffle(event.lineage.app_shuffle)} announced: {lineage(event.lineage)}{cut_off}"


def _job_started(event: e.JobStarted, names: Names) -> str:
    lists = sum(s.last - s.first + 1 for s in event.stages)
    reads = f", its last reads app {_shuffles(event.reads)}" if event.reads else ""
    execution = f", SQL execution {event.execution}" if event.execution is not None else ""
    own = f", policy {event.policy.name}" if event.policy is not None else ""
    group = f", group {event.group}" if event.group else ""
    return f"{names.job(event.job)} started: {count(lists, 'stage')}{reads}{execution}{group}{own}"


def _job_ended(event: e.JobEnded, names: Names) -> str:
    return f"{names.job(event.job)} " + ("ended" if event.succeeded else f"failed{because(event.failure)}")


def _submitted(event: e.StageSubmitted, names: Names) -> str:
    reads = f", reads app {_shuffles(event.reads)}" if event.reads else ""
    writes = f", writes app shuffle {event.writes}" if event.writes is not None else ""
    given_up = f", gives up {names.generation(event.gives_up)}" if event.gives_up is not None else ""
    return f"{names.stage(event.stage)} submitted: {count(event.tasks, 'task')}{reads}{writes}{given_up}"


def _completed(event: e.StageCompleted, names: Names) -> str:
    if event.failure:
        return f"{names.stage(event.stage)} failed{because(event.failure)}"
    parts = [f"{word} {size(n)}" for word, n in _moved(event) if n]
    parts += [f"read app {_shuffles(event.recovered)}, which had been recovered"] if event.recovered else []
    parts += [f"did not read {few(map(names.generation, event.unread))}"] if event.unread else []
    return f"{names.stage(event.stage)} completed" + (f": {', '.join(parts)}" if parts else "")


def _moved(event: e.StageCompleted) -> tuple[tuple[str, int], ...]:
    return (
        ("read", event.shuffle_bytes_read),
        ("wrote", event.shuffle_bytes_written),
        ("put out", event.output_bytes),
    )


def _execution_started(event: e.ExecutionStarted, names: Names) -> str:
    return f"SQL execution {event.execution} started{because(place(event.name))}"


def _execution_ended(event: e.ExecutionEnded, names: Names) -> str:
    return f"{names.execution(event.execution)} " + ("failed" if event.failed else "ended")


# --- roots ------------------------------------------------------------------------------------------------------------


def _cut(event: e.CutReported, names: Names) -> str:
    needs = f" needs app {_shuffles(event.added)}" if event.added else ""
    lets_go = f"{' and' if needs else ''} lets go of app {_shuffles(event.removed)}" if event.removed else ""
    same = "" if needs or lets_go else " needs nothing new"  # a look found it, or another name of it
    return f"{names.root_of(event.kind, event.root, event.why)}{needs}{lets_go}{same}"


# --- generations ------------------------------------------------------------------------------------------------------


def _started(event: e.GenerationStarted, names: Names) -> str:
    answers = f", for recovery {event.recovery}" if event.recovery is not None else ""
    return f"{names.generation(event.shuffle_id)} begins: {names.stage(event.writer)} writes it{answers}"


def _expired(event: e.GenerationExpired, names: Names) -> str:
    return f"{names.generation(event.shuffle_id)} expired: {why_expired(event)}"


def why_expired(event: e.GenerationExpired) -> str:
    """Why, and what delays its fence: nothing where a full disk takes it, which fences it in the same moment."""
    return event.why.value + ("" if event.why is Expiry.PRESSED else held(event.hold, event.due_ms))


def held(hold: Hold, due_ms: int) -> str:
    """What delays a fence, as the end of a sentence."""
    if hold is Hold.NONE:
        return ""
    return f"; held: {hold.value}" + (f" until {clock(due_ms)}" if due_ms else "")


def _hold(event: e.HoldChanged, names: Names) -> str:
    told = held(event.hold, event.due_ms) or "; nothing holds it any more"
    return names.generation(event.shuffle_id) + told.replace("; ", " is " if event.hold is not Hold.NONE else ": ", 1)


def used(event: e.DiskReported) -> int:
    """How far the disk is used, in percent."""
    return 100 * event.used_bytes // max(1, event.used_bytes + event.free_bytes)


def _disk(event: e.DiskReported) -> str:
    if not event.used_bytes + event.free_bytes:
        return f"disk {event.disk} is not there any more"
    return f"disk {event.disk} is used to {used(event)} %, {size(event.free_bytes)} free"


def pressed(why: Pressed | None) -> str:
    """The disk, and what it costs to write it again, as the end of a sentence."""
    if why is None:
        return ""
    return f": disk {why.disk} {_fill(why)}; {why.task_ms / 1_000:,.1f} task-s for {size(why.bytes)}"


def _fill(why: Pressed) -> str:
    """A disk that is full stays so until it is used no further than the low watermark."""
    if why.used_percent > why.high_percent:
        return f"at {why.used_percent} %, above {why.high_percent} %"
    return f"had reached {why.high_percent} %, still at {why.used_percent} % without what is on its way out"


def _rescued(event: e.ExpiryTakenBack, names: Names) -> str:
    by = because(event.by) if event.by != event.why.value else ""
    return f"{names.generation(event.shuffle_id)} is kept after all: {event.why.value}{by}"


def _refused(event: e.FenceRefused, names: Names) -> str:
    then = "kept" if event.keep else f"asked again at {clock(event.due_ms)}"
    told = f"{event.refusal.value}{because(event.detail)}"
    return f"the driver did not fence {names.generation(event.shuffle_id)} ({told}); {then}"


def _fenced(event: e.GenerationFenced, names: Names) -> str:
    return f"{names.generation(event.shuffle_id)} fenced, {size(event.bytes)}: nobody reads it from here on"


def _failed(event: e.DirectiveFailed, names: Names) -> str:
    asked = f"directive {event.directive} for {names.generation(event.shuffle_id)}"
    return f"{asked} failed{because(event.error)}; asked again at {clock(event.due_ms)}"


def became(life: str, cause: str | None) -> str:
    """In a word what a generation has become, by its life and the cause of its deletion."""
    return "left to Spark" if cause == Deletion.APPLICATION_DETACHED.value else life


def _deleted(event: e.GenerationDeleted, names: Names) -> str:
    freed = f", {size(event.bytes)} freed" if event.directive is not None else ""
    later = "; its files go with the next generation's" if event.superseded else ""
    gone = became("deleted", event.cause.value)
    return f"{names.generation(event.shuffle_id)} {gone} ({event.cause.value}){freed}{later}"


def _cached_blocks_lost(event: e.CachedBlocksLost, names: Names) -> str:
    instead = few(names.shuffle(app_shuffle) for app_shuffle in event.app_shuffles)
    return f"cached blocks may have gone with executor {event.executor}, which are taken instead of {instead}"


# --- being missed -----------------------------------------------------------------------------------------------------


def _missed(event: e.PrematureDeletion, names: Names) -> str:
    told = f"{names.stage(event.stage)} wanted it" if event.stage is not None else "it was wanted"
    since = ", since something before it was lost" * event.after_loss
    return f"{names.generation(event.shuffle_id)} was deleted too early: {told}{since}{because(event.detail)}"


def _opened(event: e.RecoveryOpened, names: Names) -> str:
    parts = [f"{few(_hashed(ids))} {word}" for word, ids in _named(event) if ids]
    unknown = "" if event.lineage_known else "; its lineage is not known"
    return f"recovery {event.recovery} for {names.generation(event.missing)}: {', '.join(parts)}{unknown}"


def _named(event: e.RecoveryOpened) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return (
        ("written anew", event.gone),
        ("taken back", event.rescued),
        ("awaited", event.awaited),
        ("would mix unless written anew as a whole", event.mixing),
    )


def _joined(event: e.RecoveryJoined, names: Names) -> str:
    return f"{names.stage(event.stage)} misses {names.generation(event.missing)} too: joins recovery {event.recovery}"


def _mixed(event: e.GenerationsMixed, names: Names) -> str:
    what = f"mixes two generations of {names.shuffle(event.app_shuffle)}"
    when = f"{event.delivered} of {event.partitions} partitions were delivered before it was computed again"
    if not event.delivered:
        when = "of what it reads, a part was made before it was computed again, and a part after that"
    late = ", and the driver came too late to prevent it" if event.late else ""
    ending = "; it was failed, as strict asks for" if event.failed else "; right only if it is deterministic"
    return f"the result of job {event.job} (stage {event.stage}) {what}: {when}{late}{ending}"


def _denied(event: e.RecoveryDenied, names: Names) -> str:
    bound = f"{event.count} of at most {event.limit} recoveries"
    asked = f" for {names.stage(event.stage)}" if event.stage is not None else ""
    return f"{names.generation(event.missing)} is not recovered again{asked}: {bound}; the job sees Spark's own failure"


# --- the table --------------------------------------------------------------------------------------------------------

_PHRASES: dict[type, Phrase] = {
    e.ApplicationRegistered: _registered,
    e.ApplicationEnded: lambda v, n: _ENDINGS[v.ending],
    e.ClientRegistered: lambda v, n: f"client {v.client} registered",
    e.ClientDropped: lambda v, n: f"client {v.client} was idle and is forgotten",
    e.RequestsAnswered: _answered,
    e.PolicyChanged: _policy,
    e.PinSet: lambda v, n: f"{n.shuffle(v.app_shuffle)} pinned{because(v.why)}",
    e.PinRemoved: lambda v, n: f"{n.shuffle(v.app_shuffle)} no longer pinned",
    e.DeletionSuspended: lambda v, n: f"deletion suspended itself: {v.why.value}",
    e.DeletionResumed: lambda v, n: f"deletion goes on{_by(v.by)}",
    e.GapRecorded: _gap,
    e.SweepChanged: lambda v, n: "more is to be moved in a next step" if v.pending else "all is moved",
    e.LineageLearned: _announced,
    e.JobStarted: _job_started,
    e.JobEnded: _job_ended,
    e.StageSubmitted: _submitted,
    e.StageCompleted: _completed,
    e.ExecutionStarted: _execution_started,
    e.ExecutionEnded: _execution_ended,
    e.DiskReported: lambda v, n: _disk(v),
    e.ExecutorLost: lambda v, n: f"executor {v.executor} lost{because(v.reason)}",
    e.CachedBlocksLost: _cached_blocks_lost,
    e.ShuffleCleaned: lambda v, n: f"{n.shuffle(v.app_shuffle)}: Spark's cleaner says that nothing can read it again",
    e.LookBegan: lambda v, n: f"look {v.look} at the program began",
    e.CutReported: _cut,
    e.RootGone: lambda v, n: f"{n.root(v.root)} needs nothing any more",
    e.LookEnded: lambda v, n: f"look {v.look} at the program ended",
    e.GenerationStarted: _started,
    e.GenerationAdopted: lambda v, n: f"{n.generation(v.shuffle_id)} found: {v.available} of {v.total} outputs",
    e.WriterJoined: lambda v, n: f"{n.stage(v.writer)} goes on writing {n.generation(v.shuffle_id)}",
    e.GenerationCompleted: lambda v, n: f"{n.generation(v.shuffle_id)} complete, {size(v.bytes)}",
    e.ReaderRegistered: lambda v, n: f"{n.stage(v.reader)} reads {n.generation(v.shuffle_id)}",
    e.OutputsLost: lambda v, n: f"{n.generation(v.shuffle_id)}: {v.available} of {v.total} outputs are left",
    e.GenerationLost: lambda v, n: f"{n.generation(v.shuffle_id)} lost: {v.cause.value}",
    e.GenerationExpired: _expired,
    e.HoldChanged: _hold,
    e.ExpiryTakenBack: _rescued,
    e.FenceRequested: lambda v, n: f"the driver is asked to fence {n.generation(v.shuffle_id)}{pressed(v.pressed)}",
    e.FenceRefused: _refused,
    e.GenerationFenced: _fenced,
    e.DeleteRequested: lambda v, n: f"the driver is asked to delete {n.generation(v.shuffle_id)}",
    e.DirectiveFailed: _failed,
    e.InvalidateRequested: lambda v, n: f"the driver is asked to free what is left of {n.generation(v.shuffle_id)}",
    e.DataInvalidated: lambda v, n: f"what was left of {n.generation(v.shuffle_id)} is freed, {size(v.bytes)}",
    e.GenerationDeleted: _deleted,
    e.PrematureDeletion: _missed,
    e.RecoveryOpened: _opened,
    e.RecoveryWidened: lambda v, n: f"recovery {v.recovery}: {n.generation(v.gone)} turned out to be gone too",
    e.RecoveryJoined: _joined,
    e.RecoveryClosed: lambda v, n: f"recovery {v.recovery} is done",
    e.RecoveryDenied: _denied,
    e.GenerationsMixed: _mixed,
    e.ResultsMayDiffer: lambda v, n: (
        f"{n.shuffle(v.app_shuffle)} is computed again; a job that has finished read it: later results may not fit it"
    ),
}


def _shuffles(ids: tuple[AppShuffle, ...]) -> str:
    return f"{'shuffle' if len(ids) == 1 else 'shuffles'} {few(ids)}"


def _hashed(ids: tuple[int, ...]) -> list[str]:
    return [f"#{one}" for one in ids]


def because(text: str) -> str:
    """`: ` and the first line of a reason; nothing where none was given."""
    first = text.strip().splitlines()[0] if text.strip() else ""
    return f": {first[:160]}" if first else ""


def _by(who: str) -> str:
    return f", by {who}" if who else ""
