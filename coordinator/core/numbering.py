"""Requests by their numbers: each is carried out once, however often its client sends it.

Responsible for telling a new number from a repeat, for what a repeat is told, and for what a commit records about the
requests that it answers. Refuses to know the rules of commands (``decide``). Invariant: a number that was carried out
is never carried out again, whichever replica it comes to.

A client numbers its requests from 1, one after the other, and may send one again on another connection or to another
replica, in any order. So a number is in one of four states::

    confirmed    the client has said that it has this answer: it is told so, and nothing else
    answered     it was carried out: a repeat gets the first answer where that still holds, else what is so now
    refused      it was answered, and nothing followed from it: a repeat is refused again
    new          it is decided

A commit is made of many requests on one ``Desk``::

    desk = Desk.over(state, now_ms)
    answers = answer_all(desk, requests)      # decisions see one another
    close_commit(desk)                        # what was answered, as one event a client
    ...                                       # append desk.log; then settle(desk.state, state)
"""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core import missing
from coordinator.core.decide import carry_out, is_fact, why_not_decidable
from coordinator.core.desk import Desk
from coordinator.core.ids import NO_SHUFFLE, AppShuffle, within
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
from coordinator.core.state import Client
from coordinator.core.tally import Tally
from coordinator.core.values import UNCONFIRMED


def answer_all(desk: Desk, requests: Sequence[c.Request]) -> list[Answer]:
    """Answers requests in order; each sees what the ones before it decided."""
    return [answer(desk, request) for request in requests]


def answer(desk: Desk, request: c.Request) -> Answer:
    """Answers one request, once: a repeat of an answered number changes nothing.

    Number 0 is no number: it is carried out each time, and nothing is counted for its client.
    """
    if request.number == 0:
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
    """Answers a request with this refusal, without deciding it.

    The number stays free: sent again, the request is decided as if it came for the first time.
    """
    tally = _open_tally(desk, request) if request.number else refusal
    if isinstance(tally, Rejection):
        return tally
    desk.turn_page()
    tally.confirm(request.confirmed)
    if request.number > tally.confirmed and not within(tally.spans(), request.number):
        tally.count(_withheld(refusal, request.command))
    return refusal


def close_commit(desk: Desk) -> None:
    """Records what was answered to whom in this commit, one event a client."""
    for tally in desk.tallies.values():
        desk.turn_page()
        if tally.changed and tally.client in desk.state.clients:
            desk.emit(tally.event())


# --- who asks ---------------------------------------------------------------------------------------------------------


def _open_tally(desk: Desk, request: c.Request) -> Tally | Rejection:
    """What this commit counts for the client; a refusal where it is not registered and does not register now."""
    client, known = request.client, desk.tallies.get(request.client)
    if client in desk.state.clients or _registers_itself(request):
        return known or desk.open_tally(desk.state.clients.get(client) or Client(client))
    return Rejection(
        Reason.FAILED_PRECONDITION,
        f"client {client} is not registered in application {desk.state.meta.application}",
        "a client that has registered and was not idle for long",
        "Register the client anew (RegisterClient) and begin again at number 1.",
    )


def _registers_itself(request: c.Request) -> bool:
    """Whether it is one of the two requests that a client which is not registered may send."""
    command = request.command
    names_itself = isinstance(command, c.RegisterClient) and command.client == request.client
    return names_itself or isinstance(command, c.RegisterApplication)


# --- a new number -----------------------------------------------------------------------------------------------------


def _answer_new(desk: Desk, request: c.Request, tally: Tally) -> Answer:
    """Decides it, unless the same question was answered in this commit and nothing has changed that answer since."""
    if request.confirmed > tally.confirmed:
        tally.confirm(request.confirmed)
    if tally.unconfirmed >= UNCONFIRMED:
        return _hold_back(request, tally)
    remembered = desk.remembered(request.command)
    if remembered is None:
        return _carry_out_counted(desk, request, tally)
    tally.repeat(request.number, _withheld(remembered, request.command))
    return remembered


def _carry_out_counted(desk: Desk, request: c.Request, tally: Tally) -> Answer:
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
    """The client is too far ahead of its confirmations: the refusal is counted, and the number stays free."""
    refusal = Rejection(
        Reason.FAILED_PRECONDITION,
        f"client {request.client} has {tally.unconfirmed} unconfirmed answers",
        f"at most {UNCONFIRMED}",
        "Confirm the answers that have arrived, then send this number again.",
    )
    tally.count(_withheld(refusal, request.command))
    return refusal


def _is_final(given: Answer, command: c.Command) -> bool:
    """Whether the refusal counts for every repeat of the number; a question is decided anew each time."""
    return isinstance(given, Rejection) and not isinstance(command, (c.GetShuffleId, c.ReportMissing))


# --- a number that comes again ----------------------------------------------------------------------------------------


def _answer_again(desk: Desk, request: c.Request) -> Answer:
    """The first answer where it still holds, else what is so now. What was recorded the first time is not again."""
    command = request.command
    if is_fact(command) or isinstance(command, c.EndApplication):
        return Accepted()
    if isinstance(command, c.ReportMissing):
        return why_not_decidable(desk.state, command) or missing.tell_again(desk, command)
    if isinstance(command, c.GetShuffleId):
        return _ask_again(desk, command)
    now = carry_out(desk.probe(), command)
    return now if isinstance(now, Rejection) else Accepted()


def _ask_again(desk: Desk, command: c.GetShuffleId) -> Answer:
    """Asks on a probe first. What that would record is recorded only where the asker reads or writes from here on."""
    probe = desk.probe()
    now = carry_out(probe, command)
    joins_only = isinstance(now, Recover) and all(type(r.event) is e.RecoveryJoined for r in probe.log)
    if not probe.log or isinstance(now, Rejection) or joins_only:
        return now
    return carry_out(desk, command)


def _refuse_again(desk: Desk, request: c.Request) -> Rejection:
    """The first refusal where it still holds. What would be granted by now needs a number that was not refused."""
    now = carry_out(desk.probe(), request.command)
    if isinstance(now, Rejection):
        return now
    app_shuffle = getattr(request.command, "app_shuffle", None)
    return Rejection(
        Reason.FAILED_PRECONDITION if app_shuffle is not None else Reason.INVALID,
        f"request {request.number} of {request.client} was refused when it came first, and nothing followed from it",
        "a number that was not refused, for what may be possible by now",
        "Send it under a new number.",
        app_shuffle,  # a failed precondition that names none says that the client itself is at fault, which it is not
    )


# --- what is counted --------------------------------------------------------------------------------------------------


def _withheld(given: Answer, command: c.Command) -> tuple[str, AppShuffle] | None:
    """Under which word and app shuffle an answer is counted that did not give what was asked for; None: it did."""
    if type(given) is Ready or type(given) is Accepted:
        return None
    if isinstance(given, (NotReady, Recover)):
        shuffle = getattr(command, "app_shuffle", NO_SHUFFLE)
        return ("not ready" if isinstance(given, NotReady) else "recover"), shuffle
    if isinstance(given, Rejection):
        return given.reason.value, given.app_shuffle if given.app_shuffle is not None else NO_SHUFFLE
    return None
