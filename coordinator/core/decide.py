"""``decide(state, command) -> events | rejection``: the one place where anything is decided.

Responsible for sending each command to its rule, for numbering and repeats, and for what a commit records about the
requests that it answers. Refuses to know what time it is and where the log goes. Invariant: equal states and equal
commands give equal events; a rejection changes nothing.

A commit is made of many requests on one ``Desk``::

    desk = Desk.over(state, now_ms)
    answers = answer_all(desk, requests)      # decisions see one another
    close_commit(desk)                        # what was answered, as one event a client
    ...                                       # append desk.log; then settle(desk.state, state)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from coordinator.core import answers, directives, gaps, looks, missing, readers, scheduler, writers
from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.desk import MOVES, Desk
from coordinator.core.ids import NO_SHUFFLE, AppShuffle, ClientId, within
from coordinator.core.rejections import (
    Accepted,
    AlreadyConfirmed,
    Answer,
    NotReady,
    Ready,
    Reason,
    Recover,
    Rejection,
)
from coordinator.core.state import Client, State
from coordinator.core.sweep import react
from coordinator.core.tally import Tally
from coordinator.core.values import CLIENT_IDLE_MS, UNCONFIRMED, Ending


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
    refusal = _not_decidable(desk.state, command)
    return refusal if refusal is not None else _RULES[type(command)](desk, command)


def tick(desk: Desk) -> None:
    """Whatever is due by now is due."""
    carry_out(desk, c.Tick())


# --- many requests, one commit ----------------------------------------------------------------------------------------


def answer_all(desk: Desk, requests: Sequence[c.Request]) -> list[Answer]:
    """Answers requests in order; each sees what the ones before it decided."""
    return [answer(desk, request) for request in requests]


def answer(desk: Desk, request: c.Request) -> Answer:
    """Answers one request, once: a repeat of an answered number changes nothing."""
    if request.number == 0:  # not numbered: the asker does not want repeats noticed
        return carry_out(desk, request.command)
    known = desk.tallies.get(request.client)
    tally = known if known is not None and not known.is_stranger else _open_tally(desk, request)
    if isinstance(tally, Rejection):
        return tally
    if request.number > tally.highest:
        return _answer_new(desk, request, tally)
    if request.number <= tally.confirmed:
        return AlreadyConfirmed(request.number, tally.confirmed)
    if within(tally.spans(), request.number):
        return _refuse_again(desk, request) if tally.has_refused(request.number) else _answer_again(desk, request)
    return _answer_new(desk, request, tally)


def refuse(desk: Desk, request: c.Request, refusal: Rejection) -> Rejection:
    """Answers a request without deciding it: nothing follows from it, and sent again it is looked at anew."""
    tally = _open_tally(desk, request) if request.number else refusal
    if isinstance(tally, Rejection):
        return tally
    desk.turn_page()
    tally.confirm(request.confirmed)
    if request.number > tally.confirmed and not within(tally.spans(), request.number):
        tally.count(_withheld(refusal, request.command))
    return refusal


def _open_tally(desk: Desk, request: c.Request) -> Tally | Rejection:
    """What this commit counts for the client. A stranger may introduce itself, and asks nothing else before."""
    client, known = request.client, desk.tallies.get(request.client)
    if client in desk.state.clients or _introduces(request):
        return known or desk.open_tally(desk.state.clients.get(client) or Client(client))
    return Rejection(
        Reason.FAILED_PRECONDITION,
        f"client {client} is not registered in application {desk.state.meta.application}",
        "a client that has registered and was not idle for long",
        "Register the client anew (RegisterClient) and begin again at number 1.",
    )


def _introduces(request: c.Request) -> bool:
    """Whether it is what a client may ask that is not registered: nothing is carried out of whom no number is kept."""
    command = request.command
    names_itself = isinstance(command, c.RegisterClient) and command.client == request.client
    return names_itself or isinstance(command, c.RegisterApplication)


def _answer_new(desk: Desk, request: c.Request, tally: Tally) -> Answer:
    if request.confirmed > tally.confirmed:
        tally.confirm(request.confirmed)
    if tally.unconfirmed >= UNCONFIRMED:
        return _hold_back(request, tally)
    remembered = desk.remembered(request.command)
    if remembered is not None:
        tally.repeat(request.number, _withheld(remembered, request.command))
        return remembered
    before, command = len(desk.log), request.command
    given = carry_out(desk, command)
    note = tally.note_refused if _is_final(given, command) else tally.note
    note(request.number, _withheld(given, command))
    is_lasting = len(desk.log) == before or isinstance(given, Recover)
    if is_lasting and isinstance(command, (c.GetShuffleId, c.ReportMissing)):
        desk.remember(command, given)
        if isinstance(given, Ready):
            tally.repeats += 1
    return given


def _hold_back(request: c.Request, tally: Tally) -> Rejection:
    """It is too far ahead of its confirmations: counted as any refusal, and no answer of this number's."""
    refusal = Rejection(
        Reason.FAILED_PRECONDITION,
        f"client {request.client} has {tally.unconfirmed} unconfirmed answers",
        f"at most {UNCONFIRMED}",
        "Confirm the answers that have arrived, then send this number again.",
    )
    tally.count(_withheld(refusal, request.command))
    return refusal


