"""From a run to an advice.

Responsible for driving the core's own rules over a run, and for what each shuffle did. Refuses to put anything into
words (`wording`). Invariant: the figures of a rule are those of the simulation (`replay.simulate`), which decides as a
live coordinator would, with the default settings: the budget for premature deletions holds here too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from coordinator.core import commands as c
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
        """The advice on one run."""
        task_ms = {written.app_shuffle: written.task_ms for written in run.shuffles}
        outcomes = simulate_all(run.facts, self.policies().values(), task_ms=task_ms)
        return _advice(run, dict(zip(self.policies(), outcomes, strict=True)))

    def policies(self) -> dict[str, Policy]:
        """The rules that are tried."""
        return {
            FRONTIER: Policy(Rule.FRONTIER, observe=False),
            EAGER: Policy(Rule.EAGER, observe=False),
            DELAYED: Policy(Rule.EAGER, observe=False, grace_ms=self.grace_ms),
        }


def _advice(run: Run, by_rule: dict[str, Outcome]) -> Advice:
    """The advice, from what each rule would have come to in the run. ``by_rule``: one outcome for each rule tried."""
    figures = _figures(by_rule)
    certain_byte_seconds = figures[SPARK].byte_seconds - _without_misses(by_rule[FRONTIER])
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
        shuffles=tuple(_shuffles(run, by_rule)),
        verdict=said.verdict,
        reason=said.reason,
        gain_byte_seconds=said.gain_byte_seconds,
        possible_byte_seconds=figures[SPARK].byte_seconds - figures[ORACLE].byte_seconds,
    )


def _figures(by_rule: dict[str, Outcome]) -> dict[str, Figures]:
    any_ = by_rule[FRONTIER]  # the bounds are the same for every rule
    return {
        SPARK: Figures(SPARK, any_.never_peak_bytes, any_.never_byte_seconds),
        ORACLE: Figures(ORACLE, any_.needed_peak_bytes, any_.needed_byte_seconds),
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


def _shuffles(run: Run, by_rule: dict[str, Outcome]) -> Iterable[ShuffleAdvice]:
    used = _Used.of(run)
    going_on = frozenset() if run.ended else used.readings.going_on()
    for one in run.shuffles:
        shuffle = one.app_shuffle
        written_ms, last_read_ms = used.written_ms.get(shuffle), used.last_read_ms.get(shuffle)
        rested_ms = run.ended_ms if shuffle in going_on else (written_ms if last_read_ms is None else last_read_ms)
        idle_ms = max(run.ended_ms - rested_ms, 0) if rested_ms is not None else 0
        missed = (rule for rule, outcome in by_rule.items() if any(m.app_shuffle == shuffle for m in outcome.misses))
        yield ShuffleAdvice(
            app_shuffle=shuffle,
            call_site=one.call_site,
            maps=one.maps,
            bytes=one.bytes,
            task_seconds=one.task_ms / 1000,
            written_ms=written_ms,
            last_read_ms=last_read_ms,
            reads=used.reads[shuffle],
            idle_ms=idle_ms,
            idle_byte_seconds=one.bytes * idle_ms / 1000,
            too_early=tuple(missed),
        )


@dataclass(slots=True)
class _Used:
    """When each app shuffle was complete first, until when it was read, and by how many attempts, failed ones too.

    The run itself tells it: to simulate that nothing is deleted costs the more the more shuffles there are.
    """

    written_ms: dict[AppShuffle, int] = field(default_factory=dict)
    last_read_ms: dict[AppShuffle, int] = field(default_factory=dict)
    reads: Counter[AppShuffle] = field(default_factory=Counter)
    readings: Readings = field(default_factory=Readings)

    @classmethod
    def of(cls, run: Run) -> _Used:
        """How the app shuffles of a whole run were used."""
        used = cls()
        for time_ms, command in run.facts:
            used._hear(time_ms, command)
        return used

    def _hear(self, time_ms: int, command: c.Command) -> None:
        if isinstance(command, c.ReportStageCompleted) and not command.failure:
            stage = self.readings.running.get(command.stage)
            if stage is not None and stage.writes is not None:
                self.written_ms.setdefault(stage.writes, time_ms)
        for read in self.readings.hear(command):
            self.last_read_ms[read] = time_ms
            self.reads[read] += 1
