"""The report as one HTML page.

Responsible for what a reader sees: the headline, the comparison, the ranked table, each application, what was left out
and what a log cannot know. Refuses to compute figures. Invariant: the page needs nothing but itself; every text that
came from a log is escaped; its size is bounded, however many applications there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from replay.advise import drawing
from replay.advise.advice import DELAYED, EAGER, FRONTIER, HOLDERS, ORACLE, SPARK, Advice, Figures, ShuffleAdvice
from replay.advise.report import TURN_ON, Report
from replay.units import brief_byte_hours, count, moment, place, size, span

MOST_ROWS = 2_000
MOST_SECTIONS = 200
MOST_SHUFFLES = 50
MOST_LEFT_OUT = 1_000

_NAMES = {
    SPARK: "Spark alone",
    FRONTIER: "frontier",
    EAGER: "eager",
    DELAYED: "delayed",
    ORACLE: "oracle",
}


def page(report: Report) -> str:
    """The whole page."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<title>What Spark applications would give back</title>"
        f"<style>\n{_file('page.css')}</style></head><body><main>\n"
        f"{_head(report)}{_ranking(report)}{_sections(report)}{_left_out(report)}{_limits(report)}"
        f"</main><script>\n{_file('page.js')}</script></body></html>\n"
    )


def _file(name: str) -> str:
    return files("replay.advise").joinpath(name).read_text(encoding="utf-8")


# ---- the head --------------------------------------------------------------------------------------------------------


def _head(report: Report) -> str:
    read = f"{count(len(report.advices), 'run')} of applications, {size(report.raw_bytes)} of Spark history logs"
    when = ""
    if report.advices:
        first, last = min(a.started_ms for a in report.advices), max(a.ended_ms for a in report.advices)
        when = f", from {moment(first)[:10]} to {moment(last)[:10]}"
    return (
        "<header><h1>Shuffle data that nobody reads any more</h1>"
        f'<p class="headline">{escape(report.headline)}</p><p class="dim">{read}{when}.</p>{_comparison(report)}'
        "</header>\n"
    )


def _comparison(report: Report) -> str:
    most = report.held(SPARK)
    if not most:
        return ""
    rows = "".join(
        f'<span>{_name(holder, report)}</span><div class="track"><div class="fill {holder}" '
        f'style="width:{100 * report.held(holder) / most:.2f}%"></div></div>'
        f'<span class="number">{brief_byte_hours(report.held(holder))}</span>'
        for holder in HOLDERS
    )
    return (
        f'<div class="bars" role="img" aria-label="byte-hours held, by who decides">{rows}</div>'
        '<p class="dim">Bytes of shuffle data times the hours they were held, over all applications. The oracle holds '
        "each shuffle until its last reader is done.</p>"
    )


def _name(holder: str, report: Report) -> str:
    return f"delayed by {span(report.grace_ms)}" if holder == DELAYED else _NAMES[holder]


# ---- the table -------------------------------------------------------------------------------------------------------


def _ranking(report: Report) -> str:
    if not report.advices:
        return ""
    shown = report.advices[:MOST_ROWS]
    headings = (
        ("Application", ""),
        ("Ran", "n"),
        ("Peak", "n"),
        ("Peak needed", "n"),
        ("Held", "n"),
        ("Gives back", "n"),
        ("At most", "n"),
        ("Too early", "n"),
        ("Advice", ""),
    )
    rows = "".join(_ranked(at, advice) for at, advice in enumerate(shown))
    return (
        f"<h2>Applications, by what they would give back</h2>{_table(headings, rows, sortable=True)}"
        f"{_more(len(report.advices), len(shown), 'application')}"
    )


def _ranked(at: int, advice: Advice) -> str:
    name = escape(advice.label)
    linked = f'<a href="#a{at}">{name}</a>' if at < MOST_SECTIONS else name
    spark, oracle = advice.of(SPARK), advice.of(ORACLE)
    about = escape(" · ".join(filter(None, (_other_id(advice), _version(advice), advice.user))))
    missed = max(figures.missed for figures in advice.figures)
    return (
        f'<tr><td class="name">{linked}<small>{about}</small></td>'
        + _number(advice.ended_ms - advice.started_ms, span(advice.ended_ms - advice.started_ms))
        + _number(spark.peak_bytes, size(spark.peak_bytes))
        + _number(oracle.peak_bytes, size(oracle.peak_bytes))
        + _number(spark.byte_seconds, brief_byte_hours(spark.byte_seconds))
        + _number(advice.gain_byte_seconds, _gain(advice))
        + _number(advice.possible_byte_seconds, brief_byte_hours(advice.possible_byte_seconds))
        + _number(missed, f'<span class="bad">{missed}</span>' if missed else "0")
        + f"<td>{_pill(advice)}</td></tr>"
    )


