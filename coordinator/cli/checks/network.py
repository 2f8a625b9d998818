"""Checks of what listens: coordinators, the port to serve on, etcd's members.

Responsible for connecting and for nothing more. Refuses to change what it finds. Invariant: a port that is tried is
given back at once.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import urllib.error
import urllib.request
from typing import Any

from coordinator.cli.checks.finding import Finding, fail, ok, warn
from coordinator.cli.serving import serves, trouble
from coordinator.config import Config
from state_backend.address import EtcdAddress, parse_address
from state_backend.errors import StateBackendError

_OLDEST_ETCD = (3, 6)
_WAIT_S = 3.0
_NO_SPACE = "NOSPACE"
_MAKE_ROOM = (
    "Let it compact and defragment, or raise --quota-backend-bytes; then `etcdctl alarm disarm`. "
    "Until then nothing is written and nothing deleted; jobs go on."
)
_LOOK_CLOSER = "Look into its log; `etcdctl endpoint health` and `etcdctl alarm list` say more."


async def servers(config: Config) -> list[Finding]:
    """Every coordinator that is named."""
    named = [address.strip() for address in config.server.split(",") if address.strip()]
    return [await _server(address, config) for address in named]


async def _server(address: str, config: Config) -> Finding:
    why = await trouble(address, config)
    if not why:
        return ok("server", f"{address} serves")
    told = f"{address} does not serve: {why}"
    return fail("server", told, "Start one there with `shufflectl serve`, or check the address.")


async def port(config: Config) -> Finding:
    """Whether `serve` could listen."""
    listen = config.serve.listen
    host, _, number = listen.rpartition(":")
    if listen.startswith("unix:") or not number.isdecimal():
        return ok("port", f"{listen} is not looked at")
    if _is_free(host.strip("[]") or "0.0.0.0", int(number)):
        return ok("port", f"{listen} is free")
    if await serves(listen, config):
        return ok("port", f"{listen}: a coordinator serves there")
    return warn("port", f"{listen} is taken, and not by a coordinator", "Serve elsewhere: serve.listen, or --port 0.")


def _is_free(host: str, number: int) -> bool:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.create_server((host, number), family=family):
            return True
    except OSError:
        return False


def etcd(config: Config) -> list[Finding]:
    """The version and the health of every member that is named."""
    try:
        address = parse_address(config.store) if config.store.startswith("etcd:") else None
    except StateBackendError:
        return []  # the check of the store says it
    return [_member(endpoint, address) for endpoint in address.endpoints] if isinstance(address, EtcdAddress) else []


def _member(endpoint: str, address: EtcdAddress) -> Finding:
    try:
        version = str(_asked(endpoint, "version", address)["etcdserver"])
        numbers = tuple(int(part) for part in version.split(".")[:2])
        unwell = _unwell(_asked(endpoint, "health", address))
    except OSError as error:
        told = f"{endpoint} does not answer ({_cause(error)})"
        return fail("etcd", told, "Check that it runs and is reachable from here.")
    except (ValueError, KeyError, TypeError, http.client.HTTPException):
        return fail(
            "etcd", f"{endpoint} does not answer as etcd does", "Check the address: another program listens there."
        )
    if unwell:
        advice = _MAKE_ROOM if _NO_SPACE in unwell else _LOOK_CLOSER
        return fail("etcd", f"{endpoint} is etcd {version} and not healthy: {unwell}", advice)
    if numbers < _OLDEST_ETCD:
        return warn("etcd", f"{endpoint} is etcd {version}", "Use 3.6 or newer: older ones can lose data in a crash.")
    return ok("etcd", f"{endpoint} is etcd {version}")


def _unwell(told: dict[str, Any]) -> str:
    """Why the member says that it is not healthy, as `ALARM NOSPACE`; empty: it is."""
    return "" if told["health"] == "true" else str(told.get("reason") or "it does not say why")


def _asked(endpoint: str, question: str, address: EtcdAddress) -> dict[str, Any]:
    """What etcd answers at this path of its client port, https://etcd.io/docs/v3.6/op-guide/monitoring/."""
    scheme = "https" if address.tls is not None else "http"
    try:
        with _past_proxies(_tls(address)).open(f"{scheme}://{endpoint}/{question}", timeout=_WAIT_S) as reply:
            told = reply.read()
    except urllib.error.HTTPError as refused:
        with refused:  # a member that is not healthy answers 503, and says why
            told = refused.read()
    found: dict[str, Any] = json.loads(told)
    return found


def _past_proxies(tls: ssl.SSLContext | None) -> urllib.request.OpenerDirector:
    """As the store's own client goes."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls))


def _cause(error: Exception) -> str:
    """Without what wraps it."""
    reason = getattr(error, "reason", error)
    return str(getattr(reason, "strerror", None) or reason)


def _tls(address: EtcdAddress) -> ssl.SSLContext | None:
    if address.tls is None:
        return None
    ca, cert, key = address.tls.ca, address.tls.cert, address.tls.key
    context = ssl.create_default_context(cafile=str(ca) if ca else None)
    if cert and key:
        context.load_cert_chain(str(cert), str(key))
    return context
