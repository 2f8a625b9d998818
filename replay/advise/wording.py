"""The recommendation, and its reason in words.

Responsible for choosing what to recommend from the figures, and for saying why. Refuses to know how figures came about.
Invariant: whatever is recommended, its reason names the figures that decided.

A history log does not show which names of the program still hold a shuffle. What `reachable` would have given back
lies between what `frontier` would have without its misses, and what the oracle would have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from replay.advise.advice import DELAYED, EAGER, FRONTIER, ORACLE, SPARK, Figures, Verdict
from replay.history.run import Run
from replay.units import count, size, span

#: Below both of these nobody would notice: 1 GB for an hour, and 1 GB less at the peak.
LEAST_BYTE_SECONDS = 3.6e12
LEAST_PEAK_BYTES = 10**9
#: Of what was held, or of the peak.
LEAST_SHARE = 0.1
#: What recomputation may cost, of the run time of all tasks.
LARGEST_COST = 0.01

#: What must be set for it beside the policy: the configuration's `delayed` delays `reachable`.
_NAMED = {DELAYED: "`delayed` (with `spark.shuffleLifecycle.delayed.rule` `eager`)"}
_VERDICTS = {FRONTIER: Verdict.FRONTIER, EAGER: Verdict.EAGER, DELAYED: Verdict.DELAYED}


@dataclass(frozen=True, slots=True)
class Said:
    """A recommendation."""

    verdict: Verdict
    reason: str
    gain_byte_seconds: float = 0.0


def say(run: Run, figures: Mapping[str, Figures], certain_byte_seconds: float) -> Said:
    """What to do with the application. ``certain_byte_seconds``: saved by `frontier` without its misses."""
    spark, oracle = figures[SPARK], figures[ORACLE]
    if not run.shuffles or not spark.byte_seconds:
        return Said(Verdict.LEAVE, "It writes no shuffle that is held for any time.")
    if not run.readers_known:
        return Said(Verdict.UNKNOWN, "The log does not say which stage reads which: none names its parents.")
    if not _is_worth_it(spark, oracle):
        return Said(Verdict.LEAVE, _too_little(spark, oracle))
    if run.is_python:
        return _reachable(figures, certain_byte_seconds)
    return _guessing(run, figures)


def _is_worth_it(spark: Figures, oracle: Figures) -> bool:
    time = spark.byte_seconds - oracle.byte_seconds
    peak = spark.peak_bytes - oracle.peak_bytes
    return (time >= LEAST_BYTE_SECONDS and time >= LEAST_SHARE * spark.byte_seconds) or (
        peak >= LEAST_PEAK_BYTES and peak >= LEAST_SHARE * spark.peak_bytes
    )


def _too_little(spark: Figures, oracle: Figures) -> str:
    possible = spark.byte_seconds - oracle.byte_seconds
    if possible < LEAST_SHARE * spark.byte_seconds:
        return (
            f"Nearly all of it is read until shortly before the end: of {byte_hours(spark.byte_seconds)} not more "
            f"than {_share(possible, spark.byte_seconds)} could be given back."
        )
    return (
        f"There is little to give back: at most {byte_hours(possible)}, "
        f"and {size(spark.peak_bytes - oracle.peak_bytes)} at the peak."
    )


def _reachable(figures: Mapping[str, Figures], certain_byte_seconds: float) -> Said:
    spark, frontier, oracle = figures[SPARK], figures[FRONTIER], figures[ORACLE]
    most = spark.byte_seconds - oracle.byte_seconds
    least = max(min(certain_byte_seconds, most), 0.0)
    missed = f" `frontier` would have deleted {_missed(frontier)}; `reachable` keeps those." if frontier.missed else ""
    return Said(
        Verdict.REACHABLE,
        f"It is PySpark, whose names can be looked at: of {byte_hours(spark.byte_seconds)} held, "
        f"{_between(least, most, spark.byte_seconds)} would be given back, and the peak would fall from "
        f"{size(spark.peak_bytes)} towards {size(oracle.peak_bytes)}.{missed}",
        least,
    )


def _guessing(run: Run, figures: Mapping[str, Figures]) -> Said:
    """Not PySpark: handles cannot be looked at, so the cheapest guess that gives back enough."""
    spark = figures[SPARK]
    cheap = [rule for rule in (FRONTIER, DELAYED, EAGER) if _cost(run, figures[rule]) <= LARGEST_COST]
    best = min(cheap, key=lambda rule: figures[rule].byte_seconds, default=FRONTIER)
    if best == EAGER and _nearly_as_good(figures, FRONTIER, EAGER) and FRONTIER in cheap:
        best = FRONTIER
    chosen = figures[best]
    gain = spark.byte_seconds - chosen.byte_seconds
    if cheap and gain >= LEAST_SHARE * spark.byte_seconds:
        return Said(_VERDICTS[best], _gives_back(best, spark, chosen, gain), gain)
    if not cheap:
        return Said(
            Verdict.OBSERVE,
            f"Much could be given back, but every guess deletes too early: `{best}` would have deleted "
            f"{_missed(chosen)}. Watch it with `observe` first.",
        )
    return Said(
        Verdict.OBSERVE,
        f"The rules find only {_share(gain, spark.byte_seconds)} of {byte_hours(spark.byte_seconds)} that is held; "
        f"{_share(spark.byte_seconds - figures[ORACLE].byte_seconds, spark.byte_seconds)} is never read again, which "
        "only the program knows. Watch it with `observe`, or try `reachable` where it is PySpark.",
    )


def _gives_back(rule: str, spark: Figures, chosen: Figures, gain: float) -> str:
    cost = f"It would have deleted {_missed(chosen)}" if chosen.missed else "Nothing would have been deleted too early"
    return (
        f"{_NAMED.get(rule, f'`{rule}`')} would have given back {_share(gain, spark.byte_seconds)} of "
        f"{byte_hours(spark.byte_seconds)} held, and lowered the peak from {size(spark.peak_bytes)} to "
        f"{size(chosen.peak_bytes)}. {cost}."
    )


def _nearly_as_good(figures: Mapping[str, Figures], one: str, best: str) -> bool:
    spark = figures[SPARK].byte_seconds
    return spark - figures[one].byte_seconds >= (1 - LEAST_SHARE) * (spark - figures[best].byte_seconds)


def _cost(run: Run, figures: Figures) -> float:
    """What was written again, of all the work of the run."""
    return figures.recomputed_task_seconds / (run.task_ms / 1000) if run.task_ms else float(figures.missed)


def _missed(figures: Figures) -> str:
    again_ms = int(figures.recomputed_task_seconds * 1000)
    return (
        f"{count(figures.missed, 'shuffle')} too early and written {size(figures.recomputed_bytes)} again "
        f"({span(again_ms)} of task time)"
    )


def byte_hours(byte_seconds: float) -> str:
    """`1.2 GB-hours`."""
    return f"{size(round(byte_seconds / 3600))}-hours"


def _between(least: float, most: float, whole: float) -> str:
    low, high = _share(least, whole), _share(most, whole)
    return low if low == high else f"between {low} and {high}"


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "0 %"
