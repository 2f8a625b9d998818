"""Finding and reading logs through a Spark session: a task for each log, or for some small ones.

Responsible for spreading the work, and for reading what only the session can reach. Refuses to know what is made of a
run. Invariant: a log is read by one task from its first line to its last; whatever happens to it is told in its place,
so that one bad log costs nobody else anything.

Local paths are opened by the Python workers themselves, wherever they run: on a cluster they must be on a disk that all
share. Any other URL goes through the session's Hadoop file systems (`SparkContext.binaryFiles`): each file then is in
a worker's memory once, packed as it is stored, and cannot have 2 GiB or more; Spark's rolled files have 128 MiB.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import IO, TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar
from urllib.parse import urlsplit

from replay.history import finding
from replay.history.finding import Log, Missing, Part
from replay.history.joining import Copy, Piece, as_one, joined, piece_of, whole
from replay.history.reading import NotALog, read
from replay.history.run import Run

if TYPE_CHECKING:
    from pyspark import RDD, Accumulator
    from pyspark.sql import SparkSession

T = TypeVar("T")

#: For a file: the task that reads it, its log within the task, its number within the log.
_Place: TypeAlias = tuple[int, int, int]
#: What one task reads at least, where logs are small: a task has a price of its own.
TASK_BYTES = 16 << 20
TASK_LOGS = 64
#: What `binaryFiles` can carry in one record.
LARGEST_BYTES = (2 << 30) - 1


@dataclass(frozen=True, slots=True)
class Refused:
    """A file or folder that gave no run, and why, in one line."""

    place: str
    why: str


@dataclass(frozen=True, slots=True)
class Read(Generic[T]):
    """What was made of one log; or None, and why not. ``piece``: which part of which run the log tells."""

    place: str
    found: T | None
    why: str = ""
    piece: Piece | None = None


def find(spark: SparkSession, places: Iterable[str]) -> tuple[list[Log], list[Refused]]:
    """The logs at or below these places: directories, files or URLs."""
    parts: list[Part] = []
    refused: list[Refused] = []
    for place in places:
        found, missing = _remote_parts(spark, place) if finding.is_url(place) else finding.local_parts(place)
        parts.extend(found)
        refused.extend(Refused(one.place, one.why) for one in missing + finding.without_events(found))
    return finding.sort(parts), refused


def _remote_parts(spark: SparkSession, place: str) -> tuple[list[Part], list[Missing]]:
    context: Any = spark.sparkContext
    try:
        path = context._jvm.org.apache.hadoop.fs.Path(place)  # noqa: SLF001 - PySpark has no other way
        system = path.getFileSystem(context._jsc.hadoopConfiguration())  # noqa: SLF001
        found = []
        for named in _named(system, path) if finding.is_pattern(place) else (path,):
            files = system.listFiles(named, True)
            while files.hasNext():
                status = files.next()
                found.append(Part(status.getPath().toString(), status.getLen()))
    except Exception as error:  # noqa: BLE001 - whatever a file system throws
        reason = str(getattr(error, "java_exception", error)).splitlines()[0]
        return [], [Missing(place, f"the Spark session cannot list it ({reason})")]
    why = "nothing is called so, or it" if finding.is_pattern(place) else "it"
    return found, [] if found else [Missing(place, f"{why} holds no file; expected Spark history logs")]


def settled(spark: SparkSession, place: str) -> tuple[str, bool]:
    """What Spark calls a place, and whether something is there. Without a scheme it lies in its default file system."""
    context: Any = spark.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(place)  # noqa: SLF001 - PySpark has no other way
    system = path.getFileSystem(context._jsc.hadoopConfiguration())  # noqa: SLF001
    return system.makeQualified(path).toString(), system.exists(path)


def _named(system: Any, pattern: Any) -> Iterator[Any]:
    """The paths that a path with wildcards names; it names itself where something is really called so."""
    if system.exists(pattern):
        yield pattern
        return
    for status in system.globStatus(pattern) or ():
        yield status.getPath()


def spread(
    spark: SparkSession, logs: Sequence[Log], make: Callable[[Run], T], done: Accumulator[int] | None = None
) -> RDD[Read[T]]:
    """What ``make`` makes of each log's run. ``done`` counts stored bytes as tasks end."""
    local = [log for log in logs if not finding.is_url(log.parts[0].path)]
    remote = [log for log in logs if finding.is_url(log.parts[0].path)]
    found = _spread_local(spark, local, make, done)
    return found.union(_spread_remote(spark, remote, make, done)) if remote else found


