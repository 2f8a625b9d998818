"""From Spark's facts to what the coordinator is told: pure.

Responsible for: which requests a fact becomes, and in which order.
Refuses to know: how requests are numbered and sent (`outbox`, `client`), and what the coordinator makes of them.
Invariant: requests stand in the order of the facts; a fact that cannot be understood is told as a gap, never guessed.

By default GetShuffleId is asked once for each attempt of a stage and each app shuffle that it reads or writes, when the
stage is submitted. The answer gates nothing; it names the generation that a later fetch failure of that attempt missed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from shuffle_lifecycle.v1 import common_pb2, service_pb2

from listener_bridge import settings, words
from listener_bridge.cached import Cached
from listener_bridge.disks import Usage
from listener_bridge.lineage import Memory
from listener_bridge.tap import facts
from listener_bridge.tap.facts import Fact, StageFact
from listener_bridge.words import Request

log = logging.getLogger("shuffle_lifecycle")

#: App shuffles that one report of outputs names: each may move a record, what follows from them 24 more, and a segment
#: holds 50.
OUTPUTS = 20

#: Of the lineage that one command brings, as the coordinator records it: a quarter of what one commit holds.
LINEAGE_BYTES = 1 << 18
RECORD_BYTES = 32  #: Of each record, beside what it says.

NAME_MAX = 200  #: Characters of an execution's name in the whole truth.


class Translator:
    """One application's facts, in order, into requests."""

    def __init__(self) -> None:
        self.conf: Mapping[str, str] = {}  #: The application's: Spark copies it into the properties of every SQL job.
        self.tells_ahead = False  #: Lineage may go ahead of its job: the coordinator has said so.
        self._memory = Memory()
        self._cached = Cached()
        self._executions: dict[int, service_pb2.ReportExecutionStarted] = {}
        self._warned: set[str] = set()

    def requests_of(self, told: Iterable[Fact]) -> list[Request]:
        """What the coordinator is told of these facts."""
        found: list[Request] = []
        for kind, group in groupby(told, type):
            if kind is facts.OutputsChanged:
                changed = list(group)
                found.extend(_outputs(changed[at : at + OUTPUTS]) for at in range(0, len(changed), OUTPUTS))
            else:
                for fact in group:
                    found.extend(self._read_or_gap(kind, fact))
        return found

    def resync(self, snapshot: facts.Snapshot) -> list[Request]:
        """The whole truth at the snapshot's place, behind a gap. From here on everything counts as not told yet.

        One request moves only so many generations: what is there is told in parts before the resync, while nothing
        expires, and the stages that run once more behind it.
        """
        truth = self._truth(snapshot)
        there = snapshot.shuffles
        return [
            *(self._ahead(truth.jobs, lambda _: True)),
            *(_outputs(there[at : at + OUTPUTS]) for at in range(0, len(there), OUTPUTS)),
            Request(resync=truth),
            *(Request(report_stage_submitted=stage) for stage in truth.stages),
        ]

    def _truth(self, snapshot: facts.Snapshot) -> service_pb2.Resync:
        self._memory.clear({shuffle.app_shuffle: shuffle.total for shuffle in snapshot.shuffles})
        self._cached.keep(shuffle.app_shuffle for shuffle in snapshot.shuffles)
        jobs = [self._active_job(job) for job in snapshot.active_jobs]
        named = {job.execution for job in jobs if job.HasField("execution")}
        if snapshot.executions is not None:  # the end of one may have been dropped, or its start
            for over in self._executions.keys() - snapshot.executions - named:
                del self._executions[over]
        for running in named | (snapshot.executions or frozenset()):
            self._executions.setdefault(running, service_pb2.ReportExecutionStarted(execution=running))
        return service_pb2.Resync(
            jobs=jobs,
            stages=[self._submitted(stage) for stage in snapshot.running_stages],
            executions=[_in_short(self._executions[execution]) for execution in sorted(self._executions)],
            outputs=[
                common_pb2.Outputs(app_shuffle=s.app_shuffle, available=s.available, total=s.total)
                for s in snapshot.shuffles
            ],
        )

    def learn(self, asked: service_pb2.GetShuffleId, shuffle_id: int) -> None:
        """GetShuffleId was answered: this attempt reads this generation."""
        if not asked.write:
            self._memory.give((asked.stage.stage, asked.stage.attempt), asked.app_shuffle, shuffle_id)

    def _read_or_gap(self, kind: type, fact: Fact) -> list[Request]:
        try:
            return list(self._read(kind, fact))
        except Exception as error:  # noqa: BLE001 - a text that is no text, or what else Spark may come to say
            self._warn_once(f"{kind.__name__} cannot be told ({type(error).__name__}: {error}): it is told as a gap")
            return [gap(1, "translate")]

    def _read(self, kind: type, fact: Fact) -> Iterator[Request]:
        reader = _READERS.get(kind)
        return reader(self, fact) if reader is not None else iter(())

    # ---- jobs ----

    def _job_started(self, fact: facts.JobStarted) -> Iterator[Request]:
        started = self._job(
            fact.job_id, fact.stages, fact.result_stage_id, fact.execution_id, fact.group, fact.properties
        )
        started.call_site = fact.call_site
        yield from self._ahead([started], self._memory.is_first)
        yield Request(report_job_started=started)

    def _active_job(self, job: facts.ActiveJob) -> service_pb2.ReportJobStarted:
        return self._job(job.job_id, job.stages, job.result_stage_id, job.execution_id, job.group, job.properties)

    def _job(
        self,
        job_id: int,
        stages: tuple[StageFact, ...],
        final_stage: int | None,
        execution: int | None,
        group: str | None,
        properties: Mapping[str, str],
    ) -> service_pb2.ReportJobStarted:
        lineage = self._memory.add_job(job_id, stages)
        final = next((stage for stage in stages if stage.stage_id == final_stage), None)
        return service_pb2.ReportJobStarted(
            job=job_id,
            final_stage=final_stage or 0,
            reads=self._memory.reads(final) if final is not None else (),
            writes=final.writes if final is not None else None,
            stages=_spans(stage.stage_id for stage in stages),
            lineage=lineage,
            execution=execution,
            group=group or "",
            policy=self._policy(properties, execution),
        )

    def _ahead(self, jobs: Iterable[service_pb2.ReportJobStarted], may_go: Callable[[int], bool]) -> Iterator[Request]:
        """Lineage of these jobs that goes ahead of them, taken from them: where all of it is too much for a command.

        `may_go`: of what the coordinator knew otherwise until now, something may be let go before the job is told that
        needs it.
        """
        told = [lineage for job in jobs for lineage in job.lineage]
        if not self.tells_ahead or sum(map(_recorded_bytes, told)) <= LINEAGE_BYTES:
            return
        for job in jobs:
            stay = [lineage for lineage in job.lineage if not may_go(lineage.app_shuffle)]
            del job.lineage[:]
            job.lineage.extend(stay)
        yield from _in_parts(lineage for lineage in told if may_go(lineage.app_shuffle))

    def _policy(self, properties: Mapping[str, str], execution: int | None) -> common_pb2.Policy | None:
        if execution is not None and settings.choices_of_job(properties) == settings.choices_of_job(self.conf):
            return None  # nobody has chosen it for this job: what `attach` or people chose since goes before the conf
        try:
            chosen = settings.policy_of_job(properties)
        except settings.WrongSettingError as error:
            self._warn_once(f"a local property is left out: {error}")
            return None
        return words.policy(chosen) if chosen is not None else None

    def _job_ended(self, fact: facts.JobEnded) -> Iterator[Request]:
        self._memory.end_job(fact.job_id)
        yield Request(
            report_job_ended=service_pb2.ReportJobEnded(
                job=fact.job_id, succeeded=fact.succeeded, failure=fact.reason or ""
            )
        )

    # ---- stages ----

    def _stage_submitted(self, fact: facts.StageSubmitted) -> Iterator[Request]:
        submitted = self._submitted(fact.stage)
        yield Request(report_stage_submitted=submitted)
        for app_shuffle in submitted.reads:
            if app_shuffle not in submitted.behind:  # of that it may read nothing
                yield _ask(app_shuffle, submitted.stage, write=False)
        if submitted.HasField("writes"):
            yield _ask(submitted.writes, submitted.stage, write=True)

    def _submitted(self, stage: StageFact) -> service_pb2.ReportStageSubmitted:
        behind = self._memory.behind(stage)
        self._cached.learn(stage, behind)
        return service_pb2.ReportStageSubmitted(
            stage=_attempt(stage),
            reads=self._memory.reads(stage),
            writes=stage.writes,
            tasks=stage.num_tasks,
            name=stage.line or stage.name,
            cached=bool(behind),
            behind=behind,
        )

    def _stage_completed(self, fact: facts.StageCompleted) -> Iterator[Request]:
        yield Request(
            report_stage_completed=service_pb2.ReportStageCompleted(
                stage=_attempt(fact.stage),
                failure="" if fact.failure is None else fact.failure or "failed",
                shuffle_bytes_written=fact.shuffle_bytes_written,
                shuffle_bytes_read=fact.shuffle_bytes_read,
                output_bytes=fact.output_bytes,
                output_records=fact.output_records,
                task_ms=fact.task_ms,
            )
        )

    def _fetch_failed(self, fact: facts.FetchFailed) -> Iterator[Request]:
        attempt = (fact.stage_id, fact.attempt)
        if self._memory.first_miss(attempt, fact.app_shuffle):
            missed = "all outputs" if fact.map_index is None else f"the output of map task {fact.map_index}"
            yield Request(
                report_missing=service_pb2.ReportMissing(
                    app_shuffle=fact.app_shuffle,
                    shuffle_id=self._memory.given(attempt, fact.app_shuffle),
                    stage=common_pb2.StageAttempt(stage=fact.stage_id, attempt=fact.attempt),
                    detail=f"{missed} for reduce task {fact.reduce_id}, executor {fact.executor or 'unknown'}",
                )
            )

    # ---- the rest ----

    def _execution_started(self, fact: facts.ExecutionStarted) -> Iterator[Request]:
        started = service_pb2.ReportExecutionStarted(
            execution=fact.execution_id, name=fact.description or fact.call_site, writes_output=fact.writes_output
        )
        self._executions[fact.execution_id] = started
        yield Request(report_execution_started=started)

    def _execution_ended(self, fact: facts.ExecutionEnded) -> Iterator[Request]:
        self._executions.pop(fact.execution_id, None)
        yield Request(
            report_execution_ended=service_pb2.ReportExecutionEnded(execution=fact.execution_id, failed=fact.failed)
        )

    def _cleaned(self, fact: facts.ShuffleCleaned) -> Iterator[Request]:
        self._memory.clean(fact.app_shuffle)
        self._cached.clean(fact.app_shuffle)
        yield Request(report_shuffle_cleaned=service_pb2.ReportShuffleCleaned(app_shuffle=fact.app_shuffle))

    def _executor_removed(self, fact: facts.ExecutorRemoved) -> Iterator[Request]:
        yield Request(report_executor_lost=service_pb2.ReportExecutorLost(executor=fact.executor, reason=fact.reason))

    def _blocks_gone(self, fact: facts.BlocksGone) -> Iterator[Request]:
        behind = self._cached.under(fact.rdd_ids)
        if behind:
            told = service_pb2.ReportCachedBlocksLost(executor=fact.executor, app_shuffles=behind)
            yield Request(report_cached_blocks_lost=told)

    def _unpersisted(self, fact: facts.RddUnpersisted) -> Iterator[Request]:
        self._cached.forget(fact.rdd_id)
        return iter(())

    def _mixed(self, fact: facts.GenerationsMixed) -> Iterator[Request]:
        yield Request(
            report_generations_mixed=service_pb2.ReportGenerationsMixed(
                app_shuffle=fact.app_shuffle,
                job=fact.job_id,
                stage=fact.stage_id,
                delivered=fact.delivered,
                partitions=fact.partitions,
                late=fact.late,
                failed=fact.failed,
            )
        )

    def _differs(self, fact: facts.ResultsMayDiffer) -> Iterator[Request]:
        yield Request(report_results_may_differ=service_pb2.ReportResultsMayDiffer(app_shuffle=fact.app_shuffle))

    def _dropped(self, fact: facts.EventsDropped) -> Iterator[Request]:
        yield gap(fact.count, fact.where)

    def _ended(self, _: facts.ApplicationEnded) -> Iterator[Request]:
        yield end_of_application(common_pb2.ENDING_ENDED)

    def _warn_once(self, text: str) -> None:
        if text not in self._warned and len(self._warned) < 100:
            self._warned.add(text)
            log.warning("%s", text)


