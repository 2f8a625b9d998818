"""What a log says of its application as a whole.

Responsible for name, versions, beginning and end, and for what is missing of these. Refuses to know jobs and shuffles.
Invariant: what the log does not say is empty, and told as a doubt.
"""

from __future__ import annotations

from collections.abc import Iterable

from coordinator.core import commands as c
from coordinator.core.ids import ApplicationId
from coordinator.core.values import Driver
from replay.history import records as r
from replay.history.descriptions import short

MOST_DIGITS = 18  #: Of a number that a text holds.
_NEWEST_SPARK = 4
#: Of PySpark's call sites: the program's own line, or the bridge between the two languages.
_PYTHON = (".py:", "NativeMethodAccessorImpl", "DirectMethodHandleAccessor")  # the last one: Java 18 and later


class Heading:
    """What is known of one application, as far as its log was read. ``name``: the log's, by its file."""

    def __init__(self, name: str) -> None:
        self.start = r.ApplicationStart()
        self.version = self.master = ""
        self.is_python = False
        self.ended = False
        self.end_ms = 0
        self._name = name
        self._told_id = ""  #: By a job, which may stand in a log without the start.

    @property
    def application(self) -> str:
        """Spark's id of it, or else the log's name."""
        return self.start.id or self._told_id or self._name

    @property
    def attempt(self) -> str:
        """Spark's attempt of the application; empty where the cluster manager makes only one."""
        return self.start.attempt or ""

    def registration(self) -> c.RegisterApplication:
        """The command with which the driver part would have registered it."""
        driver = Driver(
            self.application, self.attempt, self.start.name, self.start.user, self.version, master=self.master
        )
        return c.RegisterApplication(ApplicationId(f"{self.application} {self.attempt}".strip()), driver)

    def started_ms(self, first_ms: int) -> int:
        """When it began, in ms since the epoch: as its start says, but not after its first event."""
        return min(self.start.time, first_ms) if self.start.time > 0 else first_ms

    def why_not(self, record: r.ApplicationStart) -> str:
        """Why this start is not this application's; empty where it is. Rolled files repeat it, before the end."""
        if not self.start.time or (record == self.start and not self.ended):
            return ""
        who = "a second application starts in it" if record != self.start else "it starts again behind its end"
        return f"{who}, which is not counted; expected one application a log"

    def learn(self, version: str = "", master: str = "", told_id: str = "") -> None:
        """What a line says of the application besides. The first line that says it counts; for the master, the last."""
        self.version = self.version or version
        self.master = master or self.master
        self._told_id = self._told_id or told_id

    def see(self, call_site: str) -> None:
        """A call site: where in the program, or in Spark, a stage or an execution was made."""
        self.is_python = self.is_python or any(sign in call_site for sign in _PYTHON)

    def end(self, time_ms: int) -> None:
        """The application says that it ended; ``time_ms`` is not above 0 where it does not say when."""
        self.ended, self.end_ms = True, time_ms

    def missing(self) -> Iterable[str]:
        """Sentences about what the log lacks of the application's beginning and end."""
        if not self.start.time:
            yield "the start of the application is missing (in another file?): its name and first moments are not known"
        if not self.ended:
            yield "the end of the application is missing (it runs still, or its log is cut): counted to its last event"
        if self.ended and self.end_ms <= 0:
            yield "the end of the application does not say when it was: counted to its last event"

    def too_new(self) -> Iterable[str]:
        """A sentence, if the log was written by a Spark that this release does not know."""
        major = self.version.partition(".")[0]
        if major.isdecimal() and int(major[:MOST_DIGITS]) > _NEWEST_SPARK:
            spark = short(self.version)
            yield f"it was written by Spark {spark}, which is newer than this release; read as Spark 4's"