def each_run(
    spark: SparkSession, logs: Sequence[Log], make: Callable[[Run], T], done: Accumulator[int] | None = None
) -> RDD[Read[T]]:
    """What ``make`` makes of each run, wherever its parts lie; and what is no log, or a copy.

    Nothing is read before it is used, where workers open all files themselves. What only the session can open is read
    by this call, to know which logs are to be read as one; what was made of them stays with the workers.
    """
    found = spread(spark, logs, make, done)
    if not any(finding.is_url(log.parts[0].path) for log in logs):
        return _whole_where_read(found, make)
    return _whole_through_session(spark, found, make)


def _whole_where_read(found: RDD[Read[T]], make: Callable[[Run], T]) -> RDD[Read[T]]:
    def work(of_one: tuple[str, Iterable[Read[T]]]) -> list[Read[T]]:
        return whole(of_one[1], lambda logs: [_made(log, make, None) for log in logs], left_out)

    return found.keyBy(lambda one: one.piece.whose if one.piece is not None else one.place).groupByKey().flatMap(work)


def _whole_through_session(spark: SparkSession, found: RDD[Read[T]], make: Callable[[Run], T]) -> RDD[Read[T]]:
    from pyspark import StorageLevel

    found = found.persist(StorageLevel.MEMORY_AND_DISK)
    plan = joined(found.flatMap(lambda one: [one.piece] if one.piece is not None else []).collect())
    gone = frozenset({piece for run in plan.runs for piece in run} | {copy.piece for copy in plan.copies})
    if not gone:
        return found
    copies: list[Read[T]] = [left_out(copy) for copy in plan.copies]
    rest = found.filter(lambda one: one.piece not in gone).union(spark.sparkContext.parallelize(copies, 1))
    return rest.union(spread(spark, [as_one(run) for run in plan.runs], make)) if plan.runs else rest


def left_out(copy: Copy) -> Read[Any]:
    """The outcome of a log that is left out, since it is a copy."""
    return Read(copy.piece.log.place, None, copy.why)


# ---- local -----------------------------------------------------------------------------------------------------------


def _spread_local(
    spark: SparkSession, logs: Sequence[Log], make: Callable[[Run], T], done: Accumulator[int] | None
) -> RDD[Read[T]]:
    tasks = list(batches(logs))

    def work(batch: list[Log]) -> Iterator[Read[T]]:
        for log in batch:
            yield _made(log, make, done)

    return spark.sparkContext.parallelize(tasks, max(len(tasks), 1)).flatMap(work)


def batches(logs: Iterable[Log]) -> Iterator[list[Log]]:
    """Logs in batches, one for each task: the largest first and alone, small ones together."""
    batch: list[Log] = []
    for log in sorted(logs, key=lambda log: -log.bytes):
        batch.append(log)
        if sum(one.bytes for one in batch) >= TASK_BYTES or len(batch) == TASK_LOGS:
            yield batch
            batch = []
    if batch:
        yield batch


def _made(log: Log, make: Callable[[Run], T], done: Accumulator[int] | None, *opened: Any) -> Read[T]:
    try:
        run = read(log, *opened)
        return Read(log.place, make(run), piece=piece_of(log, run))
    except NotALog as error:
        return Read(log.place, None, str(error))
    except Exception as error:  # noqa: BLE001 - one log must never end the run of all
        return Read(log.place, None, f"it could not be analysed: {type(error).__name__}: {error}")
    finally:
        if done is not None:
            done.add(log.bytes)


# ---- through the session's file systems ------------------------------------------------------------------------------

_TOO_LARGE = (
    f"a file of it has more than {LARGEST_BYTES:,} bytes, which cannot be read through Spark's file systems; "
    "expected rolled files, or a copy on a local disk"
)
_COLON = (
    "a name in its path has a colon, which Spark's file systems list and do not find; "
    "expected a name without one, or a copy on a local disk"
)
_SIGN = (
    "its path holds one of {}[]*? or a comma, for which Spark's file systems look at all names beside it, "
    "and they fail at one"
)


def _why_not(log: Log) -> str:
    """Why Spark does not carry it to a worker; empty: it does."""
    if any(part.bytes > LARGEST_BYTES for part in log.parts):
        return _TOO_LARGE
    return _COLON if any(":" in _path(part.path) for part in log.parts) else ""


