"""Tokens: how they are made, and what is kept of them.

Responsible for an application's token, and for comparing what somebody shows with what is kept. Refuses to know who
shows it and what for. Invariant: nothing that is kept opens anything; comparing takes as long whether it fits or not.

The coordinator mints an application's token when it is registered, and tells it in the registration's answer. That
answer may be lost, and the same registration then comes again, perhaps to another replica, which has to tell the same
token without having kept it. So a token is made of two parts: the *proof*, a secret that the driver made and sent along
with its registration, and the *mint*, a random text of the coordinator's. The log keeps the token's SHA-256 and the
mint; the token can be made again from mint and proof, and from nothing else:

    token = base64url(HMAC-SHA256(key = proof, mint, application, attempt))

Whoever reads the log has no token, and no way to one: the proof is not there, and too long to be guessed. Whoever sends
the registration again without the proof, or with another one, gets none. Two replicas that are asked at once mint two
tokens; one registration is in the log, and the other replica makes that one's token, since it has the proof as well. A
driver that chooses its proof badly endangers itself alone: another application has another mint, and so another token,
even where a careless copy of the driver sends the same proof.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from coordinator.core.ids import ApplicationId

PROOF_MIN = 32  #: Characters.
PROOF_MAX = 256
_BYTES = 32
_BETWEEN = "."


@dataclass(frozen=True, slots=True)
class Minted:
    """A new application's token. ``kept``: what the log keeps of it."""

    token: str
    kept: str


def new_text() -> str:
    """A random text that nobody guesses."""
    return secrets.token_urlsafe(_BYTES)


def mint(application: ApplicationId, attempt: str, proof: str, mint_text: str) -> Minted:
    """The token of an application that registers with this proof."""
    token = _made(application, attempt, proof, mint_text)
    return Minted(token, f"{hash_of(token)}{_BETWEEN}{mint_text}")


def made_again(application: ApplicationId, attempt: str, proof: str, kept: str) -> str:
    """The token that was minted, for who shows its proof; empty: it is another one."""
    _, _, mint_text = kept.partition(_BETWEEN)
    if not proof or not mint_text:
        return ""
    token = _made(application, attempt, proof, mint_text)
    return token if matches(token, kept) else ""


def hash_of(token: str) -> str:
    """What is kept of a token; empty where there is none."""
    return hashlib.sha256(token.encode()).hexdigest() if token else ""


def matches(token: str, kept: str) -> bool:
    """Whether it is the token that was kept; nothing matches where nothing is kept."""
    wanted = kept.partition(_BETWEEN)[0]
    return hmac.compare_digest(hash_of(token).encode(), wanted.encode()) and bool(wanted)


def matches_any(token: str, kept: Iterable[str]) -> bool:
    """Whether it is one of those that were kept; all are looked at."""
    return sum(matches(token, one) for one in kept) > 0


def _made(application: ApplicationId, attempt: str, proof: str, mint_text: str) -> str:
    told = b"\0".join(part.encode() for part in (mint_text, application, attempt))
    made = hmac.new(proof.encode(), told, hashlib.sha256).digest()
    return base64.urlsafe_b64encode(made).rstrip(b"=").decode()
