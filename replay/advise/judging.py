"""From a run to an advice.

Responsible for driving the core's own rules over a run, and for what each shuffle did. Refuses to put anything into
words (`wording`). Invariant: the figures of a rule are those of the simulation (`replay.simulate`), which decides as a
live coordinator would, with the default settings: the budget for premature deletions holds here too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from coordinator.core.ids import AppShuffle
from coordinator.core.values import Policy, Rule
from replay.advise import wording
from replay.advise.advice import DELAYED, EAGER, FRONTIER, HOLDERS, ORACLE, SPARK, Advice, Figures, ShuffleAdvice
from replay.history.run import Run
from replay.simulate import Outcome, simulate_all
from replay.simulate.fetching import Readings

#: The grace period of `delayed`, unless somebody asks for another: the one of the configuration.
GRACE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Judge:
    """Gives advice on runs, on any worker."""

    grace_ms: int = GRACE_MS

    def __call__(self, run: Run) -> Advice:
        """What there is to say of one."""
        observed, *outcomes = simulate_all(
            run.facts, (Policy(), *self.policies().values()), task_ms={w.app_shuffle: w.task_ms for w in run.shuffles}
        )
        by_rule = dict(zip(self.policies(), outcomes, strict=True))
        figures = _figures(observed, by_rule)
        certain_byte_seconds = observed.never_byte_seconds - _without_misses(by_rule[FRONTIER])
        said = wording.say(run, figures, certain_byte_seconds)
        return Advice(
            application_id=run.application_id,
            attempt=run.attempt,
            name=run.name,
            user=run.user,
            spark_version=run.spark_version,
            is_python=run.is_python,
            started_ms=run.started_ms,
            ended_ms=run.ended_ms,
            ended=run.ended,
            task_seconds=run.task_ms / 1000,
            raw_bytes=run.raw_bytes,
            place=run.place,
            warnings=run.warnings,
            shuffle_count=len(run.shuffles),
            written_bytes=sum(written.bytes for written in run.shuffles),
            figures=tuple(figures[holder] for holder in HOLDERS),
            shuffles=tuple(_shuffles(run, observed, by_rule)),
            verdict=said.verdict,
            reason=said.reason,
            gain_byte_seconds=said.gain_byte_seconds,
            possible_byte_seconds=figures[SPARK].byte_seconds - figures[ORACLE].byte_seconds,
        )

    def policies(self) -> dict[str, Policy]:
        """The rules that are tried."""
        return {
            FRONTIER: Policy(Rule.FRONTIER, observe=False),
            EAGER: Policy(Rule.EAGER, observe=False),
            DELAYED: Policy(Rule.EAGER, observe=False, grace_ms=self.grace_ms),
        }


def _figures(observed: Outcome, by_rule: dict[str, Outcome]) -> dict[str, Figures]:
    return {
        SPARK: Figures(SPARK, observed.never_peak_bytes, observed.never_byte_seconds),
        ORACLE: Figures(ORACLE, observed.needed_peak_bytes, observed.needed_byte_seconds),
        **{
            rule: Figures(
                rule,
                outcome.peak_bytes,
                outcome.held_byte_seconds,
                outcome.deletions,
                outcome.premature,
                outcome.recomputed_bytes,
                outcome.recomputed_task_seconds,
            )
            for rule, outcome in by_rule.items()
        },
    }


def _without_misses(outcome: Outcome) -> float:
    """What a rule would have held, had it kept what was missed until it was missed."""
    kept = sum(miss.recomputed_bytes * (miss.at_ms - miss.fenced_ms) for miss in outcome.misses if miss.fenced_ms)
    return outcome.held_byte_seconds + kept / 1000


def _shuffles(run: Run, observed: Outcome, by_rule: dict[str, Outcome]) -> Iterable[ShuffleAdvice]:
    written, last_read = _times(observed)
    reads, going_on = _reads(run)
    for one in run.shuffles:
        shuffle = one.app_shuffle
        rested_ms = run.ended_ms if shuffle in going_on else last_read.get(shuffle, written.get(shuffle))
        idle_ms = max(run.ended_ms - rested_ms, 0) if rested_ms is not None else 0
        missed = (rule for rule, outcome in by_rule.items() if any(m.app_shuffle == shuffle for m in outcome.misses))
        yield ShuffleAdvice(
            app_shuffle=shuffle,
            call_site=one.call_site,
            maps=one.maps,
            bytes=one.bytes,
            task_seconds=one.task_ms / 1000,
            written_ms=written.get(shuffle),
            last_read_ms=last_read.get(shuffle),
            reads=reads[shuffle],
            idle_ms=idle_ms,
            idle_byte_seconds=one.bytes * idle_ms / 1000,
            too_early=tuple(missed),
        )


def _times(observed: Outcome) -> tuple[dict[AppShuffle, int], dict[AppShuffle, int]]:
    """When each app shuffle was written first, and when it was read last; milliseconds since the epoch."""
    written: dict[AppShuffle, int] = {}
    last_read: dict[AppShuffle, int] = {}
    for life in observed.lives:
        if life.written_ms is not None:
            written.setdefault(life.app_shuffle, life.written_ms)
        if life.last_read_ms is not None:
            last_read[life.app_shuffle] = max(last_read.get(life.app_shuffle, 0), life.last_read_ms)
    return written, last_read


def _reads(run: Run) -> tuple[Counter[AppShuffle], frozenset[AppShuffle]]:
    """How many stage attempts read each app shuffle to the end; and what is being read where the run goes on."""
    readings = Readings()
    ended = Counter(read for _, command in run.facts for read in readings.hear(command))
    return ended, frozenset() if run.ended else readings.going_on()