def _why_not_looked_for(log: Log, look_for: Callable[[str], object]) -> str:
    """Why the pattern that stands for a name cannot be looked for; empty: it can, or the name stands for itself."""
    try:
        for part in log.parts:
            if (pattern := _escaped(part.path)) != part.path:
                look_for(pattern)
    except Exception as error:  # noqa: BLE001 - whatever a file system throws
        reason = str(getattr(error, "java_exception", error)).splitlines()[0]
        return f"{_SIGN} ({reason}); expected a name without these signs, or a copy on a local disk"
    return ""


def _look_for(context: Any, pattern: str) -> None:
    path = context._jvm.org.apache.hadoop.fs.Path(pattern)  # noqa: SLF001 - PySpark has no other way
    path.getFileSystem(context._jsc.hadoopConfiguration()).globStatus(path)  # noqa: SLF001


def _spread_remote(
    spark: SparkSession, logs: Sequence[Log], make: Callable[[Run], T], done: Accumulator[int] | None
) -> RDD[Read[T]]:
    """Reads the logs that Spark can carry to a worker; the others are refused, with the reason."""
    context = spark.sparkContext
    why_not = [_why_not(log) or _why_not_looked_for(log, partial(_look_for, context)) for log in logs]
    carried = [log for log, why in zip(logs, why_not, strict=True) if not why]
    refused: list[Read[T]] = [Read(log.place, None, why) for log, why in zip(logs, why_not, strict=True) if why]
    if not carried:
        return context.parallelize(refused, 1)
    found = _spread_carried(context, list(batches(carried)), make, done)
    return found.union(context.parallelize(refused, 1)) if refused else found


def _spread_carried(
    context: Any, tasks: Sequence[Sequence[Log]], make: Callable[[Run], T], done: Accumulator[int] | None
) -> RDD[Read[T]]:
    """All files of a log come to one partition, in their order, one after another; small logs together."""
    places = _places(tasks)
    by_path = {_path(url): place for url, place in places.items()}

    def keyed(file: tuple[str, bytes]) -> Iterator[tuple[_Place, bytes]]:
        """A file system may list a file under one authority and open it under another."""
        place = places.get(file[0]) or by_path.get(_path(file[0]))
        if place is not None:
            yield place, file[1]

    def work(files: Iterable[tuple[_Place, bytes]]) -> Iterator[Read[T]]:
        for (task, at), of_log in groupby(files, key=lambda file: file[0][:2]):
            yield _made(tasks[task][at], make, done, _opener(of_log))

    files: RDD[tuple[_Place, bytes]] = context.union(list(_files(context, places))).flatMap(keyed)
    return files.repartitionAndSortWithinPartitions(len(tasks), lambda place: place[0]).mapPartitions(work)


def _places(tasks: Sequence[Sequence[Log]]) -> dict[str, _Place]:
    """By URL, for each file: the task that reads it, its log within the task, and its number within the log."""
    return {
        part.path: (task, at, number)
        for task, batch in enumerate(tasks)
        for at, log in enumerate(batch)
        for number, part in enumerate(log.parts)
    }


def _files(context: Any, places: dict[str, _Place]) -> Iterator[RDD[tuple[str, bytes]]]:
    """The files, some at a time: with each that it opens Spark reads the names of all that were asked for with it."""
    paths = list(places)
    for at in range(0, len(paths), TASK_LOGS):
        some = paths[at : at + TASK_LOGS]
        yield context.binaryFiles(",".join(map(_escaped, some)), len({places[path][0] for path in some}))


def _opener(files: Iterator[tuple[_Place, bytes]]) -> Callable[[Part], AbstractContextManager[IO[bytes]]]:
    """Opens the next file: they come in the order in which they are asked for."""

    def open_part(part: Part) -> AbstractContextManager[IO[bytes]]:
        found = next(files, None)
        if found is None:
            raise OSError(f"{part.path} was listed and is not there any more")
        return nullcontext(io.BytesIO(found[1]))

    return open_part


def _path(url: str) -> str:
    return urlsplit(url).path


def _escaped(path: str) -> str:
    """A pattern that finds the path. Hadoop splits at commas and counts braces, escaped or not; `?` is any letter, and
    what else it finds was not asked for."""
    return "".join("?" if letter in "{}[]*?,\\" else letter for letter in path)
