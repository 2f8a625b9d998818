"""The server: a port, the service, with health and reflection beside it.

Responsible for listening, for saying whether it serves, and for going away without losing anything. Refuses to know
what is asked. Invariant: it listens where it was told to and nowhere else; once it has begun to stop nothing new is let
in, and drivers were told where else to go.
"""

from __future__ import annotations

import grpc
from grpc_health.v1 import health_pb2  # type: ignore[import-untyped]
from grpc_reflection.v1alpha import reflection_pb2

from coordinator.runtime.api import Coordinator
from coordinator.server.beside import Health, Reflection
from coordinator.server.interfaces import CannotListen, check_bind, check_free
from coordinator.server.options import ServerOptions
from coordinator.server.reading import SERVICE as DESCRIBED
from coordinator.server.reading import handlers_of
from coordinator.server.service import ShuffleLifecycle

#: Of one connection.
_STREAMS_MAX = 256
_IDLE_MS = 300_000
_HANDSHAKE_MS = 10_000
_METADATA_BYTES = 16_384

SERVICE = DESCRIBED.full_name
_HEALTH = health_pb2.DESCRIPTOR.services_by_name["Health"]
_REFLECTION = reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"]


class Server:
    """One server over one replica. Stopping the server stops the replica: only so are drivers sent away."""

    def __init__(self, coordinator: Coordinator, options: ServerOptions) -> None:
        self.coordinator = coordinator
        self._options = options
        names = (SERVICE, _HEALTH.full_name, *((_REFLECTION.full_name,) if options.reflection else ()))
        self._health = Health(names)
        self._server = grpc.aio.server(options=_channel_options(options))
        service = ShuffleLifecycle(coordinator, options)
        handlers = [handlers_of(service, service), handlers_of(self._health, service, _HEALTH)]
        if options.reflection:
            handlers.append(handlers_of(Reflection(names, options.bounds), service, _REFLECTION))
        self._server.add_generic_rpc_handlers(tuple(handlers))
        self.port = 0  #: Known once it has started.
        self.metrics_address = ""  #: Where its figures are read; empty: nowhere.

    @property
    def address(self) -> str:
        """Where it is reached."""
        host, _, _ = self._options.bind.rpartition(":")
        return self._options.bind if self._options.bind.startswith("unix:") else f"{host}:{self.port}"

    def bind(self) -> None:
        """Takes the port: its address is known, and nobody is answered yet. Raises `BindRefused`, `CannotListen`."""
        check_bind(self._options.bind, self._options.certificates, self._options.bind_beyond_loopback)
        check_free(self._options.bind)
        self.port = self._listen()

    async def start(self) -> None:
        """Listens, and says that it serves. Raises `BindRefused` and `CannotListen`."""
        if not self.port:
            self.bind()
        await self._server.start()
        self._health.say(True)

    async def stop(self) -> None:
        """Says that it does not serve, sends drivers elsewhere, and lets calls under way finish."""
        self._health.say(False)
        try:
            await self.coordinator.stop()
        finally:
            self._health.close()
            await self._server.stop(self._options.drain_s)

    async def wait(self) -> None:
        """Until it has stopped."""
        await self._server.wait_for_termination()

    async def __aenter__(self) -> Server:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    def _listen(self) -> int:
        bind, certificates = self._options.bind, self._options.certificates
        try:
            if certificates is None:
                port = self._server.add_insecure_port(bind)
            else:
                port = self._server.add_secure_port(bind, certificates.credentials())
        except RuntimeError as error:
            raise CannotListen(bind, str(error).partition("; set GRPC_VERBOSITY")[0]) from error
        if port == 0:
            raise CannotListen(bind, "the address cannot be bound")
        return port


def _channel_options(options: ServerOptions) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", options.message_bytes_max),
        ("grpc.max_send_message_length", -1),  # a graph has no pages, and is as large as the application
        ("grpc.keepalive_time_ms", options.keepalive_ms),
        ("grpc.keepalive_timeout_ms", options.keepalive_ms // 2),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", options.keepalive_ms // 3),
        ("grpc.http2.max_ping_strikes", 2),
        ("grpc.max_concurrent_streams", _STREAMS_MAX),
        ("grpc.max_connection_idle_ms", _IDLE_MS),
        ("grpc.server_handshake_timeout_ms", _HANDSHAKE_MS),
        ("grpc.max_metadata_size", _METADATA_BYTES),
        ("grpc.so_reuseport", 0),
    ]
