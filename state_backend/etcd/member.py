"""One member of a cluster, as far as it is reached from here.

Responsible for: its channel and stubs. Refuses to know: the other members, and what calls mean.
Invariant: `ready` returns only while there is a connection, so a call sent after it was really sent.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import grpc

from state_backend.address import TlsFiles
from state_backend.errors import Unavailable
from state_backend.etcd.stubs import rpc_pb2, rpc_pb2_grpc
from state_backend.waiting import within

# A page holds what it holds; the limit is on requests. Connections are looked after: a member that is frozen or cut
# off is noticed in ten seconds, and one that comes back is found in one. etcd takes pings every five seconds at most.
_CHANNEL_OPTIONS = (
    ("grpc.enable_http_proxy", 0),  # what the environment names is for the web
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.keepalive_time_ms", 7_000),
    ("grpc.keepalive_timeout_ms", 3_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.enable_retries", 0),
)

_LAST_ERROR = "; last error: "
#: What gRPC says of a connection that could not be made, and what that means.
_MEANINGS = (
    ("certificate has expired", "etcd's certificate has run out"),
    ("Hostname Verification", "etcd's certificate is of another name than this"),
    ("CERTIFICATE_VERIFY_FAILED", "etcd's certificate is not signed by what `ca` names, or not valid"),
    ("certificate signature failure", "etcd's certificate is not signed by what `ca` names"),
    ("security handshaker", "`ca`, `cert` and `key` cannot be used, or do not belong together"),
    ("Unwrap failed", "etcd does not take our certificate, or asks for one: `cert` and `key`"),
    ("WRONG_VERSION_NUMBER", "what listens there does not speak TLS"),
    ("errors resolving", "its name cannot be looked up"),
    ("Connection refused", "nobody listens there"),
)
_HUNG_UP = ("Socket closed", "Connection reset")
_HANGS_UP = {
    False: "what listens there hung up, as one does that asks for TLS: `ca`",
    True: "what listens there hung up, as one does that does not speak TLS",
}


class Member:
    """A channel to one endpoint; it connects when first used, and anew where certificates have been replaced."""

    def __init__(self, endpoint: str, tls: TlsFiles | None) -> None:
        self.endpoint = endpoint
        self._tls = tls
        self._open()

    def _open(self) -> None:
        stamp = _stamp(self._tls)  # before they are read: what is replaced meanwhile is seen next time
        self._channel = _channel(self.endpoint, self._tls)
        self._stamp = stamp
        self.kv = rpc_pb2_grpc.KVStub(self._channel)
        self.watch = rpc_pb2_grpc.WatchStub(self._channel)
        self.lease = rpc_pb2_grpc.LeaseStub(self._channel)
        self.auth = rpc_pb2_grpc.AuthStub(self._channel)

    async def ready(self, timeout_seconds: float) -> None:
        """Waits for the connection, or raises `Unavailable` as soon as it cannot be made."""
        if self._channel.get_state(try_to_connect=True) is grpc.ChannelConnectivity.READY:
            return
        self._look_for_certificates()
        try:
            await within(timeout_seconds, self._connected())
        except asyncio.TimeoutError:
            raise Unavailable(self.endpoint, f"no connection in {timeout_seconds:g} s") from None

    async def close(self) -> None:
        await self._channel.close()

    def _look_for_certificates(self) -> None:
        """A connection that stands is left alone: it is the next one that shows a certificate.

        So is one that an etcd that stops has asked us to leave, on which answers and watches may still come: closing
        its channel would cancel them, and with them the tasks that wait there, which nobody has cancelled. Nobody
        holds the channel from here on; with its last call it goes.
        """
        with suppress(OSError):  # one of them is just being put there
            if _stamp(self._tls) != self._stamp:
                self._open()

    async def _connected(self) -> None:
        state = self._channel.get_state(try_to_connect=True)
        while state is not grpc.ChannelConnectivity.READY:
            if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
                raise Unavailable(self.endpoint, f"the connection was refused or broke{await self._why()}")
            if state is grpc.ChannelConnectivity.SHUTDOWN:
                raise Unavailable(self.endpoint, "the connection was closed here")
            await self._channel.wait_for_state_change(state)
            state = self._channel.get_state(try_to_connect=True)

    async def _why(self) -> str:
        """What was in the way, which gRPC tells calls alone: one that is not sent, or names no key and does nothing."""
        try:
            await self.kv.Range(rpc_pb2.RangeRequest())
        except grpc.aio.AioRpcError as error:
            met = (error.details() or "").rpartition(_LAST_ERROR)[2]
            meanings = (*_MEANINGS, *((sign, _HANGS_UP[self._tls is not None]) for sign in _HUNG_UP))
            return next((f": {meaning}" for sign, meaning in meanings if sign in met), "")
        return ""


def _stamp(tls: TlsFiles | None) -> tuple[tuple[int, int, int], ...]:
    """What changes when a file is replaced."""
    paths = (tls.ca, tls.cert, tls.key) if tls is not None else ()
    found = [path.stat() for path in paths if path is not None]
    return tuple((one.st_ino, one.st_size, one.st_mtime_ns) for one in found)


def _channel(endpoint: str, tls: TlsFiles | None) -> grpc.aio.Channel:
    if tls is None:
        return grpc.aio.insecure_channel(endpoint, options=_CHANNEL_OPTIONS)
    ca, cert, key = (None if path is None else path.read_bytes() for path in (tls.ca, tls.cert, tls.key))
    return grpc.aio.secure_channel(endpoint, grpc.ssl_channel_credentials(ca, key, cert), options=_CHANNEL_OPTIONS)
