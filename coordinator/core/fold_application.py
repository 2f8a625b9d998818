"""What events about the application and those who speak for it mean.

Responsible for counters, policies, pins, gaps, clients and roots. Refuses to judge (``evolve``). Invariant: nothing
here touches a generation, but for the end of the application, which leaves nobody reading or writing, and for the end
of a gap, which tells whose what was found is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coordinator.core import cuts, disks
from coordinator.core import events as e
from coordinator.core.ids import Sequence, Span, add_span
from coordinator.core.making import replace
from coordinator.core.state import DENIED, Client, Disk, Gap, Root, State, edit, given_to


def _registered(state: State, at: e.Recorded, event: e.ApplicationRegistered) -> None:
    state.meta = replace(
        state.meta,
        application=event.application,
        driver=event.driver,
        capabilities=event.capabilities,
        policy=event.policy,
        settings=event.settings,
        token_hash=event.token_hash,
        registered_ms=at.time_ms,
    )


def _ended(state: State, at: e.Recorded, event: e.ApplicationEnded) -> None:
    state.meta = replace(state.meta, ending=event.ending)
    for table in (state.jobs, state.attempts, state.executions, state.directives, state.roots):
        table.clear()
    for shuffle_id, generation in list(state.generations.items()):
        idle = replace(generation, readers=frozenset(), writers=frozenset(), retrying=frozenset(), directive=None)
        state.generations[shuffle_id] = idle


def _client_registered(state: State, at: e.Recorded, event: e.ClientRegistered) -> None:
    state.clients[event.client] = Client(event.client, seen_ms=at.time_ms)


def _client_dropped(state: State, at: e.Recorded, event: e.ClientDropped) -> None:
    state.clients.pop(event.client, None)


def _requests_answered(state: State, at: e.Recorded, event: e.RequestsAnswered) -> None:
    client = state.clients.get(event.client) or Client(event.client)
    confirmed = max(client.confirmed, event.confirmed)
    answered = _spans_above(confirmed, client.answered, event.answered)
    refused = _spans_above(confirmed, client.refused, event.refused_numbers)
    state.clients[event.client] = Client(event.client, confirmed, answered, at.time_ms, refused)


def _spans_above(mark: int, known: tuple[Span, ...], added: tuple[Span, ...]) -> tuple[Span, ...]:
    for span in added:
        known = add_span(known, span)
    return tuple(Span(max(s.first, mark + 1), s.last) for s in known if s.last > mark)


def _policy_changed(state: State, at: e.Recorded, event: e.PolicyChanged) -> None:
    if event.group:
        state.groups[event.group] = event.policy
    else:
        state.meta = replace(state.meta, policy=event.policy)


def _pin_set(state: State, at: e.Recorded, event: e.PinSet) -> None:
    edit(state.shuffles, event.app_shuffle, pin=event.why)


def _pin_removed(state: State, at: e.Recorded, event: e.PinRemoved) -> None:
    edit(state.shuffles, event.app_shuffle, pin=None)


def _suspended(state: State, at: e.Recorded, event: e.DeletionSuspended) -> None:
    state.meta = replace(state.meta, suspended=event.why)


def _resumed(state: State, at: e.Recorded, event: e.DeletionResumed) -> None:
    state.meta = replace(state.meta, suspended=None, premature=0)
    if event.recoveries_anew:
        _count_recoveries_anew(state)


def _count_recoveries_anew(state: State) -> None:
    """The bounds are as far away as at the beginning, and nothing is denied."""
    state.meta = replace(state.meta, recoveries=0)
    for app_shuffle in [key for key, shuffle in state.shuffles.items() if shuffle.recoveries]:
        edit(state.shuffles, app_shuffle, recoveries=0)
    for missing in [key for key, recovery in state.recovered.items() if recovery == DENIED]:
        state.recovered.pop(missing)


def _gap_recorded(state: State, at: e.Recorded, event: e.GapRecorded) -> None:
    """A look that began before facts were missed lets nothing go, ended or not; the roots that it found count."""
    live = frozenset(event.until)
    if event.resynced:
        _give_what_was_found(state)
    gap = Gap(live, event.resynced) if live or not event.resynced else None
    state.meta = replace(state.meta, gap=gap, look_sequence=Sequence(0), seen_sequence=Sequence(0))


def _give_what_was_found(state: State) -> None:
    """Nobody has told who wrote it: the first live job that lists it might have, so that one's switches count."""
    for _, job in sorted(state.jobs.items()):
        listed = cuts.listed_by(state, (job,))
        for shuffle_id, generation in list(state.generations.items()):
            if generation.job is None and generation.app_shuffle in listed:
                state.generations[shuffle_id] = given_to(generation, job)


def _sweep_changed(state: State, at: e.Recorded, event: e.SweepChanged) -> None:
    state.meta = replace(state.meta, sweeping=event.pending)


def _look_began(state: State, at: e.Recorded, event: e.LookBegan) -> None:
    state.meta = replace(state.meta, look=event.look, look_sequence=at.sequence)


def _cut_reported(state: State, at: e.Recorded, event: e.CutReported) -> None:
    known = state.roots.get(event.root)
    needs = ((known.needs if known else frozenset()) | frozenset(event.added)) - frozenset(event.removed)
    state.roots[event.root] = Root(event.root, event.kind, needs, event.why)


def _root_gone(state: State, at: e.Recorded, event: e.RootGone) -> None:
    state.roots.pop(event.root, None)


def _look_ended(state: State, at: e.Recorded, event: e.LookEnded) -> None:
    if state.meta.look == event.look:
        state.meta = replace(state.meta, seen_sequence=state.meta.look_sequence)


def _disk_reported(state: State, at: e.Recorded, event: e.DiskReported) -> None:
    state.meta = disks.reported(state.meta, Disk(event.disk, event.used_bytes, event.free_bytes))


APPLY: dict[type, Callable[[State, e.Recorded, Any], None]] = {
    e.ApplicationRegistered: _registered,
    e.ApplicationEnded: _ended,
    e.ClientRegistered: _client_registered,
    e.ClientDropped: _client_dropped,
    e.RequestsAnswered: _requests_answered,
    e.PolicyChanged: _policy_changed,
    e.PinSet: _pin_set,
    e.PinRemoved: _pin_removed,
    e.DeletionSuspended: _suspended,
    e.DeletionResumed: _resumed,
    e.GapRecorded: _gap_recorded,
    e.SweepChanged: _sweep_changed,
    e.LookBegan: _look_began,
    e.CutReported: _cut_reported,
    e.RootGone: _root_gone,
    e.LookEnded: _look_ended,
    e.DiskReported: _disk_reported,
}
