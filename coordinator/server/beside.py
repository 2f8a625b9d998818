"""Health and reflection: what gRPC's own tools ask a server.

Responsible for saying whether it serves, once or at every change, and for describing what is served. Refuses to know
the replica. Invariant: both stand behind the same door as every other method, so their streams are counted with them;
no name but one of this server's is ever kept.
"""

# The methods have their protocols' names.
# ruff: noqa: N802

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from grpc_health.v1 import health_pb2  # type: ignore[import-untyped]
from grpc_reflection.v1alpha import reflection

from coordinator.core.rejections import Reason
from coordinator.server.reading import check_read
from coordinator.server.statuses import abort, expected_errors, refuse
from coordinator.wire.bounds import Bounds
from state_backend.signal import Signal

_Reply = health_pb2.HealthCheckResponse
_SHOWN = 100  #: Characters of a name that is refused.


class Health:
    """`grpc.health.v1.Health`: one status for the server and all that it serves."""

    def __init__(self, names: tuple[str, ...]) -> None:
        """``names``: the services; the empty name, the server itself, is added."""
        self._names = ("", *names)
        self._serves = False
        self._is_over = False
        self._changed = Signal()

    def say(self, serves: bool) -> None:
        """Sets the status, and tells it to whoever watches."""
        self._serves = serves
        self._changed.tell()

    def close(self) -> None:
        """Ends the streams of those who watch."""
        self._is_over = True
        self._changed.tell()

    async def Check(self, asked: Any, context: Any) -> Any:
        await self._check_name(asked.service, context)
        return self._reply()

    async def Watch(self, asked: Any, context: Any) -> AsyncIterator[Any]:
        await self._check_name(asked.service, context)
        changed = self._changed.subscribe()
        try:
            while True:
                changed.clear()
                is_last = self._is_over
                yield self._reply()
                if is_last:
                    return
                await changed.wait()
        finally:
            self._changed.unsubscribe(changed)

    def _reply(self) -> Any:
        return _Reply(status=_Reply.SERVING if self._serves else _Reply.NOT_SERVING)

    async def _check_name(self, name: str, context: Any) -> None:
        if name not in self._names:
            fact = f"no service {name[:_SHOWN]!r} is served here"
            expected = f"one of {', '.join(filter(None, self._names))}, or none for the server itself"
            await abort(context, refuse(Reason.NOT_FOUND, fact, expected, "Ask under one of these names."))


class Reflection:
    """`grpc.reflection.v1alpha.ServerReflection`: what the services are, in their own words."""

    def __init__(self, names: tuple[str, ...], bounds: Bounds) -> None:
        self._servicer = reflection.aio.ReflectionServicer(names)
        self._bounds = bounds

    async def ServerReflectionInfo(self, requests: Any, context: Any) -> AsyncIterator[Any]:
        try:
            async for reply in self._servicer.ServerReflectionInfo(self._checked(requests), context):
                yield reply
        except expected_errors() as error:
            await abort(context, error)

    async def _checked(self, requests: Any) -> AsyncIterator[Any]:
        async for request in requests:
            check_read(request, self._bounds)
            yield request
