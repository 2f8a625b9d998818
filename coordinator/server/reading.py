"""Bytes that arrive, as messages.

Responsible for the methods' readers, for bytes that are no message, and for messages that are too large inside. Refuses
to know what a message means. Invariant: whatever bytes come, reading them raises nothing into gRPC: what cannot be read
is handed on as such, and refused as every other mistake of a caller is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import aclosing
from dataclasses import dataclass
from inspect import isasyncgenfunction
from typing import Any, Protocol

import grpc
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from shuffle_lifecycle.v1 import service_pb2

from coordinator import logs
from coordinator.wire.bounds import Bounds, check_name
from coordinator.wire.errors import Malformed

SERVICE = service_pb2.DESCRIPTOR.services_by_name["ShuffleLifecycle"]

log = logs.logger(__name__)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Bytes that are not the message that was expected."""

    expected: str
    size: int


class Door(Protocol):
    """Who lets a call in, or ends it; passes on what it is told, and is told when it is over."""

    async def enter(self, request: Any, context: Any) -> None: ...
    async def write(self, reply: Any, context: Any) -> None: ...
    def leave(self) -> None: ...


def check_read(message: Any, bounds: Bounds, leave: Collection[str] = ()) -> None:
    """Raises `Malformed` for what cannot be read, or is too large inside. ``leave``: fields that are not looked at."""
    if isinstance(message, Unreadable):
        raise Malformed(
            f"{message.size} bytes are no {message.expected}",
            f"a message {message.expected} of {SERVICE.full_name}",
            "Use the .proto files of the coordinator's release.",
        )
    if isinstance(message, Message):
        bounds.check(message, leave)
        _check_names(message)


def _check_names(message: Any) -> None:
    """Checks the names of a caller, or of who opens a session; those inside of commands where commands are read."""
    for field in ("caller", "hello"):
        if field in message.DESCRIPTOR.fields_by_name and message.HasField(field):
            who = getattr(message, field)
            check_name(f"{who.DESCRIPTOR.name}.application", who.application)
            check_name(f"{who.DESCRIPTOR.name}.client", who.client)


def handlers_of(servicer: Any, door: Door, service: Any = SERVICE) -> grpc.GenericRpcHandler:
    """The methods of a service that the servicer has, as the generated code would register them, behind the door."""
    methods = [method for method in service.methods if hasattr(servicer, method.name)]
    handlers = {method.name: _handler(method, getattr(servicer, method.name), door) for method in methods}
    return grpc.method_handlers_generic_handler(service.full_name, handlers)


def _handler(method: Any, work: Callable[..., Any], door: Door) -> Any:
    make, guard = {
        (False, False): (grpc.unary_unary_rpc_method_handler, _single),
        (False, True): (grpc.unary_stream_rpc_method_handler, _many),
        (True, True): (grpc.stream_stream_rpc_method_handler, _many if isasyncgenfunction(work) else _line),
    }[method.client_streaming, method.server_streaming]
    asked, told = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
    return make(guard(work, door), request_deserializer=_reader(asked), response_serializer=told.SerializeToString)


def _reader(kind: Any) -> Callable[[bytes], Any]:
    def read(received: bytes) -> Any:
        try:
            return kind.FromString(received)
        except DecodeError:
            return Unreadable(kind.DESCRIPTOR.name, len(received))

    return read


def _single(work: Callable[..., Any], door: Door) -> Callable[..., Any]:
    async def call(request: Any, context: Any) -> Any:
        try:
            await door.enter(request, context)
            return await work(request, context)
        finally:
            door.leave()

    return call


def _many(work: Callable[..., Any], door: Door) -> Callable[..., Any]:
    async def call(request: Any, context: Any) -> None:
        try:
            await door.enter(request, context)
            async with aclosing(work(request, context)) as replies:
                async for reply in replies:
                    await door.write(reply, context)
        except grpc.aio.InternalError:
            log.debug("who was told something has gone")
        finally:
            door.leave()

    return call


def _line(work: Callable[..., Any], door: Door) -> Callable[..., Any]:
    async def call(requests: Any, context: Any) -> None:
        try:
            await door.enter(None, context)
            await work(requests, context)
        finally:
            door.leave()

    return call
