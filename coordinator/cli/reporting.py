"""The verb that weighs: `report`.

Responsible for starting Spark, for the tables that a person reads first, and for their order. Refuses to
compute: `replay.frames.analyses` does. Invariant: a table holds the heaviest rows first, and what could not be read is
named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.text import Text

from coordinator.archive.open import open_archive
from coordinator.cli import output
from coordinator.cli.exits import Exit, Failure, failure
from coordinator.cli.finding import check_named, find, is_id
from coordinator.cli.here import Here, default_store
from coordinator.cli.looking import All, Applications
from coordinator.cli.output import Column, Row
from coordinator.cli.spark import Confs, conf_of, spark_session
from coordinator.cli.verb import COMMON, verb
from replay.units import count, place, size
from state_backend.address import EtcdAddress, parse_address

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MOST = 10
_PROBLEMS_SHOWN = 5
_SHORT = 8

_CONF = {"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "8"}
#: Executors on other machines have to reach the driver; those in its own process do not.
_ALONE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


@dataclass(frozen=True, slots=True)
class Table:
    """One of the report's tables. ``answer`` gives its rows, the weightiest first."""

    name: str
    title: str
    answer: Callable[[DataFrame], DataFrame]
    order: Sequence[str]
    columns: Sequence[Column]


def report(
    here: Here,
    apps: Applications = None,
    whole: All = False,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help=f"Rows of each table, at most; shown {_MOST}, else all.")
    ] = None,
    master: Annotated[str, typer.Option("--master", help="Spark to run on; none: this machine, all cores.")] = "",
    conf: Confs = None,
) -> Any:
    """Weighs logs with Spark: byte-seconds held, needed and saved; what was missed; what it cost.

    Of a store it weighs the applications that are named, or --all; of --log all that is there, unless some are named.
    """
    check_named(apps or [], whole, is_log=here.chosen()[0] == "log")
    return _report(here, apps or [], here.most(limit, _MOST), master, conf_of(conf))


async def _report(here: Here, named: Sequence[str], limit: int | None, master: str, conf: Mapping[str, str]) -> None:
    reading = _without_what_is_missing(reading_of(here), is_told=bool(named))
    wanted = await _wanted(here, named)
    _weigh(here, wanted, reading, limit, lambda: _spark(master, conf))


def _weigh(
    here: Here,
    wanted: Sequence[str],
    reading: Mapping[str, Any],
    limit: int | None,
    session: Callable[[], AbstractContextManager[SparkSession]],
) -> None:
    with session() as spark, _options_told():
        from replay import frames

        events = frames.events(spark, application=wanted, **reading).cache()
        _check_there(events, wanted)
        _show(here, events, limit)


def _check_there(events: DataFrame, wanted: Sequence[str]) -> None:
    there = {row["application"] for row in events.select("application").distinct().collect()} if wanted else set()
    if missing := set(wanted) - there:
        told = f"there is no event of application {', '.join(sorted(missing))}"
        raise failure(Exit.NOT_FOUND, told, "applications that are there", "Without any, all that is there is weighed.")


async def _wanted(here: Here, named: Sequence[str]) -> list[str]:
    """The ids of the applications that are named; of an export, or a folder, Spark alone reads the names."""
    if not named or _is_export(*here.chosen()):
        _check_ids(here.chosen()[1], named)
        return list(named)
    async with here.source() as source:
        return [str(await find(source, one)) for one in named]


def _is_export(kind: str, where: str) -> bool:
    from replay.frames.sources.kinds import is_table

    return kind == "log" and (Path(where).is_dir() or is_table(Path(where)))


def _check_ids(where: str, named: Sequence[str]) -> None:
    wrong = next((one for one in named if not is_id(one)), None)
    if wrong is not None:
        told = f"{where} is an export, or a folder of them, and the application is {wrong!r}"
        raise failure(Exit.USAGE, told, "whole ids", "Without any, all that is there is weighed, and told by its id.")


def reading_of(here: Here) -> dict[str, Any]:
    """The source that was chosen, as `frames.events` takes it: a password apart from its address."""
    named, place = here.chosen()
    if named == "server":
        told = f"`server` is {place}, which Spark's tasks do not read"
        raise failure(Exit.USAGE, told, "a store or a log", "Name one with --store or --log.")
    if named == "log":
        return {"url": place}
    address = place or default_store()
    parsed = parse_address(address)
    if not isinstance(parsed, EtcdAddress) or parsed.credentials is None:
        return {"url": address, "archive": here.config.archive}
    parts = urlsplit(address)
    open_to_all = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    login = {"user": parsed.credentials.user, "password": parsed.credentials.password}
    return {"url": open_to_all, "archive": here.config.archive, **login}


def _without_what_is_missing(reading: dict[str, Any], is_told: bool) -> dict[str, Any]:
    """An archive may not be there since nothing has moved yet: no damage. ``is_told``: who looks up names says it."""
    named = reading.get("archive")
    archive = open_archive(named) if named else None
    if archive is None or not archive.is_missing:
        return reading
    if not is_told:
        output.remark(archive.not_there)
    return {**reading, "archive": ""}


@contextmanager
def _options_told() -> Iterator[None]:
    from replay.frames.options import NotThere, WrongOption

    try:
        yield
    except WrongOption as error:
        raise Failure(Exit.NOT_FOUND if isinstance(error, NotThere) else Exit.USAGE, str(error)) from error


