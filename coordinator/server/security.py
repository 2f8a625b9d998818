"""Who may ask what.

Responsible for telling an application from an administrator by the token that is shown, for what each of them may do,
and for who may register. Refuses to know how tokens are made (`tokens`) and what an answer is. Invariant: a wrong token
learns nothing but that it is wrong; what is refused here says so in a word that the audit counts.

An application's token is its driver's: it may tell and ask everything about that application, but not overrule what
people have decided about it. An administrator's token may ask everything, and decide what people decide; it tells no
facts, since facts are the driver's. Where nobody is named administrator and only this machine reaches the server, a
person plays alone: then the application's token decides too, and lists are open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from coordinator.core import commands as c
from coordinator.core.ids import ApplicationId
from coordinator.core.rejections import Reason
from coordinator.core.state import Meta
from coordinator.runtime.api import Coordinator
from coordinator.server import tokens
from coordinator.server.interfaces import is_local
from coordinator.server.options import ServerOptions
from coordinator.server.statuses import Refused, refuse
from coordinator.wire.bounds import check_name
from coordinator.wire.errors import Malformed

_BEARER = "bearer "

#: What people decide, and a driver does not.
DECISIONS: tuple[type, ...] = (c.SetPolicy, c.SetPin, c.RemovePin, c.ResumeDeletion)
#: What both may.
_EITHERS: tuple[type, ...] = (c.EndApplication,)


class Role(Enum):
    """The role in which somebody asks."""

    APPLICATION = "the application"
    ADMINISTRATOR = "an administrator"


@dataclass(frozen=True, slots=True)
class Shown:
    """What somebody shows who registers. ``proof``: the secret that its token is made of, and made again."""

    token: str = ""
    proof: str = ""
    registration_token: str = ""


def token_of(told: str, metadata: Iterable[Any] | None) -> str:
    """The token told in the message, else the one in the call's metadata."""
    if told:
        return told
    for name, value in metadata or ():
        if name == "authorization" and isinstance(value, str) and value.lower().startswith(_BEARER):
            return value[len(_BEARER) :].strip()
    return ""


class Gate:
    """Lets callers through, or refuses them."""

    def __init__(self, coordinator: Coordinator, options: ServerOptions) -> None:
        self._coordinator = coordinator
        self._administrators = options.administrators
        self._registration_tokens = options.registration_tokens
        self._mint_text = options.mint
        self._is_alone = not options.administrators and is_local(options.bind)

    async def admit(self, application: str, token: str) -> Role:
        """The role of a caller who shows the application's token or an administrator's. Refuses all others."""
        if not application:
            raise refuse(Reason.INVALID, "no application is named", "the application's id", "Name it in `application`.")
        meta = await self._coordinator.registration(ApplicationId(application))
        is_administrator = self._is_administrator(token)
        if tokens.matches(token, meta.token_hash):
            return Role.APPLICATION
        if is_administrator:
            return Role.ADMINISTRATOR
        raise _wrong_token(f"the token for application {application} is {_told(token)}", application)

    async def admit_administrator(self, token: str) -> None:
        """Admits a question about all applications: the caller shows an administrator's token, or needs none."""
        if not self._is_alone and not self._is_administrator(token):
            raise refuse(
                Reason.PERMISSION_DENIED,
                f"the administrator's token is {_told(token)}",
                "the token of one that serve.administrators names",
                "Send it as `token`, or as metadata `authorization: Bearer TOKEN`; `shufflectl token` makes one. An "
                "application's own token asks about that application alone, which is named by its whole id.",
                kind="wrong administrator token",
            )

    def permit(self, role: Role, application: str, commands: Sequence[c.Command]) -> None:
        """Refuses what is not the caller's to say, and clients that cannot be called so."""
        kinds = dict.fromkeys(map(type, commands))
        for kind in kinds:
            if not self._may(role, kind):
                raise _wrong_role(role, application, kind.__name__)
        if c.RegisterClient in kinds:
            for command in commands:
                if isinstance(command, c.RegisterClient):
                    _check_client(command.client)

    def _may(self, role: Role, command: type) -> bool:
        if command in _EITHERS:
            return True
        if role is Role.ADMINISTRATOR:
            return command in DECISIONS
        return self._is_alone or command not in DECISIONS

    def _is_administrator(self, token: str) -> bool:
        return tokens.matches_any(token, self._administrators)

    # ---- registering ------------------------------------------------------------------------------------------------

    def mint(self, wished: c.RegisterApplication, shown: Shown) -> tokens.Minted:
        """A token for an application that nobody has registered yet, if the caller may."""
        if self._registration_tokens and not self._may_register(shown.registration_token):
            raise refuse(
                Reason.PERMISSION_DENIED,
                f"the token that registering needs is {_told(shown.registration_token)}",
                "one that serve.registration_tokens names",
                "Drivers have it as spark.shuffleLifecycle.token.",
                kind="wrong registration token",
                about=wished.application,
            )
        if shown.proof and not tokens.PROOF_MIN <= len(shown.proof) <= tokens.PROOF_MAX:
            raise refuse(
                Reason.INVALID,
                f"the proof has {len(shown.proof)} characters",
                f"{tokens.PROOF_MIN} to {tokens.PROOF_MAX}, random and of this application alone",
                "Make a longer one, or send none: then the token is told once and never again.",
            )
        proof = shown.proof or tokens.new_text()
        return tokens.mint(wished.application, wished.driver.spark_attempt, proof, self._mint_text())

    def know_again(self, wished: c.RegisterApplication, meta: Meta, shown: Shown) -> str:
        """The token, for who registers again and shows its proof; empty for who shows the token."""
        if tokens.matches(shown.token, meta.token_hash):
            return ""
        made = tokens.made_again(wished.application, wished.driver.spark_attempt, shown.proof, meta.token_hash)
        if made:
            return made
        told = f"application {wished.application} is registered, and neither its token nor its proof was shown"
        raise _wrong_token(told, wished.application)

    def _may_register(self, shown: str) -> bool:
        return tokens.matches_any(shown, (*self._registration_tokens, *self._administrators))


def _check_client(name: str) -> None:
    if not name:
        raise Malformed("RegisterClient.client is empty", "a name for the client, the same whenever it comes back")
    check_name("RegisterClient.client", name)


def _wrong_token(fact: str, application: str) -> Refused:
    return refuse(
        Reason.PERMISSION_DENIED,
        fact,
        "the one that its registration was answered with, or an administrator's",
        "Send it as `token`, or as metadata `authorization: Bearer TOKEN`.",
        kind="wrong token",
        about=application,
    )


def _wrong_role(role: Role, application: str, command: str) -> Refused:
    other = Role.ADMINISTRATOR if role is Role.APPLICATION else Role.APPLICATION
    return refuse(
        Reason.PERMISSION_DENIED,
        f"{command} came from {role.value} ({application})",
        f"{other.value}",
        f"Nothing was done; {command} needs the token of {other.value}.",
        kind="wrong role",
        about=f"{application} {command}",
    )


def _told(token: str) -> str:
    return "another one" if token else "missing"