def _other_id(advice: Advice) -> str:
    return advice.application_id if advice.name else ""


def _gain(advice: Advice) -> str:
    shown = brief_byte_hours(advice.gain_byte_seconds)
    return f'<span class="gain">{shown}</span>' if advice.verdict in TURN_ON else '<span class="dim">-</span>'


def _pill(advice: Advice) -> str:
    return f'<span class="pill{" on" if advice.verdict in TURN_ON else ""}">{advice.verdict.value}</span>'


def _version(advice: Advice) -> str:
    version = advice.spark_version
    return f"Spark {version}" if version[:1].isdigit() else version


# ---- each application ------------------------------------------------------------------------------------------------


def _sections(report: Report) -> str:
    if not report.advices:
        return ""
    shown = report.advices[:MOST_SECTIONS]
    drawn = "".join(_section(at, advice, report) for at, advice in enumerate(shown))
    return f"<h2>Each application</h2>{drawn}{_more(len(report.advices), len(shown), 'application')}"


def _section(at: int, advice: Advice, report: Report) -> str:
    opened = " open" if at == 0 and advice.verdict in TURN_ON else ""
    gain = _gain(advice) if advice.verdict in TURN_ON else ""
    return (
        f'<details class="application" id="a{at}"{opened}><summary><span class="who">{escape(advice.label)}</span>'
        f'<span class="dim">{escape(_version(advice))}</span><span class="what">{gain} {_pill(advice)}</span></summary>'
        f'<div class="inside"><p>{_ticks(advice.reason)}</p>{_about(advice)}{_warnings(advice.warnings)}'
        f"{_pictures(advice)}{_figures(advice, report)}{_shuffles(advice)}</div></details>\n"
    )


def _about(advice: Advice) -> str:
    told = (
        _other_id(advice),
        advice.user,
        f"{moment(advice.started_ms)}, {span(advice.ended_ms - advice.started_ms)}",
        f"{span(int(advice.task_seconds * 1000))} of task time",
        f"{count(advice.shuffle_count, 'shuffle')}, {size(advice.written_bytes)} written",
    )
    return f'<p class="dim">{escape(" · ".join(filter(None, told)))}</p><p class="dim">{escape(advice.place)}</p>'


def _warnings(warnings: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(warning)}</li>" for warning in warnings)
    return f'<ul class="warnings">{items}</ul>' if items else ""


def _pictures(advice: Advice) -> str:
    areas, bars = drawing.areas(advice), drawing.bars(advice)
    if not areas:
        return ""
    key = (
        '<div class="key"><span><i style="background:var(--needed)"></i>still to be read</span>'
        '<span><i style="background:var(--held)"></i>held, and never read again</span></div>'
    )
    return (
        f"<h3>Shuffle data over time{_of_the_heaviest(advice)}</h3><figure>{areas}</figure>{key}"
        f"<h3>{_bars_heading(advice)}</h3><figure>{bars}</figure>"
    )


def _of_the_heaviest(advice: Advice) -> str:
    shown = len(advice.shuffles)
    return f", of the {shown} shuffles that were held most for nothing" if shown < advice.shuffle_count else ""


def _bars_heading(advice: Advice) -> str:
    if advice.shuffle_count > drawing.MOST_BARS:
        return f"The {drawing.MOST_BARS} shuffles that were held most for nothing"
    return "Each shuffle"


def _figures(advice: Advice, report: Report) -> str:
    headings = (
        ("Who decides", ""),
        ("Peak", "n"),
        ("Held", "n"),
        ("Deleted early", "n"),
        ("Too early", "n"),
        ("Written again", "n"),
        ("Task time again", "n"),
    )
    rows = "".join(_figures_row(advice.of(holder), _name(holder, report)) for holder in HOLDERS)
    return f"<h3>What each rule would have held</h3>{_table(headings, rows)}"


