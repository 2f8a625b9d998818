"""Verbs that change something: `pin`, `unpin`, `policy`, `resume`.

Responsible for turning a wish into a command, and for saying what became of it. Refuses to decide: the coordinator
does. Invariant: what is answered here is in the application's log.
"""

from __future__ import annotations

import getpass
from collections.abc import Collection
from typing import Annotated, Any

import typer

from coordinator.cli import output
from coordinator.cli.exits import Exit, failure, refusal
from coordinator.cli.finding import app_shuffle, check_said, find, no_shuffle
from coordinator.cli.here import Here
from coordinator.cli.looking import Application
from coordinator.cli.rows import application_row, shuffle_row
from coordinator.cli.serving import limits_of
from coordinator.cli.sources.api import Source
from coordinator.cli.verb import CHANGING, verb
from coordinator.core.commands import Command, RemovePin, ResumeDeletion, SetPin, SetPolicy
from coordinator.core.ids import ApplicationId, AppShuffle
from coordinator.core.lifecycle import Life
from coordinator.core.rejections import Rejection
from coordinator.core.values import Policy, Rule
from listener_bridge import durations
from listener_bridge.settings import DEFAULT_GRACE_MS, DEFAULT_RULE
from replay.units import few

AppShuffleName = Annotated[
    str | None, typer.Argument(metavar="SHUFFLE", help="An app shuffle, as `shufflectl shuffles` lists.")
]
#: Policies that apply a rule which is named beside them.
RULED = ("observe", "delayed")
#: What a pin comes too late for.
_GONE = frozenset({Life.FENCED.value, Life.DELETED.value, Life.LOST.value})


def pin(
    here: Here,
    app: Application,
    shuffle: AppShuffleName = None,
    why: Annotated[str, typer.Option("--why", help="What people read in `explain`.")] = "",
) -> Any:
    """Keeps an app shuffle, whatever the policy says."""
    _check_text("--why", why, limits_of(here.config).text_bytes)
    number = _which("pin", app, shuffle)
    return _pin(here, app, SetPin(number, why))


def unpin(here: Here, app: Application, shuffle: AppShuffleName = None) -> Any:
    """Lets the policy decide again."""
    return _unpin(here, app, RemovePin(_which("unpin", app, shuffle)))


def _which(verb: str, app: str, shuffle: str | None) -> AppShuffle:
    if shuffle is None:
        raise no_shuffle(verb, app)
    return app_shuffle(shuffle)


def policy(
    here: Here,
    app: Application,
    chosen: Annotated[
        str, typer.Argument(metavar="POLICY", help="observe, reachable, frontier, eager, history, pressure or delayed.")
    ],
    group: Annotated[str | None, typer.Option("--group", help="Only for jobs of this group.")] = None,
    grace: Annotated[str | None, typer.Option("--grace", help="Between expiry and fence, as 30s or 5min.")] = None,
    rule: Annotated[
        str | None, typer.Option("--rule", help="What `observe` observes and `delayed` delays: reachable, unless told.")
    ] = None,
) -> Any:
    """Sets the policy of a running application, or of one job group."""
    check_said({"--group": group, "--grace": grace, "--rule": rule})
    _check_text("--group", group or "", limits_of(here.config).text_bytes)
    if rule and chosen not in RULED:
        told = f"the policy is {chosen}, which is a rule itself, and --rule is {rule}"
        raise failure(Exit.USAGE, told, f"--rule with {' or '.join(RULED)} alone", "Leave one out.")
    wished = policy_of(chosen, rule or DEFAULT_RULE, grace or "")
    where = f"job group {group}" if group else "the application"
    return _do(here, app, SetPolicy(wished, group or "", _who()), f"the policy of {where} is {wished.name}")


def resume(here: Here, app: Application) -> Any:
    """Lets deletion go on where it has suspended itself."""
    return _resume(here, app)


