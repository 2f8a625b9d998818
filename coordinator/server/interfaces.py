"""The interfaces that are listened on.

Responsible for who can reach an address at all. Refuses to know tokens and what is asked. Invariant: other machines
reach what asks them for a certificate, or what somebody has said that they shall.
"""

from __future__ import annotations

import ipaddress
import socket

from coordinator.binding import A_BIND, is_bind
from coordinator.server.certificates import Certificates

_UNIX = "unix:"
_TRY_S = 1.0


class BindRefused(ValueError):  # noqa: N818 - it says what is so
    """The address would let other machines in, and nobody has said that it shall."""

    def __init__(self, bind: str, resolved: str, certificates: Certificates | None) -> None:
        how = "in plain text" if certificates is None else "without asking clients for a certificate"
        super().__init__(
            f"{bind} listens on {resolved}, which other machines may reach, {how}; expected TLS with client "
            "certificates (serve.tls_certificate, serve.tls_key and serve.tls_client_ca), or a loopback address such "
            "as 127.0.0.1:7457. Where the network itself keeps strangers out, --beyond-loopback allows it."
        )


class WrongBind(ValueError):  # noqa: N818
    """No address to listen on."""

    def __init__(self, bind: str, fact: str) -> None:
        super().__init__(f"{bind!r} {fact}; expected {A_BIND}")


class CannotListen(OSError):  # noqa: N818 - it says what is so
    """The address, ``bind``, cannot be listened on."""

    def __init__(self, bind: str, cause: object) -> None:
        self.bind = bind
        super().__init__(
            f"cannot listen on {bind} ({cause}); expected a free port of this machine. "
            "Stop what listens there, or choose another port (0: any that is free)."
        )


def check_bind(bind: str, certificates: Certificates | None, beyond_loopback: bool) -> None:
    """Refuses an address that other machines may reach, unless they must show certificates, or that is wished."""
    if not is_bind(bind):
        raise WrongBind(bind, "is no address to listen on")
    if beyond_loopback or (certificates is not None and certificates.asks_clients):
        return
    for resolved in reachable_from(bind):
        if not ipaddress.ip_address(resolved).is_loopback:
            raise BindRefused(bind, resolved, certificates)


def check_free(bind: str) -> None:
    """A port that is taken cannot be bound; gRPC takes a socket in the file system from whoever listens on it.

    Raises `CannotListen`. What a process has left that is gone is free.
    """
    if not bind.startswith(_UNIX):
        return
    with socket.socket(socket.AF_UNIX) as tried:
        tried.settimeout(_TRY_S)
        try:
            tried.connect(bind.removeprefix(_UNIX))
        except TimeoutError:
            pass  # somebody is there and takes no one in
        except OSError:
            return
    raise CannotListen(bind, "another process listens there")


def reachable_from(bind: str) -> set[str]:
    """The addresses that are listened on; none for a socket in the file system."""
    return set() if bind.startswith(_UNIX) else _addresses(bind.rpartition(":")[0].strip("[]"))


def _addresses(host: str) -> set[str]:
    if not host:
        return {"0.0.0.0"}
    try:
        return {str(found[4][0]).partition("%")[0] for found in socket.getaddrinfo(host, None)}
    except socket.gaierror as error:
        raise WrongBind(host, f"is no address ({error})") from error


def is_local(bind: str) -> bool:
    """Whether only this machine reaches it."""
    try:
        return all(ipaddress.ip_address(resolved).is_loopback for resolved in reachable_from(bind))
    except ValueError:
        return False
