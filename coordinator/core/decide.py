"""``decide(state, command) -> events | rejection``: the one place where anything is decided.

Responsible for sending each command to its rule. Refuses to know what time it is, who asks and how often
(``numbering``), and where the log goes. Invariant: equal states and equal commands give equal events; a rejection
changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from coordinator.core import answers, directives, gaps, looks, missing, readers, scheduler, writers
from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.desk import MOVES, Desk
from coordinator.core.ids import ClientId
from coordinator.core.rejections import Accepted, Answer, Reason, Rejection
from coordinator.core.state import State
from coordinator.core.sweep import react
from coordinator.core.values import CLIENT_IDLE_MS, Ending


@dataclass(frozen=True, slots=True)
class Decision:
    """What follows from one command: events in order, and what its asker is told."""

    events: tuple[e.Event, ...]
    answer: Answer


def decide(state: State, command: c.Command, now_ms: int) -> Decision:
    """What follows from one command. Pure; ``now_ms`` is milliseconds since the epoch."""
    desk = Desk.over(state, now_ms)
    answer = carry_out(desk, command)
    return Decision(tuple(recorded.event for recorded in desk.log), answer)


def carry_out(desk: Desk, command: c.Command) -> Answer:
    """Decides one command on a desk. A rejection leaves the desk as it was."""
    desk.turn_page()
    refusal = why_not_decidable(desk.state, command)
    return refusal if refusal is not None else _RULES[type(command)](desk, command)


def tick(desk: Desk) -> None:
    """Does whatever is due by now: expiries whose grace is over, fences whose pause is over, the rest of a sweep."""
    carry_out(desk, c.Tick())


def is_fact(command: c.Command) -> bool:
    """Whether the command reports what has happened: always accepted, and never taken back."""
    return type(command) in _FACTS


# --- what cannot be decided -------------------------------------------------------------------------------------------


def why_not_decidable(state: State, command: c.Command) -> Rejection | None:
    """What cannot be decided at all: before registration, twice, after the end, or more than a fact may change."""
    registering = isinstance(command, c.RegisterApplication)
    if state.meta.application is None and not registering:
        return _UNREGISTERED
    if registering and state.meta.application is not None:
        return _refuse_registration(state, command)
    if state.meta.ending is not None and not isinstance(command, (c.Tick, c.EndApplication, c.DropClient)):
        return _refuse_after_end(state, state.meta.ending)
    if isinstance(command, c.Resync) and gaps.is_too_much(state, command):
        return _refuse_resync(command)
    return None


_UNREGISTERED = Rejection(
    Reason.NOT_FOUND,
    "the application is not registered",
    "RegisterApplication as the first request",
    "Register it, then send this again.",
)


def _refuse_after_end(state: State, ending: Ending) -> Rejection:
    return Rejection(
        Reason.FAILED_PRECONDITION,
        f"application {state.meta.application} {ending.told}",
        "an application that runs",
        "Its log can be read; a driver that was silent for too long registers as a new application.",
    )


def _refuse_resync(command: c.Resync) -> Rejection:
    return Rejection(
        Reason.INVALID,
        f"a resync of {len(command.outputs)} outputs, of which more than {MOVES} differ from what was told before",
        f"at most {MOVES} that differ",
        "Nothing was done. Tell all outputs before it, behind a ReportGap, 20 at a time; then send it anew.",
    )


def _refuse_registration(state: State, command: Any) -> Rejection | None:
    if command.application == state.meta.application and command.token_hash == state.meta.token_hash:
        return None
    return Rejection(
        Reason.ALREADY_EXISTS,
        f"application {state.meta.application} is registered with another token",
        "a new UUID for each run of a driver",
        "Make a new application id.",
    )


# --- the rules of single commands -------------------------------------------------------------------------------------


def _register(desk: Desk, command: c.RegisterApplication) -> Answer:
    if desk.state.meta.application is None:
        desk.emit(
            e.ApplicationRegistered(
                command.application,
                command.driver,
                command.capabilities,
                command.policy,
                command.settings,
                command.token_hash,
            )
        )
    return Accepted()


def _end(desk: Desk, command: c.EndApplication) -> Answer:
    if desk.state.meta.ending is None:
        desk.emit(e.ApplicationEnded(command.ending))
    react(desk)
    return Accepted()


def _register_client(desk: Desk, command: c.RegisterClient) -> Answer:
    if command.client not in desk.state.clients:
        _drop_idle(desk)
        desk.emit(e.ClientRegistered(command.client))
    return Accepted()


def _drop_idle(desk: Desk) -> None:
    for client in idle_clients(desk)[:MOVES]:
        desk.emit(e.ClientDropped(client))


def idle_clients(desk: Desk) -> list[ClientId]:
    """Who makes room for the next client that registers. Who asks in this commit is not idle."""
    quiet = [client for client in desk.state.clients.values() if desk.now_ms - client.seen_ms > CLIENT_IDLE_MS]
    return sorted(client.client for client in quiet if client.client not in desk.tallies)


def _drop_client(desk: Desk, command: c.DropClient) -> Answer:
    if command.client in desk.state.clients:
        desk.emit(e.ClientDropped(command.client))
        desk.tallies.pop(command.client, None)  # what it asks from here on is a stranger's
    return Accepted()


def _ask(desk: Desk, command: c.GetShuffleId) -> Answer:
    before = len(desk.log)
    given = _name_generation(desk, command)
    if len(desk.log) > before:
        react(desk)
    return given


def _name_generation(desk: Desk, command: c.GetShuffleId) -> Answer:
    if command.write:
        return writers.ask_to_write(desk, command.app_shuffle, command.stage, missing_tasks=None)
    return readers.ask_to_read(desk, command.app_shuffle, command.stage)


def _report_missing(desk: Desk, command: c.ReportMissing) -> Answer:
    given = missing.report_missing(desk, command)
    react(desk)
    return given


def _set_policy(desk: Desk, command: c.SetPolicy) -> Answer:
    known = desk.state.groups.get(command.group) if command.group else desk.state.meta.policy
    if known != command.policy:
        desk.emit(e.PolicyChanged(command.policy, command.group, command.by))
    react(desk)
    return Accepted()


def _set_pin(desk: Desk, command: c.SetPin) -> Answer:
    shuffle = desk.state.shuffles.get(command.app_shuffle)
    if shuffle is None:
        return answers.unknown(desk.state, command.app_shuffle)
    if shuffle.pin != command.why:
        desk.emit(e.PinSet(command.app_shuffle, command.why))
    react(desk)
    return Accepted()


def _remove_pin(desk: Desk, command: c.RemovePin) -> Answer:
    shuffle = desk.state.shuffles.get(command.app_shuffle)
    if shuffle is None:
        return answers.unknown(desk.state, command.app_shuffle)
    if shuffle.pin is not None:
        desk.emit(e.PinRemoved(command.app_shuffle))
    react(desk)
    return Accepted()


def _resume(desk: Desk, command: c.ResumeDeletion) -> Answer:
    if desk.state.meta.suspended is not None:
        desk.emit(e.DeletionResumed(command.by, recoveries_anew=True))
    react(desk)
    return Accepted()


def _tick(desk: Desk, command: c.Tick) -> Answer:
    desk.concerns_all = True
    react(desk)
    return Accepted()


def _fact(record: Callable[[Desk, Any], None]) -> Callable[[Desk, Any], Answer]:
    """A reported fact is always accepted; then the state is brought to rest."""

    def rule(desk: Desk, command: Any) -> Answer:
        record(desk, command)
        react(desk)
        return Accepted()

    return rule


_FACTS: dict[type, Callable[[Desk, Any], None]] = {
    c.ReportJobStarted: scheduler.job_started,
    c.ReportLineage: scheduler.lineage_told,
    c.ReportJobEnded: scheduler.job_ended,
    c.ReportStageSubmitted: scheduler.stage_submitted,
    c.ReportStageCompleted: scheduler.stage_completed,
    c.ReportOutputs: scheduler.outputs,
    c.ReportExecutorLost: scheduler.executor_lost,
    c.ReportCachedBlocksLost: scheduler.cached_blocks_lost,
    c.ReportDisk: scheduler.disk,
    c.ReportGenerationsMixed: scheduler.generations_mixed,
    c.ReportResultsMayDiffer: scheduler.results_may_differ,
    c.ReportKept: scheduler.kept,
    c.ReportExecutionStarted: scheduler.execution_started,
    c.ReportExecutionEnded: scheduler.execution_ended,
    c.ReportShuffleCleaned: scheduler.shuffle_cleaned,
    c.ReportGap: gaps.gap,
    c.Resync: gaps.resync,
    c.BeginLook: looks.begin,
    c.ReportCut: looks.report,
    c.ReportOutcome: directives.report_outcome,
}

_RULES: dict[type, Callable[[Desk, Any], Answer]] = {
    c.RegisterApplication: _register,
    c.EndApplication: _end,
    c.RegisterClient: _register_client,
    c.DropClient: _drop_client,
    c.GetShuffleId: _ask,
    c.ReportMissing: _report_missing,
    c.SetPolicy: _set_policy,
    c.SetPin: _set_pin,
    c.RemovePin: _remove_pin,
    c.ResumeDeletion: _resume,
    c.Tick: _tick,
    **{kind: _fact(record) for kind, record in _FACTS.items()},
}
