"""One run of one application, as its Spark history log tells it.

Responsible for the value that reading a log gives. Refuses to know how logs are found and read, and what policies make
of them. Invariant: ``facts`` are what the driver part would have told the coordinator had it been attached, in the
log's order, with times that never run backwards; the first registers the application, the last is at ``ended_ms``.

A history log holds no shuffle id. The id of the map stage's first RDD stands in for it as app shuffle: one to one, but
where one JVM RDD was given to two shuffle dependencies (PySpark and SQL never do). A log shows no handles either: the
roots in ``facts`` are those that it lets one infer, running executions (what they went on to read) and persisted RDDs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from coordinator.core.commands import Command
from coordinator.core.ids import AppShuffle

#: Milliseconds since the epoch, and what was reported then.
Fact: TypeAlias = tuple[int, Command]


@dataclass(frozen=True, slots=True)
class Written:
    """One app shuffle: what it weighed, and what it cost to write.

    ``task_ms``: run time of all tasks that wrote it once, in full; what is written again costs that again.
    """

    app_shuffle: AppShuffle
    call_site: str = ""
    maps: int = 0
    bytes: int = 0
    task_ms: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt of an application. ``ended``: the log holds its end; else ``ended_ms`` is the last time it tells."""

    application_id: str
    attempt: str = ""
    name: str = ""
    user: str = ""
    spark_version: str = ""
    master: str = ""
    is_python: bool = False  #: Its call sites are PySpark's.
    readers_known: bool = True  #: The log says which stage reads which.
    begun: bool = True  #: The log holds its start; else ``started_ms`` is the first time it tells.
    started_ms: int = 0
    ended_ms: int = 0
    ended: bool = False
    warnings: tuple[str, ...] = ()
    shuffles: tuple[Written, ...] = ()
    facts: tuple[Fact, ...] = ()
    task_ms: int = 0  #: Run time of all its tasks that ended well.
    files: tuple[str, ...] = ()
    place: str = ""  #: The file, or the folder of several.
    raw_bytes: int = 0  #: What was read, uncompressed.
    events: int = 0  #: Lines of it that could be read.
