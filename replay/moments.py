"""One moment of an application: all that is so at a point of its log.

Responsible for what people see of a folded state. Refuses to know how the point was reached. Invariant: every
generation that ever was is counted once, alive or gone, and named, if the traveller keeps all; and the bytes held are
those whose data are still there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coordinator.core.ids import ApplicationId, AppShuffle, DirectiveId, RecoveryId, Sequence, ShuffleId
from coordinator.core.lifecycle import Life
from coordinator.core.state import Attempt, Generation, State
from coordinator.core.values import Hold
from replay.holding import reasons
from replay.names import Names
from replay.travel import Ended, Gone, Traveller


@dataclass(frozen=True, slots=True)
class There:
    """A generation whose data are there, at least in part. ``held_by``: why."""

    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    call_site: str
    life: Life
    bytes: int
    writers: tuple[str, ...]
    readers: tuple[str, ...]
    retrying: tuple[str, ...]  #: Failed readers that will read again.
    expired_because: str
    hold: Hold
    due_ms: int
    pin: str | None
    held_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Past:
    """A generation that is gone."""

    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    call_site: str
    life: Life
    cause: str
    bytes: int
    freed_bytes: int
    sequence: Sequence
    time_ms: int


@dataclass(frozen=True, slots=True)
class Running:
    """A job or a stage that runs."""

    name: str
    reads: tuple[AppShuffle, ...]
    writes: AppShuffle | None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A directive whose outcome is not known."""

    directive: DirectiveId
    kind: str
    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    requested_ms: int
    due_ms: int
    failures: int


@dataclass(frozen=True, slots=True)
class Counted:
    """How many generations are in a state of life, and how large they are. ``became``: in a word of people's."""

    life: Life
    became: str
    generations: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Moment:
    """All that is so after one event."""

    application: ApplicationId | None
    name: str
    sequence: Sequence
    time_ms: int
    policy: str
    groups: tuple[tuple[str, str], ...]  #: Policies of job groups.
    state: str
    held_bytes: int
    freed_bytes: int
    premature: int
    counts: tuple[Counted, ...]
    generations: tuple[There, ...]
    gone: tuple[Past, ...]  #: As many as the traveller keeps, the newest.
    jobs: tuple[Running, ...]
    stages: tuple[Running, ...]
    executions: tuple[str, ...]
    directives: tuple[Asked, ...]
    recoveries: tuple[RecoveryId, ...]  #: That are open.
    roots: int


def moment(traveller: Traveller) -> Moment:
    """What is so where the traveller is."""
    state, names = traveller.state, traveller.names
    there = tuple(_there(state, one, names) for _, one in sorted(state.generations.items()))
    gone = tuple(_past(one, names) for _, one in sorted(traveller.gone.newest.items()))
    meta = state.meta
    return Moment(
        application=meta.application,
        name=meta.driver.name,
        sequence=Sequence(meta.next_sequence - 1),
        time_ms=meta.time_ms,
        policy=meta.policy.name,
        groups=tuple((group, policy.name) for group, policy in sorted(state.groups.items())),
        state=_standing(state),
        held_bytes=sum(one.bytes for one in there),
        freed_bytes=meta.bytes_freed,
        premature=meta.premature,
        counts=_counts(there, traveller.gone),
        generations=there,
        gone=gone,
        jobs=tuple(
            Running(names.job(key), job.reads, job.writes, job.group) for key, job in sorted(state.jobs.items())
        ),
        stages=tuple(_stage(names, one) for _, one in sorted(state.attempts.items()) if one.running),
        executions=tuple(f"{key} {one.name}".strip() for key, one in sorted(state.executions.items())),
        directives=_asked(state),
        recoveries=tuple(key for key, one in sorted(state.recoveries.items()) if one.open),
        roots=len(state.roots),
    )


def _standing(state: State) -> str:
    """What is unusual about the application; `running` where nothing is."""
    meta = state.meta
    if meta.ending is not None:
        return meta.ending.value
    unusual = [
        f"deletion suspended: {meta.suspended.value}" if meta.suspended is not None else "",
        "facts were missed" if meta.gap is not None else "",
        "only observed" if not meta.capabilities.deletes else "",
    ]
    return ", ".join(["running", *filter(None, unusual)])


def _there(state: State, generation: Generation, names: Names) -> There:
    shuffle = state.shuffles.get(generation.app_shuffle)
    return There(
        generation.shuffle_id,
        generation.app_shuffle,
        shuffle.lineage.call_site if shuffle is not None else "",
        generation.life,
        generation.bytes,
        tuple(map(str, sorted(generation.writers))),
        tuple(map(str, sorted(generation.readers))),
        tuple(map(str, sorted(generation.retrying))),
        generation.why.value if generation.why is not None else "",
        generation.hold,
        generation.due_ms,
        shuffle.pin if shuffle is not None else None,
        reasons(state, generation, names),
    )


def _past(gone: Gone, names: Names) -> Past:
    return Past(
        gone.shuffle_id,
        gone.app_shuffle,
        names.call_site(gone.app_shuffle) or gone.call_site,
        gone.life,
        gone.cause,
        gone.bytes,
        gone.freed_bytes,
        gone.sequence,
        gone.time_ms,
    )


def _stage(names: Names, attempt: Attempt) -> Running:
    ids = (*(f"reads #{one}" for one in attempt.reading), *(f"writes #{one}" for one in (attempt.writing,) if one))
    return Running(names.stage_of_job(attempt.stage), attempt.reads, attempt.writes, ", ".join(ids))


def _asked(state: State) -> tuple[Asked, ...]:
    return tuple(
        Asked(key, one.kind.value, one.shuffle_id, one.app_shuffle, one.requested_ms, one.due_ms, one.failures)
        for key, one in sorted(state.directives.items())
    )


def _counts(there: Iterable[There], gone: Ended) -> tuple[Counted, ...]:
    found = dict(gone.counts)
    for one in there:
        key = one.life, one.life.value
        many, held = found.get(key, (0, 0))
        found[key] = many + 1, held + one.bytes
    return tuple(Counted(*key, *found[key]) for life in Life for key in found if key[0] is life)
