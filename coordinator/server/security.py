"""Who may ask what.

Responsible for tokens (kept as SHA-256, compared in constant time) and for the interfaces that are listened on. Refuses
to know what is asked. Invariant: a wrong token learns nothing but that it is wrong, and is noted.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import socket
from collections.abc import Iterable
from typing import Any

from coordinator.core.ids import ApplicationId
from coordinator.core.rejections import Reason
from coordinator.core.state import Meta
from coordinator.runtime.api import Coordinator, UnknownApplication
from coordinator.server.certificates import Certificates
from coordinator.server.statuses import Refused, refuse

_BEARER = "bearer "


class BindRefused(ValueError):  # noqa: N818 - it says what is so
    """The address would let other machines in, and nobody has said that it shall."""

    def __init__(self, bind: str, resolved: str, certificates: Certificates | None) -> None:
        how = "in plain text" if certificates is None else "without asking clients for a certificate"
        super().__init__(
            f"{bind} listens on {resolved}, which other machines may reach, {how}; expected TLS with client "
            "certificates (serve.tls_certificate, serve.tls_key and serve.tls_client_ca), or a loopback address such "
            "as 127.0.0.1:7337. Where the network itself keeps strangers out, --beyond-loopback allows it."
        )


def hash_of(token: str) -> str:
    """What is kept of a token; empty where there is none."""
    return hashlib.sha256(token.encode()).hexdigest() if token else ""


def matches(token: str, token_hash: str) -> bool:
    """Whether it is the token; takes as long whether it is or not."""
    return hmac.compare_digest(hash_of(token).encode(), token_hash.encode())


def token_of(told: str, metadata: Iterable[Any] | None) -> str:
    """The token told in the message, else the one in the call's metadata."""
    if told:
        return told
    for name, value in metadata or ():
        if name == "authorization" and isinstance(value, str) and value.lower().startswith(_BEARER):
            return value[len(_BEARER) :].strip()
    return ""


def peer_of(told: str) -> str:
    """The machine of a peer as gRPC tells it (`ipv4:10.0.0.7:51234`): its ports would be another peer each."""
    return told.rpartition(":")[0] if told.startswith(("ipv4:", "ipv6:")) else told


class Gate:
    """Lets callers through, or notes and refuses them."""

    def __init__(self, coordinator: Coordinator, operator_token: str) -> None:
        self._coordinator = coordinator
        self._operator_hash = hash_of(operator_token)

    async def admit(self, application: str, token: str, peer: str) -> Meta:
        """The application's registration, for who has its token or the operator's."""
        if not application:
            raise refuse(Reason.INVALID, "no application is named", "the application's id", "Name it in `application`.")
        try:
            meta = await self._coordinator.registration(ApplicationId(application))
        except UnknownApplication:
            await self._coordinator.audit(peer_of(peer), "unknown application", application[:64])
            raise
        if not matches(token, meta.token_hash) and meta.token_hash and not self._is_operator(token):
            await self._coordinator.audit(peer_of(peer), "wrong token", application)
            raise _wrong_token(f"the token for application {application} is {_told(token)}")
        return meta

    async def admit_operator(self, token: str, peer: str) -> None:
        """For questions about all applications."""
        if self._operator_hash and not self._is_operator(token):
            await self._coordinator.audit(peer_of(peer), "wrong operator token", "")
            raise _wrong_token(f"the operator's token is {_told(token)}")

    def _is_operator(self, token: str) -> bool:
        return bool(self._operator_hash) and matches(token, self._operator_hash)


def check_bind(bind: str, certificates: Certificates | None, beyond_loopback: bool) -> None:
    """Refuses an address that other machines may reach, unless they must show certificates, or that is wished."""
    if beyond_loopback or (certificates is not None and certificates.asks_clients):
        return
    for resolved in reachable_from(bind):
        if not ipaddress.ip_address(resolved).is_loopback:
            raise BindRefused(bind, resolved, certificates)


def reachable_from(bind: str) -> set[str]:
    """The addresses that are listened on; none for a socket in the file system."""
    return set() if bind.startswith("unix:") else _addresses(bind.rpartition(":")[0].strip("[]"))


def _addresses(host: str) -> set[str]:
    if not host:
        return {"0.0.0.0"}
    try:
        return {str(found[4][0]).partition("%")[0] for found in socket.getaddrinfo(host, None)}
    except socket.gaierror as error:
        raise ValueError(f"{host!r} is no address ({error}); expected HOST:PORT such as 127.0.0.1:7337") from error


def _wrong_token(fact: str) -> Refused:
    return refuse(
        Reason.PERMISSION_DENIED,
        fact,
        "the token that it was registered with, or the operator's",
        "Send it as `token`, or as metadata `authorization: Bearer TOKEN`.",
    )


def _told(token: str) -> str:
    return "another one" if token else "missing"
