"""Opening a channel to a coordinator, in plain text or with TLS.

Responsible for whom we trust and as whom we come, where the configuration says TLS, and for words where nobody answers.
Refuses to know what is asked. Invariant: where a certificate or an authority is named, nothing is ever said in plain
text.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc

from coordinator.cli.exits import Exit, failure
from coordinator.config import Config

#: As drivers reach coordinators: past a proxy that the environment names for the web, and asking a line on which
#: nothing comes whether it is there: a call that follows a log has no deadline that could run out.
_OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.ping_timeout_ms", 10_000),
]
#: What gRPC says of an address that nobody was reached at.
NEVER_CONNECTED = "failed to connect"


def credentials_of(config: Config) -> grpc.ChannelCredentials | None:
    """TLS where a file is named; None: plain text."""
    if bool(config.tls_certificate) != bool(config.tls_key):
        told = "only one of tls_certificate and tls_key is given"
        raise failure(Exit.USAGE, told, "both or none", "Name the other one too.")
    if not config.tls_ca and not config.tls_certificate:
        return None
    credentials = grpc.ssl_channel_credentials(
        root_certificates=_pem("tls_ca", config.tls_ca),
        private_key=_pem("tls_key", config.tls_key),
        certificate_chain=_pem("tls_certificate", config.tls_certificate),
    )
    _check(config)
    return credentials


def open_channel(address: str, credentials: grpc.ChannelCredentials | None) -> grpc.aio.Channel:
    """A channel; nothing is connected yet."""
    if credentials is not None:
        return grpc.aio.secure_channel(address, credentials, _OPTIONS)
    return grpc.aio.insecure_channel(address, _OPTIONS)


def _check(config: Config) -> None:
    """gRPC says of a file that is none only that no server answers: Python's own TLS says it of the file."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if config.tls_ca:
        with _usable("tls_ca", config.tls_ca):
            context.load_verify_locations(config.tls_ca)
    if config.tls_certificate:
        with _usable("tls_certificate and tls_key", f"{config.tls_certificate}, {config.tls_key}"):
            context.load_cert_chain(config.tls_certificate, config.tls_key, password=lambda: "")


@contextmanager
def _usable(keys: str, files: str) -> Iterator[None]:
    try:
        yield
    except ssl.SSLError as error:
        raise failure(
            Exit.USAGE,
            f"{keys} {files} cannot be used ({error.reason or error})",
            "certificates in PEM, each with its own key",
            "Check the files; the key must have no password.",
        ) from error


def _pem(key: str, path: str) -> bytes | None:
    if not path:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        told = f"{key} {path} cannot be read ({error.strerror})"
        raise failure(Exit.USAGE, told, "a PEM file", "Check the path and its rights.") from error


# ---- in words --------------------------------------------------------------------------------------------------------

_UNTRUSTED = "its certificate is not valid, or not signed by what --tls-ca names"
#: What gRPC says of the connection, and what that means. In this order: the last one is of any handshake that failed.
_MEANINGS = (
    ("Failed parsing HTTP/2", "what listens there does not speak gRPC"),
    ("http1.x", "what listens there does not speak gRPC"),
    ("WRONG_VERSION_NUMBER", "what listens there does not speak TLS: go without --tls-ca and --tls-certificate"),
    ("CERTIFICATE_VERIFY_FAILED", _UNTRUSTED),
    ("certificate signature failure", _UNTRUSTED),  #: as of another authority with the same name
    ("Hostname Verification", "its certificate is of another name: ask by one that stands in it"),
    ("handshake failed", "the TLS handshake failed"),
)
_HUNG_UP = ("Connection reset", "Socket closed")
_HANGS_UP = {
    False: "what listens there hung up, as one does that asks for TLS: --tls-ca",
    True: "what listens there hung up, as one does that asks for a certificate and does not take ours: "
    "--tls-certificate and --tls-key",
}


def unreached_since(error: grpc.aio.AioRpcError, credentials: grpc.ChannelCredentials | None) -> str:
    """Why nobody answered, in words."""
    details = error.details() or "no answer"
    said = details.rpartition("; last error: ")[2]
    for sign, meaning in _MEANINGS:
        if sign in said:
            return meaning
    if NEVER_CONNECTED in details and any(sign in said for sign in _HUNG_UP):
        return _HANGS_UP[credentials is not None]
    return said.rpartition("addr: ")[2].rpartition(": ")[2].rstrip("]")[:80] or "no answer"
