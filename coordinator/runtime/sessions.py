"""A driver's open line: what it is told, and when.

Responsible for sending every outstanding directive at least once in each session, as many at a time as a driver keeps,
again after a failure when it is due, and for ending the session that a newer one replaces. Refuses to know transport,
and how directives come about.
Invariant: what is sent follows from the state alone, so any replica that takes the application over sends the same.
"""

from __future__ import annotations

from collections import deque

from coordinator.core.ids import ApplicationId, AppShuffle, ClientId, DirectiveId, ShuffleId
from coordinator.core.state import Directive
from coordinator.core.values import Suspension
from coordinator.runtime import views
from coordinator.runtime.api import GoAway, Message, Notice, Session
from coordinator.runtime.clock import wait_event
from coordinator.runtime.engine import Engine
from coordinator.runtime.pulse import Pulse

#: Directives that a driver was sent and has not answered; the next ones follow its answers.
IN_FLIGHT_MAX = 1_024


class OpenSession(Session):
    """A session at this replica. One task iterates; `close` and `send_away` may come from any."""

    def __init__(self, engine: Engine, pulse: Pulse, client: ClientId) -> None:
        self.application: ApplicationId = engine.application
        self.client = client
        self._engine = engine
        self._pulse = pulse
        self._changed = engine.changed.subscribe()
        self._ready: deque[Message] = deque()
        self._sent: dict[DirectiveId, int] = {}  #: With how many failures it had when it was sent.
        self._suspended: Suspension | None = None
        self._farewell: GoAway | None = None
        self.closed = False
        engine.hold()

    @property
    def answered(self) -> int:
        client = self._engine.state.clients.get(self.client)
        return max((span.last for span in client.answered), default=client.confirmed) if client is not None else 0

    @property
    def outstanding(self) -> int:
        return len(self._engine.state.directives)

    def newest(self, app_shuffle: AppShuffle) -> ShuffleId:
        return views.newest(self._engine.state, app_shuffle)

    async def heartbeat(self) -> None:
        self._pulse.touch()

    def send_away(self, farewell: GoAway) -> None:
        """The session ends with this; the first farewell counts."""
        self._farewell = self._farewell or farewell
        self._changed.set()

    async def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._engine.changed.unsubscribe(self._changed)
            self._engine.release()
            self._changed.set()

    async def __anext__(self) -> Message:
        while not self.closed:
            if self._farewell is not None:
                await self.close()
                return self._farewell
            if self._ready:
                message = self._ready.popleft()
                if isinstance(message, Directive) and not self._is_meant(message):
                    continue
                return message
            self._changed.clear()
            if not self._look():
                await wait_event(self._changed, self._until_due_s())
        raise StopAsyncIteration

    def _look(self) -> bool:
        """Whether the state has anything to tell."""
        state = self._engine.state
        self._note_end()
        self._note_suspension(state.meta.suspended)
        self._sent = {directive: sent for directive, sent in self._sent.items() if directive in state.directives}
        due = [directive for directive in self._unsent() if directive.due_ms <= self._now_ms()]
        for directive in due[: self._room()]:
            self._sent[directive.directive] = directive.failures
            self._ready.append(directive)
        return bool(self._ready) or self._farewell is not None

    def _is_meant(self, directive: Directive) -> bool:
        """Whether it is outstanding still: its outcome may have come while others were being sent."""
        known = self._engine.state.directives.get(directive.directive)
        return known is not None and known.failures == directive.failures

    def _unsent(self) -> list[Directive]:
        """Directives that this session has not carried yet, or not since their last failure; in their order."""
        known = sorted(self._engine.state.directives.items())
        return [directive for key, directive in known if self._sent.get(key) != directive.failures]

    def _room(self) -> int:
        """How many more directives the driver may be sent before it answers; one that has failed was answered."""
        known = self._engine.state.directives
        return max(0, IN_FLIGHT_MAX - sum(known[key].failures == sent for key, sent in self._sent.items()))

    def _until_due_s(self) -> float | None:
        """Until the next one is due; where there is no room for it, an answer wakes us."""
        if not self._room():
            return None
        due_ms = min((directive.due_ms for directive in self._unsent()), default=None)
        return None if due_ms is None else max(0.001, (due_ms - self._now_ms()) / 1000)

    def _now_ms(self) -> int:
        """Event time, which is what directives are due in."""
        return self._engine.time.now_ms()

    def _note_end(self) -> None:
        if self._engine.broken is not None:
            self.send_away(GoAway(str(self._engine.broken)))
        elif self._engine.closing:
            self.send_away(GoAway("the application is loaded anew"))
        elif (ending := self._engine.state.meta.ending) is not None:
            self.send_away(GoAway(f"the application {ending.told}"))

    def _note_suspension(self, suspended: Suspension | None) -> None:
        if suspended is not None and suspended is not self._suspended:
            self._ready.append(Notice(_told(self.application, suspended)))
        if suspended is None and self._suspended is not None:
            self._ready.append(Notice("deletion is resumed"))
        self._suspended = suspended


def _told(application: ApplicationId, suspended: Suspension) -> str:
    """For the driver's log, whose reader wants to know what was missed, and how deletion begins again."""
    return (
        f"deletion is suspended: {suspended.value}; the job goes on and nothing more is deleted early. "
        f"`shufflectl premature {application}` tells what was missed, "
        f"`shufflectl resume {application}` lets deletion go on"
    )


class Sessions:
    """The sessions that are open at this replica: one an application, the newest."""

    def __init__(self) -> None:
        self._open: dict[ApplicationId, OpenSession] = {}

    def replace(self, session: OpenSession) -> None:
        """The newest one; an earlier one of the application is sent away."""
        self._open = {key: known for key, known in self._open.items() if not known.closed}
        self.send_away(session.application, GoAway("a newer session of the application was opened here"))
        self._open[session.application] = session

    def send_away(self, application: ApplicationId, farewell: GoAway) -> None:
        """Ends the application's session, if one is open."""
        session = self._open.pop(application, None)
        if session is not None:
            session.send_away(farewell)

    def send_all_away(self, farewell: GoAway) -> None:
        """Ends every session."""
        for application in list(self._open):
            self.send_away(application, farewell)
