"""What a finished application's log must show, whatever its jobs did.

Responsible for: reading a whole log from its store, folding it, and finding what is wrong in it.
Refuses to know: which policy decided, and which jobs ran.
Invariant: everything is concluded from the log alone; a finding names the event that shows it.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TypeGuard, TypeVar

from coordinator.core import events as e
from coordinator.core import invariants
from coordinator.core.evolve import apply
from coordinator.core.ids import ApplicationId, AppShuffle, DirectiveId, ShuffleId
from coordinator.core.state import State, empty
from coordinator.core.values import Deletion
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from state_backend.open import open_backend

E = TypeVar("E")
PAGE = 1_000
CHECKED_EVERY = 40  # steps; and at the end
_MISSING = re.compile(r"Missing an output location for shuffle (\d+) ")


def stored(store: str, application: str) -> list[e.Recorded]:
    """The whole log of an application, read from the store itself."""
    return asyncio.run(_stored(store, ApplicationId(application)))


async def _stored(store: str, application: ApplicationId) -> list[e.Recorded]:
    backend = await open_backend(store)
    log: list[e.Recorded] = []
    try:
        async with Replica(backend, Options(replica="a-reader", reap=False)) as replica:
            while page := await replica.events(application, after=len(log), limit=PAGE):
                log.extend(page)
    finally:
        await backend.close()
    return log


def of(log: Iterable[e.Recorded], kind: type[E]) -> list[E]:
    """The events of one kind, in order."""
    return [recorded.event for recorded in log if isinstance(recorded.event, kind)]


def folded(log: Sequence[e.Recorded]) -> State:
    """The state after the log. On the way, and at the end, all invariants hold."""
    state = empty()
    steps = 0
    for recorded in log:
        if recorded.because == recorded.sequence:  # the step before is over
            steps += 1
            if steps % CHECKED_EVERY == 0:
                assert invariants.check(state) == (), f"before event {recorded.sequence}"
        apply(state, recorded)
    assert invariants.check(state) == (), "at the end"
    return state


def app_shuffles(log: Sequence[e.Recorded]) -> dict[ShuffleId, AppShuffle]:
    """The app shuffle of every generation that ever was."""
    events = (recorded.event for recorded in log)
    return {n.shuffle_id: n.app_shuffle for n in events if isinstance(n, (e.GenerationStarted, e.GenerationAdopted))}


def deletions(log: Sequence[e.Recorded]) -> list[e.GenerationDeleted]:
    """Those that our directives did."""
    return [event for event in of(log, e.GenerationDeleted) if event.cause is Deletion.POLICY]


def wrong(log: Sequence[e.Recorded]) -> list[str]:
    """What must not be in the log of an application that has ended, and is."""
    return [*_numbers(log), *_fences(log), *_recoveries(log), *_successors(log), *_losses(log)]


def _numbers(log: Sequence[e.Recorded]) -> Iterator[str]:
    """5: no gap; 4: shuffle ids increase."""
    if [recorded.sequence for recorded in log] != list(range(1, len(log) + 1)):
        yield "5: the log has a gap"
    begun = list(app_shuffles(log))
    if any(later <= earlier for earlier, later in pairwise(begun)):
        yield "4: shuffle ids do not increase"


def _fences(log: Sequence[e.Recorded]) -> Iterator[str]:
    """9: what is asked for ends: a fence by its outcome or its generation's end; what is fenced is deleted."""
    asked = {event.directive: event.shuffle_id for event in of(log, e.FenceRequested)}
    fenced = {event.shuffle_id: event.directive for event in of(log, e.GenerationFenced)}
    outcomes: Counter[DirectiveId] = Counter(event.directive for event in of(log, e.GenerationFenced))
    outcomes.update(event.directive for event in of(log, e.FenceRefused))
    over = {event.shuffle_id for event in of(log, e.GenerationLost)}
    deleted = {event.shuffle_id for event in of(log, e.GenerationDeleted)}
    for directive, shuffle_id in asked.items():
        if outcomes[directive] > 1:
            yield f"7: fence {directive} of generation {shuffle_id} has {outcomes[directive]} outcomes"
        elif not outcomes[directive] and shuffle_id not in over | deleted:
            yield f"9: fence {directive} of generation {shuffle_id} has no outcome"
    yield from (f"9: generation {fence} is fenced and not deleted" for fence in fenced if fence not in deleted)


def _recoveries(log: Sequence[e.Recorded]) -> Iterator[str]:
    """3: at most one recovery a lost generation."""
    answered: Counter[ShuffleId] = Counter(gone for event in of(log, e.RecoveryOpened) for gone in event.gone)
    answered.update(event.gone for event in of(log, e.RecoveryWidened))
    yield from (f"3: generation {gone} has {count} recoveries" for gone, count in answered.items() if count > 1)


def _successors(log: Sequence[e.Recorded]) -> Iterator[str]:
    """11: whoever writes anew what we deleted carries out a recovery that names it.

    Not of what was never whole: given up half-written, it would have been written in any case.
    """
    known = app_shuffles(log)
    last: dict[AppShuffle, ShuffleId] = {}
    whole: set[ShuffleId] = set()
    gone: set[ShuffleId] = set()
    named: set[ShuffleId] = set()
    for recorded in log:
        event = recorded.event
        if isinstance(event, (e.GenerationFenced, e.GenerationDeleted)):
            gone.add(event.shuffle_id)
        elif isinstance(event, e.GenerationCompleted) or _is_whole(event):
            whole.add(event.shuffle_id)
        elif isinstance(event, e.RecoveryOpened):
            named.update(event.gone)
        elif isinstance(event, e.RecoveryWidened):
            named.add(event.gone)
        elif isinstance(event, e.GenerationStarted):
            before = last.get(known[event.shuffle_id])
            if before in gone & whole - named:
                yield f"11: {event.shuffle_id} follows {before}, which no recovery names ({recorded.sequence})"
        if isinstance(event, (e.GenerationStarted, e.GenerationAdopted)):
            last[event.app_shuffle] = event.shuffle_id


def _is_whole(event: e.Event) -> TypeGuard[e.GenerationAdopted]:
    return isinstance(event, e.GenerationAdopted) and event.available >= event.total


def _losses(log: Sequence[e.Recorded]) -> Iterator[str]:
    """No executor dies in these applications: nobody may meet missing data, and nothing may be lost.

    But a stage that begins to read a cache finds it gone where another thread's `unpersist` comes in between, and with
    it what the cache had let go: a loss that is recovered (scenario 11).
    """
    if of(log, e.ExecutorLost):
        return
    for recorded in log:
        event = recorded.event
        if isinstance(event, e.StageCompleted) and "etch" in event.failure and not _lost_its_cache(log, event):
            yield f"2: stage {event.stage} met missing data ({recorded.sequence}): {event.failure[:200]}"
        elif isinstance(event, (e.OutputsLost, e.GenerationLost, e.DirectiveFailed, e.DeletionSuspended)):
            yield f"unexpected, without a lost executor ({recorded.sequence}): {event}"


def _lost_its_cache(log: Sequence[e.Recorded], failed: e.StageCompleted) -> bool:
    """It was to read a cache, and was no registered reader of the shuffle that it then missed."""
    named = _MISSING.search(failed.failure)
    known = app_shuffles(log)
    registered = {known[event.shuffle_id] for event in of(log, e.ReaderRegistered) if event.reader == failed.stage}
    from_a_cache = any(event.stage == failed.stage and event.cached for event in of(log, e.StageSubmitted))
    return from_a_cache and named is not None and int(named[1]) not in registered