def gap(dropped: int, where: str) -> Request:
    """Facts are missing here."""
    return Request(report_gap=service_pb2.ReportGap(dropped=dropped, where=where))


def disk(usage: Usage) -> Request:
    """How full a disk is."""
    told = service_pb2.ReportDisk(disk=usage.disk, used_bytes=usage.used_bytes, free_bytes=usage.free_bytes)
    return Request(report_disk=told)


def end_of_application(ending: common_pb2.Ending) -> Request:
    return Request(end_application=service_pb2.EndApplication(ending=ending))


def _outputs(changed: Iterable[Any]) -> Request:
    return Request(
        report_outputs=service_pb2.ReportOutputs(
            outputs=[
                common_pb2.Outputs(app_shuffle=fact.app_shuffle, available=fact.available, total=fact.total)
                for fact in changed
            ]
        )
    )


def _in_short(started: service_pb2.ReportExecutionStarted) -> service_pb2.ReportExecutionStarted:
    """A name may be a whole text of SQL, and a truth holds all that run. Whoever knows one keeps its name."""
    return service_pb2.ReportExecutionStarted(
        execution=started.execution, name=started.name[:NAME_MAX], writes_output=started.writes_output
    )


def _recorded_bytes(lineage: common_pb2.Lineage) -> int:
    return lineage.ByteSize() + RECORD_BYTES


