"""The verb `advise`: what the jobs of ordinary Spark history logs would give back.

Responsible for the choices a person has, for progress, and for the tables. Refuses to know how logs are read and judged
(`replay.advise`). Invariant: results go to stdout or to the files that were named, everything else to stderr; a bad
file costs a line.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from coordinator.cli import output
from coordinator.cli.exits import Exit, failure
from coordinator.cli.finding import check_said, nothing_said
from coordinator.cli.here import Here
from coordinator.cli.output import Column
from coordinator.cli.spark import Confs, conf_of, spark_session
from coordinator.cli.targets import check_apart, check_file, check_folder, written
from coordinator.cli.verb import COMMON, verb
from listener_bridge.durations import milliseconds
from replay.history.finding import is_url
from replay.units import brief_byte_hours, count, few, printable, size, span

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from replay.advise.advice import Advice
    from replay.advise.report import Report

_PANEL = "Where results go"


def advise(
    here: Here,
    places: Annotated[
        list[str],
        typer.Argument(metavar="DIR", help="Directories, files or URLs of Spark history logs; wildcards are taken."),
    ],
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="One page, works offline.", rich_help_panel=_PANEL)
    ] = None,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="A row an application.", rich_help_panel=_PANEL)
    ] = None,
    parquet: Annotated[
        str | None,
        typer.Option("--parquet", metavar="DIR", help="Everything, written by Spark.", rich_help_panel=_PANEL),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over what is there in --parquet.", rich_help_panel=_PANEL)
    ] = False,
    top: Annotated[int, typer.Option("--top", help="Applications in the table.", min=1)] = 25,
    grace: Annotated[str, typer.Option("--grace", help="Grace period of `delayed`, as 30s or 10min.")] = "60s",
    master: Annotated[
        str | None, typer.Option("--master", help="Spark to run on; none: this machine, all cores.")
    ] = None,
    conf: Confs = None,
) -> None:
    """Says which applications would give disk back, how much, and at what risk, from Spark's own history logs."""
    _check_libraries()
    if "" in places:
        raise nothing_said("the name of a directory", "a path or a URL")
    check_said({"--parquet": parquet})
    grace_ms = _grace(grace)
    check_apart({"--html": html, "--csv": csv_file, "--parquet": parquet})
    if parquet is not None:
        check_folder(parquet, places, force)
    for file in filter(None, (html, csv_file)):
        check_file(file, force=True, sources=places)
    with _session(master, conf_of(conf)) as spark:
        if parquet is not None:
            parquet = _where_spark_writes(spark, parquet, places, force)
        report = _make(spark, places, grace_ms)
        unread = _shown(here, report, top)
        if parquet is not None:
            _write_parquet(spark, places, grace_ms, parquet, force)
    if html is not None:
        _write_html(report, html)
    if csv_file is not None:
        _write_csv(report, csv_file)
    if unread is not None:
        raise unread
    if not report.advices:
        raise failure(
            Exit.NOT_FOUND,
            f"no application was found at {few(places)}",
            "Spark history logs",
            "The report names each file that is none, and why.",
        )


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    verb(app, options=("output", *COMMON))(advise)


# ---- choices ---------------------------------------------------------------------------------------------------------


def _grace(text: str) -> int:
    try:
        return milliseconds(text)
    except ValueError as error:
        raise failure(Exit.USAGE, f"--grace is {text!r}", "a duration as 30s or 10min", "Write one.") from error


def _check_libraries() -> None:
    try:
        import msgspec  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError as error:
        raise failure(
            Exit.FAILED,
            f"{error.name} cannot be imported here",
            f"a Python with PySpark and the advisor's libraries (this is {sys.executable})",
            "Install them: pip install '.[spark,advise]' in a clone.",
        ) from error


def _session(master: str | None, conf: dict[str, str]) -> AbstractContextManager[SparkSession]:
    """Where nobody says where, on this machine."""
    where = master or ("" if os.environ.get("MASTER") else "local[*]")
    return spark_session("advise", where, conf)


def _make(spark: SparkSession, places: list[str], grace_ms: int) -> Report:
    from replay.advise import report

    with _progress("Reading logs") as tell:
        return report.make(spark, places, grace_ms, tell)


