"""Looks at a running application, and a judge of them: was anything left out that was read later?

Responsible for: a session with a walker on it, looks with the facts that surround them, one look after the other while
a program runs.
Refuses to know: policies and the coordinator; what a job in flight still needs is worked out here, simply.
Invariant: a look is judged only on shuffles that were complete at a marker before it began, and against stages that
were submitted behind a marker after it.
"""

from __future__ import annotations

import gc
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from listener_bridge.reach.findings import Found, Program, Root
from listener_bridge.reach.walk import Walker
from listener_bridge.tap import facts
from listener_bridge.tap.tap import Tap
from tests.support.spark import FactLog, spark_session

_MARKERS = itertools.count()


@dataclass(frozen=True)
class Seen:
    """One look, the places of its two markers in the stream, and the shuffles that were complete at the first."""

    begin: int
    end: int
    complete: frozenset[int]
    walked: Found

    def left_out(self) -> frozenset[int]:
        if self.walked.everything is not None:
            return frozenset()
        return self.complete - {shuffle for root in self.walked.roots for shuffle in root.needs}


@dataclass
class Walking:
    """A running application as a test of looks sees it."""

    spark: Any
    tap: Tap
    log: FactLog
    walker: Walker
    folder: Path
    looks: list[Seen] = field(default_factory=list)

    def mark(self) -> int:
        name = f"look-{next(_MARKERS)}"
        self.tap.post_marker(name)
        return int(self.log.wait(lambda fact: getattr(fact, "name", None) == name, f"marker {name}").seq)

    def look(self, program: Program | None = None) -> Seen:
        begin = self.mark()
        complete = self.complete(begin)
        walked = self.walker.walk(program or Program())
        return Seen(begin, self.mark(), complete, walked)

    def roots(self, program: Program | None = None) -> tuple[Root, ...]:
        walked = self.walker.walk(program or Program())
        assert walked.everything is None
        return walked.roots

    def needs(self) -> set[int]:
        gc.collect()
        return {shuffle for root in self.roots() for shuffle in root.needs}

    def complete(self, before: int) -> frozenset[int]:
        ends = self.log.of(facts.StageCompleted)
        return frozenset(
            s.stage.writes for s in ends if s.seq < before and s.failure is None and s.stage.writes is not None
        )

    def newest_shuffle(self) -> int:
        self.log.settle()
        return max(s.stage.writes for s in self.log.of(facts.StageSubmitted) if s.stage.writes is not None)

    def written_by(self, job: Callable[[], object]) -> set[int]:
        """The shuffles that map stages wrote while the job ran."""
        before = self.complete(self.mark())
        job()
        return set(self.complete(self.mark()) - before)

    @contextmanager
    def looking(self) -> Iterator[list[Seen]]:
        """One look after the other, in a thread of its own, until the block ends."""
        over = threading.Event()
        looks: list[Seen] = []

        def watch() -> None:
            while not over.is_set():
                looks.append(self.look())

        thread = threading.Thread(target=watch, name="looking", daemon=True)
        thread.start()
        try:
            yield looks
        finally:
            over.set()
            thread.join(30)
        assert not thread.is_alive(), "a look did not end within 30 s"

    def missed(self, looks: list[Seen]) -> list[str]:
        """What a look had left out, and no job in flight needed, and was read or written again all the same."""
        self.log.settle()
        jobs = _Jobs(self.log)
        return [wrong for look in looks for wrong in jobs.against(look)]


class _Jobs:
    """What the scheduler's facts say about stages, for judging looks."""

    def __init__(self, log: FactLog) -> None:
        self.started = log.of(facts.JobStarted)
        self.ended = {job.job_id: job.seq for job in log.of(facts.JobEnded)}
        self.submitted = log.of(facts.StageSubmitted)
        self.completed = {s.stage.stage_id: s.seq for s in log.of(facts.StageCompleted) if s.failure is None}
        self.fetched = {s.stage.stage_id for s in log.of(facts.StageCompleted) if s.shuffle_bytes_read > 0}
        self.writes = {stage.stage_id: stage.writes for job in self.started for stage in job.stages}

    def against(self, look: Seen) -> list[str]:
        free = look.left_out() - self.needed_by_jobs(look.end)
        wrong = []
        for fact in self.submitted:
            read = self.read_by(fact.stage) & free
            again = {fact.stage.writes} & free
            if fact.seq > look.end and (read or again):
                wrong.append(f"stage {fact.stage.stage_id} ({fact.stage.name}): read {read}, wrote again {again}")
        return wrong

    def read_by(self, stage: facts.StageFact) -> set[int | None]:
        """A stage lists the shuffles behind a cached RDD too, and reads the cache."""
        if stage.cached_rdd_ids and stage.stage_id not in self.fetched:
            return set()
        return {self.writes.get(parent) for parent in stage.parent_stage_ids}

    def needed_by_jobs(self, at: int) -> set[int | None]:
        needed: set[int | None] = set()
        for job in self.started:
            if job.seq < at <= self.ended.get(job.job_id, at):
                for stage in job.stages:
                    if self.completed.get(stage.stage_id, at) >= at:
                        needed.update(self.writes.get(parent) for parent in stage.parent_stage_ids)
        return needed


@contextmanager
def walking(folder: Path, **conf: str) -> Iterator[Walking]:
    with spark_session(folder, **{"spark.default.parallelism": "2", **conf}) as spark:
        tap = Tap.open(spark)
        log = FactLog(tap)
        walker = Walker(tap)
        walker.warm()
        yield Walking(spark, tap, log, walker, folder)
        walker.close()
        tap.close()