async def _resume(here: Here, app: str) -> None:
    async with here.source() as source:
        application = await find(source, app)
        before = application_row(await source.application(application))
        await _carry_out(source, application, ResumeDeletion(_who()))
        why, policy = before["suspended"], before["policy"]
        was = f"deletion goes on, after {why}" if why else "deletion was not suspended: nothing has changed"
        _say(here, application, f"{was}; policy {policy}")


async def _pin(here: Here, app: str, wish: SetPin) -> None:
    async with here.source() as source:
        application = await find(source, app)
        await _carry_out(source, application, wish)
        rows = map(shuffle_row, await source.shuffles(application))
        states = {row["state"] for row in rows if row["app_shuffle"] == wish.app_shuffle}
        gone = f"; its data are gone ({few(states, 3)}): what is written again is kept" if _are_gone(states) else ""
        _say(here, application, f"app shuffle {wish.app_shuffle} is pinned{gone}")


async def _unpin(here: Here, app: str, wish: RemovePin) -> None:
    async with here.source() as source:
        application = await find(source, app)
        was_pinned = wish.app_shuffle in (await source.application(application)).pins
        await _carry_out(source, application, wish)
        became = "is no longer pinned" if was_pinned else "was not pinned: nothing has changed"
        _say(here, application, f"app shuffle {wish.app_shuffle} {became}")


def _are_gone(states: Collection[str]) -> bool:
    return bool(states) and _GONE.issuperset(states)


async def _do(here: Here, app: str, command: Command, done: str) -> None:
    async with here.source() as source:
        application = await find(source, app)
        await _carry_out(source, application, command)
        _say(here, application, done)


async def _carry_out(source: Source, application: ApplicationId, command: Command) -> None:
    answer = await source.command(application, command)
    if isinstance(answer, Rejection):
        raise refusal(answer)


def _say(here: Here, application: ApplicationId, done: str) -> None:
    if here.form == "table":
        output.say(f"{done[0].upper()}{done[1:]} ({application}).")
    else:
        output.data(here.form, {"application": application, "done": done})


def policy_of(chosen: str, rule: str, grace: str) -> Policy:
    """The policy of this name."""
    rules = {known.value: known for known in Rule}
    if chosen not in (*rules, *RULED) or rule not in rules:
        wrong = chosen if rule in rules else rule
        expected = f"observe, delayed, {', '.join(rules)}"
        raise failure(
            Exit.USAGE, f"the policy is {wrong!r}", f"one of {expected}", "docs/lifecycle.md tells what each does."
        )
    wait_ms = _milliseconds(grace) if grace else DEFAULT_GRACE_MS if chosen == "delayed" else 0
    named = rules[rule if chosen in RULED else chosen]
    return Policy(named, observe=chosen == "observe", grace_ms=wait_ms)


def _milliseconds(text: str) -> int:
    try:
        return durations.milliseconds(text)
    except ValueError as error:
        expected = str(error).partition("expected ")[2]
        raise failure(Exit.USAGE, f"the grace is {text!r}", expected, "Correct it.") from error


def _check_text(option: str, text: str, most_bytes: int) -> None:
    """What a log is to hold, as a server takes it. A terminal of another encoding hands over half characters."""
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise failure(Exit.USAGE, f"{option} is {text!r}", "text in UTF-8", "Set the terminal, or write it in ASCII.")
    if (found := len(text.encode())) > most_bytes:
        raise failure(Exit.USAGE, f"{option} has {found:,} bytes", f"at most {most_bytes:,}", "Shorten it.")


def _who() -> str:
    """As the log is to hold it, in UTF-8."""
    try:
        return getpass.getuser().encode("utf-8", "replace").decode("utf-8")
    except (OSError, KeyError):  # no such user in a container
        return "shufflectl"


def register(app: typer.Typer) -> None:
    """Adds the verbs."""
    for one in (pin, unpin, policy, resume):
        verb(app, options=CHANGING)(one)