@contextmanager
def _progress(doing: str) -> Iterator[Any]:
    """A bar on stderr, where a person looks at it."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn(doing), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("read", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


# ---- files -----------------------------------------------------------------------------------------------------------


def _write_html(report: Report, file: Path) -> None:
    from replay.advise import page

    _written(file, page.page(report))


def _write_csv(report: Report, file: Path) -> None:
    from io import StringIO

    from replay.advise.rows import flat

    found = [{name: _cell_text(value) for name, value in flat(advice).items()} for advice in report.advices]
    text = StringIO()
    writer = csv.DictWriter(text, fieldnames=list(found[0]) if found else ["application_id"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)
    _written(file, text.getvalue())


def _cell_text(value: Any) -> Any:
    """A name that begins like a formula is text: whoever names a job does not compute in its reader's spreadsheet."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def _written(file: Path, text: str) -> None:
    output.remark(f"wrote {file} ({size(written(file, text))})")


def _where_spark_writes(spark: SparkSession, folder: str, places: list[str], force: bool) -> str:
    """A folder without a scheme lies in Spark's default file system, which may be another than this machine's."""
    from replay.history.gathering import settled

    to, is_there = settled(spark, folder)
    if not is_url(to):
        return folder
    check_folder(to, places, force)
    if is_there and not force:
        raise failure(Exit.USAGE, f"{to} is there already", "a new folder", "Choose another, or say --force.")
    return to


def _write_parquet(spark: SparkSession, places: list[str], grace_ms: int, folder: str, force: bool) -> None:
    from replay.advise import frames

    mode = "overwrite" if force else "errorifexists"
    with _progress("Reading logs for the tables") as tell:
        frames.write(spark, places, folder, mode, grace_ms, tell)
    output.remark(f"wrote {folder}")


# ---- tables ----------------------------------------------------------------------------------------------------------


def _shown(here: Here, report: Report, top: int) -> OSError | None:
    """Why not, where nobody reads on or no room is left: files that were named are written all the same."""
    try:
        _show(here, report, top)
    except OSError as error:
        return error
    return None


def _show(here: Here, report: Report, top: int) -> None:
    if here.form != "table":
        from replay.advise import rows

        output.data(here.form, rows.report(report))
        return
    output.say(_head(report))
    if report.advices:
        shown = [{"advice": advice} for advice in report.advices[:top]]
        output.say(output.table(shown, _COLUMNS))
    if len(report.advices) > top:
        output.say(f"… and {count(len(report.advices) - top, 'application')} more: --top, --csv, --html or -o json.")
    _show_reasons(report, top)
    _show_left_out(report)


def _head(report: Report) -> str:
    read = f"{count(len(report.advices), 'application')}, {size(report.raw_bytes)} of log."
    return f"{report.headline}\n{read} A history log does not show the program's variables: see docs/advise.md.\n"


def _show_reasons(report: Report, top: int) -> None:
    from replay.advise.report import TURN_ON

    for advice in report.advices[:top]:
        if advice.verdict in TURN_ON or advice.warnings:
            who = printable(f"{advice.label}  {advice.application_id}" if advice.name else advice.label)
            output.say(f"\n{who}")
            for said in (advice.reason, *(f"Note: {warning}." for warning in advice.warnings)):
                output.say(output.indented(Text(printable(said))))


def _show_left_out(report: Report) -> None:
    if report.refused:
        output.say(f"\n{count(len(report.refused), 'file')} left out:")
    for refused in report.refused:
        output.say(output.indented(Text(printable(f"{refused.place}: {refused.why}"))))


def _missed(advice: Advice) -> str:
    found = [f"{one.holder} {one.missed}" for one in advice.figures if one.missed]
    return few(found) or "none"


def _cell(show: Any) -> Any:
    return lambda row: show(row["advice"])


_COLUMNS = (
    Column("APPLICATION", _cell(lambda a: a.label), titles=True),
    Column("ID", _cell(lambda a: a.application_id), spare=True),
    Column("SPARK", _cell(lambda a: a.spark_version), spare=True),
    Column("RAN", _cell(lambda a: span(a.ended_ms - a.started_ms)), right=True, spare=True),
    Column("PEAK", _cell(lambda a: size(a.of("spark").peak_bytes)), right=True),
    Column("NEEDED", _cell(lambda a: size(a.of("oracle").peak_bytes)), right=True),
    Column("HELD", _cell(lambda a: brief_byte_hours(a.of("spark").byte_seconds)), right=True),
    Column("GIVES BACK", _cell(lambda a: brief_byte_hours(a.gain_byte_seconds)), right=True),
    Column("AT MOST", _cell(lambda a: brief_byte_hours(a.possible_byte_seconds)), right=True),
    Column("TOO EARLY", _cell(_missed)),
    Column("ADVICE", _cell(lambda a: a.verdict.value)),
)