def _show(here: Here, events: DataFrame, limit: int | None) -> None:
    answers = {table.name: _rows(table.answer(events).orderBy(*_order(table)), limit) for table in _TABLES}
    found, more = cut(answers, limit)
    problems = [row["problem"] for row in events.where("problem IS NOT NULL").select("problem").limit(100).collect()]
    if here.form == "table":
        for table in _TABLES:
            output.say(Text(f"\n{table.title}", style="bold"))
            output.say(output.table(found[table.name], table.columns) if found[table.name] else "None.")
    else:
        output.data(here.form, found)
    for told in more:
        output.remark(told)
    for problem in problems[:_PROBLEMS_SHOWN]:
        output.remark(problem)
    if problems:
        told = f"{count(len(problems), 'thing')} could not be read"
        raise failure(Exit.DAMAGED, told, "whole logs", "What is shown above is what could be read.")


def _rows(frame: DataFrame, limit: int | None) -> list[Row]:
    """One more than is shown, where there is one."""
    wanted = frame if limit is None else frame.limit(limit + 1)
    return [row.asDict(recursive=True) for row in wanted.collect()]


def cut(answers: Mapping[str, list[Row]], limit: int | None) -> tuple[dict[str, list[Row]], list[str]]:
    """What is shown of each table, and what is said of those that go on."""
    more = [name for name, rows in answers.items() if limit is not None and len(rows) > limit]
    told = [f"{', '.join(more)}: more rows follow; a larger --limit shows them"] if more else []
    return {name: rows[:limit] for name, rows in answers.items()}, told


def _order(table: Table) -> list[Any]:
    from pyspark.sql import functions as F  # noqa: N812

    return [F.desc(name[1:]) if name.startswith("-") else F.asc(name) for name in table.order]


def _spark(master: str, conf: Mapping[str, str]) -> AbstractContextManager[SparkSession]:
    """On all processors of this machine, unless ``master`` says where."""
    try:
        import pyarrow as pa  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError as error:
        raise failure(
            Exit.FAILED,
            f"a library is missing ({error})",
            "pyspark and pyarrow",
            "pip install '.[spark,frames]' in a clone.",
        ) from error
    return spark_session("report", master or "local[*]", settings(master, conf))


def settings(master: str, conf: Mapping[str, str]) -> dict[str, str]:
    """Confs of the session; what was given counts before ours."""
    return {**_CONF, **({} if master else _ALONE), **conf}


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    verb(app, options=("store", "log", "archive", "output", *COMMON))(report)


# ---- tables ----------------------------------------------------------------------------------------------------------


def _weights_of_applications(events: DataFrame) -> DataFrame:
    from replay.frames import analyses

    return analyses.byte_seconds(events)


def _weights_of_call_sites(events: DataFrame) -> DataFrame:
    from replay.frames import analyses

    return analyses.byte_seconds(events, by=("application", "call_site"))


def _premature(events: DataFrame) -> DataFrame:
    from replay.frames import analyses

    return analyses.premature_rate(events)


def _recomputed(events: DataFrame) -> DataFrame:
    from replay.frames import analyses

    return analyses.recomputations(events)


def _holders(events: DataFrame) -> DataFrame:
    from replay.frames import analyses

    return analyses.top_holders(events, limit=None)


def _weight(name: str) -> Callable[[Row], str]:
    """`1.2 GB·s`."""
    return lambda row: f"{size(round(row[name]))}·s"


_APPLICATION = Column("APPLICATION", lambda r: str(r["application"])[:_SHORT])
_WEIGHTS = (
    Column("GENERATIONS", lambda r: r["generations"], right=True),
    Column("HELD", _weight("held_byte_seconds"), right=True),
    Column("NEEDED", _weight("needed_byte_seconds"), right=True),
    Column("SAVED", _weight("saved_byte_seconds"), right=True),
    Column("COULD SAVE", _weight("could_save_byte_seconds"), right=True),
)
_CALL_SITE = Column("CALL SITE", lambda r: place(r["call_site"] or ""))

_TABLES = (
    Table("applications", "Byte-seconds by application", _weights_of_applications, ("-held_byte_seconds",
          "application"), (_APPLICATION, *_WEIGHTS)),
    Table("call_sites", "Byte-seconds by call site", _weights_of_call_sites, ("-held_byte_seconds", "application",
          "call_site"), (_APPLICATION, *_WEIGHTS, _CALL_SITE)),
    Table("premature", "Let go early, and missed", _premature, ("-missed", "-let_go", "application"), (
        _APPLICATION,
        Column("LET GO", lambda r: r["let_go"], right=True),
        Column("MISSED", lambda r: r["missed"], right=True),
        Column("RATE", lambda r: "" if r["premature_rate"] is None else f"{r['premature_rate']:.1%}", right=True),
        Column("BYTES", lambda r: size(r["missed_bytes"]), right=True),
    )),
    Table("recomputations", "Recoveries, and what they wrote again", _recomputed, ("-bytes_again", "application",
          "recovery"), (
        _APPLICATION,
        Column("SHUFFLE", lambda r: f"#{r['shuffle_id']}", right=True),
        Column("WHY", lambda r: "deleted too early" if r["premature"] else "lost"),
        Column("AGAIN", lambda r: size(r["bytes_again"]), right=True),
        Column("STAGE TIME", lambda r: f"{r['stage_seconds']:.1f} s", right=True),
        _CALL_SITE,
    )),
    Table("holders", "Names, plans and objects that kept most", _holders, ("-byte_seconds", "application", "who"), (
        _APPLICATION,
        Column("KIND", lambda r: r["root_kind"]),
        Column("KEPT", _weight("byte_seconds"), right=True),
        Column("WHO", lambda r: place(r["who"])),
    )),
)  # fmt: skip
