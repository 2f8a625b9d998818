"""A driver's end of a session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from shuffle_lifecycle.v1 import service_pb2 as pb

from coordinator.core.rejections import Answer
from coordinator.wire.messages import answers_of
from tests.unit.server.fakes import APP, DRIVER, PROOF, TOKEN, Running

PATIENCE_S = 10


def hello(register: Any = True, token: str = TOKEN, **told: Any) -> pb.SessionRequest:
    """A driver's first message; ``register``: whether it registers, or what."""
    fields: dict[str, Any] = {"application": APP, "client": DRIVER, "token": token, "proof": PROOF, **told}
    if register:
        fields["register"] = {"application": APP, "driver": {"name": "nightly"}} if register is True else register
    return pb.SessionRequest(hello=pb.Hello(**fields))


class Driver:
    """Sends and reads, with patience but not for ever."""

    def __init__(self, call: Any) -> None:
        self.call = call

    async def send(self, request: pb.SessionRequest) -> None:
        await asyncio.wait_for(self.call.write(request), PATIENCE_S)

    async def read(self) -> Any:
        """The next reply."""
        return await asyncio.wait_for(self.call.read(), PATIENCE_S)

    async def answers(self, count: int) -> list[tuple[int, Answer]]:
        """The next ``count`` answers."""
        got: list[tuple[int, Answer]] = []
        while len(got) < count:
            reply = await self.read()
            assert reply.WhichOneof("message") == "answers", reply
            got.extend(answers_of(reply.answers))
        return got

    async def refused(self) -> Any:
        """To await the status that the stream ends in."""
        while True:
            await self.read()


@asynccontextmanager
async def session(run: Running, first: pb.SessionRequest | None = None) -> AsyncIterator[tuple[Driver, pb.Welcome]]:
    """A session that has been welcomed."""
    driver = Driver(run.stub.Session())
    try:
        await driver.send(first or hello())
        yield driver, (await driver.read()).welcome
    finally:
        driver.call.cancel()
