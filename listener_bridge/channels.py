"""Opening a channel to a coordinator: in plain text, or with TLS.

Responsible for: gRPC's options, and whom we trust and as whom we come where the settings say TLS.
Refuses to know: what is said on a channel, and which address is tried.
Invariant: where the settings say TLS, nothing is ever said in plain text; the files are read anew for each channel, so
that a renewed certificate counts from the next session on.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import grpc

from listener_bridge.settings import Tls, WrongSettingError

Opener: TypeAlias = Callable[[str], grpc.Channel]

_OPTIONS = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),  # a new session does not wait for an older one's back-off
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.max_receive_message_length", 16 * 1024 * 1024),
)


def plain(address: str) -> grpc.Channel:
    """A channel in plain text."""
    return grpc.insecure_channel(address, _OPTIONS)


def opener(tls: Tls | None) -> Opener:
    """How channels are opened under these settings. Raises `WrongSettingError` where a file cannot be read."""
    if tls is None:
        return plain
    _credentials(tls)
    return lambda address: grpc.secure_channel(address, _credentials(tls), _OPTIONS)


def _credentials(tls: Tls) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(
        root_certificates=_pem("tls.ca", tls.ca),
        private_key=_pem("tls.key", tls.key),
        certificate_chain=_pem("tls.certificate", tls.certificate),
    )


def _pem(key: str, path: str) -> bytes | None:
    if not path:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise WrongSettingError(
            f"spark.shuffleLifecycle.{key}: {path} cannot be read ({error.strerror}); expected a PEM file on the driver"
        ) from error