def _in_parts(told: Iterable[common_pb2.Lineage]) -> Iterator[Request]:
    """The lineage in as few requests as hold it, each of at most `LINEAGE_BYTES` of records."""
    part = service_pb2.ReportLineage()
    size = 0
    for lineage in told:
        size += _recorded_bytes(lineage)
        if size > LINEAGE_BYTES and part.lineage:
            yield Request(report_lineage=part)
            part, size = service_pb2.ReportLineage(), _recorded_bytes(lineage)
        part.lineage.append(lineage)
    if part.lineage:
        yield Request(report_lineage=part)


def _attempt(stage: StageFact) -> common_pb2.StageAttempt:
    return common_pb2.StageAttempt(stage=stage.stage_id, attempt=stage.attempt)


def _ask(app_shuffle: int, stage: common_pb2.StageAttempt, write: bool) -> Request:
    return Request(get_shuffle_id=service_pb2.GetShuffleId(app_shuffle=app_shuffle, stage=stage, write=write))


def _spans(numbers: Iterable[int]) -> list[common_pb2.Span]:
    """The fewest spans that hold exactly these numbers, ascending."""
    spans: list[common_pb2.Span] = []
    for number in sorted(set(numbers)):
        if spans and spans[-1].last + 1 == number:
            spans[-1].last = number
        else:
            spans.append(common_pb2.Span(first=number, last=number))
    return spans


