"""The driver's sign of life, and who holds its session.

Responsible for one record an application in `sessions`, written at most every few seconds. Refuses to know what silence
means (`reaping`). Invariant: a replica writes over the record only as it has last seen it, so the newest session
wins and the older one learns of it; nothing here is ever in the log.

The record begins with the registration and goes with the end of the application: where there is none, it is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from coordinator import logs
from coordinator.core.ids import ApplicationId, ClientId
from coordinator.runtime import places
from coordinator.runtime.clock import Clock, back_off_s
from coordinator.runtime.errors import ApplicationOver
from coordinator.runtime.observing import Observer
from coordinator.runtime.options import Options
from coordinator.wire.errors import WireError
from coordinator.wire.records import SessionRecord, decode, encode
from state_backend import salvage
from state_backend.api import StateBackend
from state_backend.errors import Conflict, OutcomeUnknown, StateBackendError
from state_backend.values import Entry, Keyspace, Put, RevisionIs

#: A driver gives a sign every ``heartbeat_s``: one that comes a moment early is written too, or there were gaps of two.
_EARLY = 0.9

log = logs.logger(__name__)


class Pulse:
    """One application's sign of life, as this replica gives it."""

    def __init__(
        self, backend: StateBackend, application: ApplicationId, options: Options, clock: Clock, observer: Observer
    ) -> None:
        self.on_replaced: Callable[[], None] = lambda: None  #: Somebody else holds the session now, or it is over.
        self.on_unwritten: Callable[[], None] = lambda: None  #: Others will soon take the driver for silent.
        self._backend = backend
        self._application = application
        self._options = options
        self._clock = clock
        self._observer = observer
        self._key = places.of_application(application)
        self._claimed = False
        self._last_s = float("-inf")
        self._written_s = clock.monotonic_s()
        self._beating: asyncio.Task[None] | None = None

    async def claim(self, client: ClientId) -> None:
        """The newest session is here. Raises `ApplicationOver`, and what the store says."""
        failures = 0
        while True:
            entry = await self._entry()
            if entry is None:
                raise ApplicationOver(self._application, "its log says how")
            try:
                await self._write(entry, replace(self._read(entry), client=client, replica=self._options.replica))
                self._claimed = True
                return
            except Conflict:
                continue
            except OutcomeUnknown:
                await self._clock.sleep(back_off_s(failures))
                failures += 1
            except StateBackendError:
                self._observer.refused(self._application)
                raise

    def touch(self) -> None:
        """The driver lives: written down in the background, unless that was done a moment ago."""
        due = self._clock.monotonic_s() - self._last_s >= _EARLY * self._options.heartbeat_s
        if due and (self._beating is None or self._beating.done()):
            self._last_s = self._clock.monotonic_s()
            self._beating = asyncio.create_task(self._beat(), name=f"heartbeat {self._application}")

    async def close(self) -> None:
        """Ends what is under way."""
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.wait((self._beating,))

    async def _beat(self) -> None:
        try:
            entry = await self._entry()
            if entry is None or self._is_elsewhere(self._read(entry)):
                self._replaced()
                return
            await self._write(entry, self._read(entry))
        except Conflict:
            return  # somebody else has just written a sign of life, or it was us
        except StateBackendError as error:  # of one whose outcome is unknown nobody may have heard
            self._last_s = float("-inf")
            self._observer.refused(self._application)
            log.warning("heartbeat not written", application=self._application, error=str(error))
            if self._claimed and self._clock.monotonic_s() - self._written_s >= self._options.silence_s / 2:
                self.on_unwritten()

    def _is_elsewhere(self, record: SessionRecord) -> bool:
        return self._claimed and record.replica != self._options.replica

    def _replaced(self) -> None:
        if self._claimed:
            self._claimed = False
            self.on_replaced()

    async def _write(self, entry: Entry, record: SessionRecord) -> None:
        beat = replace(record, heartbeat_ms=self._clock.wall_ms(), beats=record.beats + 1)
        compare = RevisionIs(Keyspace.SESSIONS, self._key, entry.revision)
        await self._backend.put_txn((compare,), (Put(Keyspace.SESSIONS, self._key, encode(beat)),))
        self._written_s = self._clock.monotonic_s()

    async def _entry(self) -> Entry | None:
        return await salvage.replaceable(self._backend, Keyspace.SESSIONS, self._key)

    def _read(self, entry: Entry) -> SessionRecord:
        """The record; one that is damaged is only a sign of life, and is written anew."""
        try:
            return decode(SessionRecord, entry.value, places.name(Keyspace.SESSIONS, entry.key))
        except WireError as error:
            log.warning("sign of life is damaged, written anew", application=self._application, error=str(error))
            return SessionRecord(self._application, ClientId(""), "", 0)