def _figures_row(figures: Figures, name: str) -> str:
    missed = f'<span class="bad">{figures.missed}</span>' if figures.missed else "0"
    return (
        f"<tr><td>{name}</td>"
        + _number(figures.peak_bytes, size(figures.peak_bytes))
        + _number(figures.byte_seconds, brief_byte_hours(figures.byte_seconds))
        + _number(figures.deletions, f"{figures.deletions:,}")
        + _number(figures.missed, missed)
        + _number(figures.recomputed_bytes, size(figures.recomputed_bytes))
        + _number(figures.recomputed_task_seconds, span(int(figures.recomputed_task_seconds * 1000)))
        + "</tr>"
    )


def _shuffles(advice: Advice) -> str:
    if not advice.shuffles:
        return ""
    shown = advice.shuffles[:MOST_SHUFFLES]
    headings = (
        ("Shuffle", "n"),
        ("Call site", ""),
        ("Size", "n"),
        ("Task time to write", "n"),
        ("Read", "n"),
        ("Held past last read", "n"),
        ("Byte-hours of that", "n"),
        ("Too early under", ""),
    )
    rows = "".join(_shuffle(one) for one in shown)
    return (
        f"<h3>Shuffles, by what was held for nothing</h3>{_table(headings, rows, sortable=True)}"
        f"{_more(advice.shuffle_count, len(shown), 'shuffle')}"
    )


def _shuffle(one: ShuffleAdvice) -> str:
    return (
        "<tr>"
        + _number(one.app_shuffle, str(one.app_shuffle))
        + f'<td class="site">{escape(place(one.call_site))}</td>'
        + _number(one.bytes, size(one.bytes))
        + _number(one.task_seconds, span(int(one.task_seconds * 1000)))
        + _number(one.reads, count(one.reads, "time") if one.reads else "never")
        + _number(one.idle_ms, span(one.idle_ms))
        + _number(one.idle_byte_seconds, brief_byte_hours(one.idle_byte_seconds))
        + f'<td class="bad">{escape(", ".join(one.too_early))}</td></tr>'
    )


# ---- the rest --------------------------------------------------------------------------------------------------------


def _left_out(report: Report) -> str:
    if not report.refused:
        return ""
    shown = report.refused[:MOST_LEFT_OUT]
    items = "".join(f'<li>{escape(one.place)}<br><span class="dim">{escape(one.why)}</span></li>' for one in shown)
    return (
        f'<h2>Left out</h2><div class="wide"><ul class="left">{items}</ul></div>'
        f"{_more(len(report.refused), len(shown), 'file')}"
    )


def _limits(report: Report) -> str:
    return (
        "<h2>What a history log cannot tell</h2>"
        "<p>It does not show the program's variables. <code>reachable</code>, which looks at them, lies between "
        "<code>frontier</code> without what it deletes too early, and the oracle. That is what “gives back” (at least) "
        "and “at most” say where it is recommended. A program that keeps names to its end which it never reads again, "
        "as notebooks do, gives back less.</p>"
        "<p>It does not show when Spark's own cleaner let a shuffle go. “Spark alone” is taken to hold each one until "
        "the application ends, as it does where the driver collects its garbage seldom.</p>"
        "<p>It names no shuffle. The id of the map stage's first RDD stands in for it. What the other rules would have "
        "held is simulated with the coordinator's own code, at the times of the log; how much longer a job would have "
        f"run where something was written again is not. <code>delayed</code> is <code>eager</code> after "
        f"{span(report.grace_ms)}.</p>"
    )


def _table(headings: Iterable[tuple[str, str]], rows: str, sortable: bool = False) -> str:
    cells = "".join(f"<th{f' class={kind}' if kind else ''}>{text}</th>" for text, kind in headings)
    kind = ' class="sortable"' if sortable else ""
    return f'<div class="wide"><table{kind}><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table></div>'


def _number(value: float, shown: str) -> str:
    return f'<td class="n" data-v="{value:.10g}">{shown}</td>'


def _more(there: int, shown: int, what: str) -> str:
    if there <= shown:
        return ""
    return f'<p class="dim">{count(there - shown, what)} more: in the CSV, Parquet and JSON files.</p>'


def _ticks(text: str) -> str:
    """`word` as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))