_READERS: dict[type, Callable[[Translator, Any], Iterator[Request]]] = {
    facts.JobStarted: Translator._job_started,  # noqa: SLF001 - the class's own table
    facts.JobEnded: Translator._job_ended,  # noqa: SLF001
    facts.StageSubmitted: Translator._stage_submitted,  # noqa: SLF001
    facts.StageCompleted: Translator._stage_completed,  # noqa: SLF001
    facts.FetchFailed: Translator._fetch_failed,  # noqa: SLF001
    facts.ExecutorRemoved: Translator._executor_removed,  # noqa: SLF001
    facts.BlocksGone: Translator._blocks_gone,  # noqa: SLF001
    facts.RddUnpersisted: Translator._unpersisted,  # noqa: SLF001
    facts.ExecutionStarted: Translator._execution_started,  # noqa: SLF001
    facts.ExecutionEnded: Translator._execution_ended,  # noqa: SLF001
    facts.ShuffleCleaned: Translator._cleaned,  # noqa: SLF001
    facts.GenerationsMixed: Translator._mixed,  # noqa: SLF001
    facts.ResultsMayDiffer: Translator._differs,  # noqa: SLF001
    facts.EventsDropped: Translator._dropped,  # noqa: SLF001
    facts.ApplicationEnded: Translator._ended,  # noqa: SLF001
}