def _answer_again(desk: Desk, request: c.Request) -> Answer:
    """The first answer where it is still true, else the present truth; a fact was recorded the first time."""
    if type(request.command) in _FACTS or isinstance(request.command, c.EndApplication):
        return Accepted()
    if isinstance(request.command, c.ReportMissing):
        return _not_decidable(desk.state, request.command) or missing.tell_again(desk, request.command)
    probe = desk.probe()
    truth = carry_out(probe, request.command)
    if not isinstance(request.command, c.GetShuffleId):
        return truth if isinstance(truth, Rejection) else Accepted()
    if not probe.log or isinstance(truth, Rejection):
        return truth  # else somebody reads or writes from here on, also where a fence's outcome decides what
    if isinstance(truth, Recover) and all(type(r.event) is e.RecoveryJoined for r in probe.log):
        return truth
    return carry_out(desk, request.command)


def _is_final(given: Answer, command: c.Command) -> bool:
    """Whether a refusal stands for good. What was only asked is asked anew, and gets the truth of the moment."""
    return isinstance(given, Rejection) and not isinstance(command, (c.GetShuffleId, c.ReportMissing))


def _refuse_again(desk: Desk, request: c.Request) -> Rejection:
    """The first answer where it is still true; what could be granted by now needs a number that nobody has refused."""
    truth = carry_out(desk.probe(), request.command)
    if isinstance(truth, Rejection):
        return truth
    app_shuffle = getattr(request.command, "app_shuffle", None)
    return Rejection(
        Reason.FAILED_PRECONDITION if app_shuffle is not None else Reason.INVALID,
        f"request {request.number} of {request.client} was refused when it came first, and nothing followed from it",
        "a number that was not refused, for what may be possible by now",
        "Send it under a new number.",
        app_shuffle,  # a failed precondition without one is about the client, which is as good as before
    )


def _withheld(given: Answer, command: c.Command) -> tuple[str, AppShuffle] | None:
    """Under which word and shuffle an answer is counted that did not give what was asked for; None: it did."""
    if type(given) is Ready or type(given) is Accepted:
        return None
    if isinstance(given, (NotReady, Recover)):
        shuffle = getattr(command, "app_shuffle", NO_SHUFFLE)
        return ("not ready" if isinstance(given, NotReady) else "recover"), shuffle
    if isinstance(given, Rejection):
        return given.reason.value, given.app_shuffle if given.app_shuffle is not None else NO_SHUFFLE
    return None


def close_commit(desk: Desk) -> None:
    """Records what was answered to whom in this commit, one event a client."""
    for tally in desk.tallies.values():
        desk.turn_page()
        if tally.changed and tally.client in desk.state.clients:
            desk.emit(tally.event())


# --- the rules of single commands -------------------------------------------------------------------------------------


def _not_decidable(state: State, command: c.Command) -> Rejection | None:
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
        f"application {state.meta.application} {'was' if ending is Ending.LOST else 'has'} {ending.value}",
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
