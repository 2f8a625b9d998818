"""The figures, and what feeds them.

Responsible for the name, meaning and labels of every metric, and for counting what the runtime tells. Refuses to know
how they are asked for. Invariant: labels are words of the vocabulary; an application is a label only for as many as
somebody has allowed, the heaviest. Figures of several replicas add up: each counts its own commits and sessions.

Names that Celeborn has too are Celeborn's (docs/metrics.md): RegisteredShuffleCount, RunningApplicationCount,
ActiveShuffleSize.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric

from coordinator.core import events as e
from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId, RecoveryId, ShuffleId
from coordinator.core.lifecycle import Life
from coordinator.core.state import State
from coordinator.core.values import Deletion, Expiry, Suspension
from coordinator.runtime.observing import Committed, Observer, Standing

PREFIX = "shuffle_lifecycle"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_DELAYS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
_RECOVERIES = (0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600, 14_400)
#: What became of a job that mixes generations: its result may be wrong, or it was failed for it.
_TOLD, _FAILED = "told", "failed"
#: Lives of generations that hold data.
_HOLDING = tuple(life for life in Life if life not in (Life.DELETED, Life.LOST))
#: Recoveries under way that are followed, the newest: what another replica closes is never heard of here.
_FOLLOWED = 10_000


def _make_room(followed: dict[Any, Any]) -> None:
    """Drops the oldest entries, so that there is room for one more."""
    while len(followed) >= _FOLLOWED:
        del followed[next(iter(followed))]


class Figures(Observer):
    """The metrics of one replica, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._count = _Counters(self.registry)
        self._of_kind: dict[type, Callable[[Committed, Recorded, Any], None]] = {
            e.GenerationExpired: self._expired,
            e.GenerationDeleted: self._deleted,
            e.DataInvalidated: self._invalidated,
            e.PrematureDeletion: self._missed,
            e.GenerationsMixed: self._mixed,
            e.RecoveryOpened: self._recovery_opened,
            e.RecoveryClosed: self._recovery_closed,
            e.RecoveryDenied: self._recovery_denied,
            e.GenerationStarted: self._started,
            e.GenerationCompleted: self._completed,
            e.DeletionSuspended: self._suspended,
            e.GenerationLost: self._lost,
            e.ApplicationEnded: self._application_ended,
        }
        self._opened_ms: dict[tuple[ApplicationId, RecoveryId], int] = {}
        self._again: dict[tuple[ApplicationId, ShuffleId], None] = {}

    def show(
        self, standing: Callable[[], Standing], applications: int = 0, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        """From now on it tells what stands too. ``applications``: how many of the heaviest get metrics of their own."""
        self.registry.register(_Gauges(standing, applications, self._count, clock_s))

    # ---- told by the runtime ----

    def committed(self, commit: Committed) -> None:
        self._count.commit_seconds.observe(commit.seconds)
        self._count.commit_events.observe(len(commit.records))
        if commit.requests:
            self._count.commit_requests.observe(commit.requests)
        for recorded in commit.records:
            heard = self._of_kind.get(type(recorded.event))
            if heard is not None:
                heard(commit, recorded, recorded.event)

    def conflicted(self, application: ApplicationId) -> None:  # noqa: ARG002 - no label for it
        self._count.conflicts.inc()

    def refused(self, application: ApplicationId) -> None:  # noqa: ARG002
        self._count.refusals.inc()

    # ---- by kind of event ----

    def _expired(self, commit: Committed, recorded: Recorded, event: e.GenerationExpired) -> None:  # noqa: ARG002
        self._count.expirations.labels(event.why.value).inc()

    def _deleted(self, commit: Committed, recorded: Recorded, event: e.GenerationDeleted) -> None:
        self._count.deletions.labels(event.cause.value).inc()
        self._count.freed.inc(event.bytes)
        self._again.pop((commit.application, event.shuffle_id), None)
        known = commit.before.generations.get(event.shuffle_id)
        if event.cause is Deletion.POLICY and known is not None and known.expired_ms:
            self._count.expiry_to_deletion.observe(max(0, recorded.time_ms - known.expired_ms) / 1000)

    def _invalidated(self, commit: Committed, recorded: Recorded, event: e.DataInvalidated) -> None:  # noqa: ARG002
        self._count.freed.inc(event.bytes)

    def _missed(self, commit: Committed, recorded: Recorded, event: e.PrematureDeletion) -> None:  # noqa: ARG002
        self._count.premature.inc()

    def _mixed(self, commit: Committed, recorded: Recorded, event: e.GenerationsMixed) -> None:  # noqa: ARG002
        self._count.mixed.labels(_FAILED if event.failed else _TOLD).inc()

    def _recovery_opened(self, commit: Committed, recorded: Recorded, event: e.RecoveryOpened) -> None:
        self._count.recoveries.inc()
        _make_room(self._opened_ms)
        self._opened_ms[commit.application, event.recovery] = recorded.time_ms

    def _recovery_closed(self, commit: Committed, recorded: Recorded, event: e.RecoveryClosed) -> None:
        opened_ms = self._opened_ms.pop((commit.application, event.recovery), None)
        if opened_ms is not None:
            self._count.recovery_seconds.observe((recorded.time_ms - opened_ms) / 1000)

    def _recovery_denied(self, commit: Committed, recorded: Recorded, event: e.RecoveryDenied) -> None:  # noqa: ARG002
        self._count.denied.inc()

    def _started(self, commit: Committed, recorded: Recorded, event: e.GenerationStarted) -> None:  # noqa: ARG002
        if event.recovery is not None:
            _make_room(self._again)
            self._again[commit.application, event.shuffle_id] = None

    def _completed(self, commit: Committed, recorded: Recorded, event: e.GenerationCompleted) -> None:  # noqa: ARG002
        if self._again.pop((commit.application, event.shuffle_id), False) is None:
            self._count.recomputed.inc(event.bytes)

    def _lost(self, commit: Committed, recorded: Recorded, event: e.GenerationLost) -> None:  # noqa: ARG002
        self._again.pop((commit.application, event.shuffle_id), None)

    def _application_ended(self, commit: Committed, recorded: Recorded, event: e.ApplicationEnded) -> None:  # noqa: ARG002
        mine = commit.application
        self._opened_ms = {key: opened for key, opened in self._opened_ms.items() if key[0] != mine}
        self._again = {key: None for key in self._again if key[0] != mine}

    def _suspended(self, commit: Committed, recorded: Recorded, event: e.DeletionSuspended) -> None:  # noqa: ARG002
        self._count.suspensions.labels(event.why.value).inc()


class _Counters:
    """What only grows."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._count(registry)
        self._measure(registry)
        self._begin_at_zero()

    def _count(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"{PREFIX}_{name}", text, labels, registry=registry)

        self.expirations = counter("expirations", "Generations that expired.", "cause")
        self.deletions = counter("deletions", "Generations that were deleted, by us or otherwise.", "cause")
        self.freed = counter("freed_bytes", "Bytes that our directives have freed.")
        self.saved = counter("saved_byte_seconds", "Byte-seconds that early deletion has saved, as scrapes saw it.")
        self.premature = counter("premature_deletions", "Deletions that somebody missed.")
        self.mixed = counter("generations_mixed", "Jobs that read two generations of one shuffle.", "outcome")
        self.recoveries = counter("recoveries", "Recoveries that were opened.")
        self.denied = counter("recoveries_denied", "Recoveries that a limit denied.")
        self.recomputed = counter("recomputed_bytes", "Bytes that were written again for a recovery.")
        self.suspensions = counter("suspensions", "Times that deletion suspended itself.", "cause")
        self.conflicts = counter("commit_conflicts", "Commits decided anew because another replica was faster.")
        self.refusals = counter("store_refusals", "Times that the store refused, or said nothing, and was asked again.")

    def _measure(self, registry: CollectorRegistry) -> None:
        def histogram(name: str, text: str, bounds: tuple[float, ...]) -> Histogram:
            return Histogram(f"{PREFIX}_{name}", text, registry=registry, buckets=bounds)

        self.expiry_to_deletion = histogram(
            "expiry_to_deletion_seconds", "From expiry to deletion by a policy.", _DELAYS
        )
        self.recovery_seconds = histogram(
            "recovery_seconds", "From a recovery's opening until all is written again.", _RECOVERIES
        )
        self.commit_seconds = histogram("commit_seconds", "From a commit's first try to the store's answer.", _SECONDS)
        self.commit_requests = histogram("commit_requests", "Batches of requests: how many one commit answers.", _SIZES)
        self.commit_events = histogram("commit_events", "Events of one commit.", _SIZES)

    def _begin_at_zero(self) -> None:
        """Every cause is told from the beginning: a first one is an increase then."""
        told: tuple[tuple[Counter, type[Enum]], ...] = (
            (self.expirations, Expiry),
            (self.deletions, Deletion),
            (self.suspensions, Suspension),
        )
        for counter, words in told:
            for word in words:
                counter.labels(word.value)
        for outcome in (_TOLD, _FAILED):
            self.mixed.labels(outcome)


class _Gauges:
    """What stands now, looked up when it is asked for."""

    def __init__(
        self, standing: Callable[[], Standing], applications: int, count: _Counters, clock_s: Callable[[], float]
    ) -> None:
        self._standing = standing
        self._applications = applications
        self._saved = count.saved
        self._clock_s = clock_s
        self._seen: tuple[float, int] | None = None

    def describe(self) -> Iterator[Metric]:
        """No metrics, so that the registry looks nothing up before the first question."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """All gauges, as of now."""
        now = self._standing()
        states = list(now.held.values())
        spared = sum(map(spared_bytes, states))
        self._integrate(spared)
        yield _gauge("sessions", "Sessions of drivers that this replica holds.", now.sessions)
        yield _gauge("applications_loaded", "Applications in this replica's memory.", now.applications)
        yield _gauge("running_application_count", "Applications whose session this replica holds.", len(states))
        there = sum(len(state.generations) for state in states)
        yield _gauge("registered_shuffle_count", "Generations that are not gone.", there)
        yield _sizes(states)
        yield _gauge("spared_bytes", "Bytes deleted early that Spark would still hold.", spared)
        if self._applications:
            yield from _heaviest(now, self._applications)

    def _integrate(self, spared: int) -> None:
        """Byte-seconds between two looks: the time, by what both have seen on average."""
        at = self._clock_s()
        if self._seen is not None:
            self._saved.inc((at - self._seen[0]) * (spared + self._seen[1]) / 2)
        self._seen = at, spared


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{PREFIX}_{name}", text, value=value)


def _sizes(states: list[State]) -> Metric:
    """Bytes by the life of their generation: every life, so that none comes and goes."""
    sizes: dict[Life, int] = dict.fromkeys(_HOLDING, 0)
    for state in states:
        for generation in state.generations.values():
            sizes[generation.life] = sizes.get(generation.life, 0) + generation.bytes
    told = GaugeMetricFamily(f"{PREFIX}_active_shuffle_size_bytes", "Bytes that generations hold.", labels=["life"])
    for life, size in sizes.items():
        told.add_metric([life.value], size)
    return told


def _heaviest(now: Standing, most: int) -> Iterator[Metric]:
    weights = {application: held_bytes(state) for application, state in now.held.items()}
    chosen = sorted(weights, key=lambda application: (-weights[application], application))[:most]
    name, text = f"{PREFIX}_application_shuffle_size_bytes", "Bytes of the heaviest applications."
    held = GaugeMetricFamily(name, text, labels=["application", "name"])
    for application in chosen:
        held.add_metric([application, now.held[application].meta.driver.name], weights[application])
    yield held


def held_bytes(state: State) -> int:
    """Bytes of all that is not gone."""
    return sum(generation.bytes for generation in state.generations.values())


def spared_bytes(state: State) -> int:
    """Bytes of app shuffles that a policy deleted, that were not written again, and that Spark has not let go."""
    spared = (s.bytes for s in state.shuffles.values() if s.fate is Life.DELETED and s.cause is Deletion.POLICY)
    return sum(spared)
