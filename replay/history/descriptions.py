"""What Spark's descriptions of stages and plans say.

Responsible for which shuffles a stage reads, by what a log holds of its RDDs and parents, for what it is called, for
which stage of a job is the final one, and for whether a plan writes files. Refuses to know events, and what became of a
stage. Invariant: where a description does not say what is read, more is rather than less.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from coordinator.core.ids import AppShuffle
from coordinator.core.values import Level, Lineage
from replay.history import records as r

_LONGEST_TEXT = 200
_NO_RDD = -1
_NO_STAGE = -1
_LEVELS = {level.name: level for level in Level}
#: What Spark calls a stage of an adaptive plan, which a thread of a pool submits: a line of Java's own.
_POOL = re.compile(r" at (?:CompletableFuture|FutureTask|ThreadPoolExecutor|Executors|Thread|ForkJoin\w+)\.java:\d+$")
_WRITERS = (
    "AppendData",
    "Overwrite",
    "ReplaceData",
    "WriteDelta",
    "WriteToDataSourceV2",
    "Execute InsertInto",
    "Execute SaveInto",
)


@dataclass(slots=True)
class Stage:
    """A stage id that a live job lists. ``writes``: it is known to be a map stage; ``site``: what people call it."""

    rdd: int
    reads: tuple[AppShuffle, ...]
    behind: tuple[AppShuffle, ...]
    lineage: Lineage
    site: str = ""
    writes: bool | None = None  #: None: not known yet.
    jobs: set[int] = field(default_factory=set)
    told_at: list[int] = field(default_factory=list)  #: Facts to put right when it is known.


def described(stage: r.Stage, by_id: dict[int, r.Stage], call: str = "") -> Stage:
    """What a stage's description says of it. ``call``: the SQL execution that it is a part of."""
    own = stage.rdds[0] if stage.rdds else r.Rdd(_NO_RDD)
    reads = reads_of(stage, by_id)
    return Stage(
        rdd=own.id,
        reads=reads,
        behind=_behind(stage, reads),
        lineage=Lineage(
            app_shuffle=AppShuffle(own.id),
            reads=reads,
            level=_LEVELS.get(own.level, Level.DETERMINATE),
            barrier=any(rdd.barrier for rdd in stage.rdds),
            maps=stage.tasks,
            call_site=short(stage.name),
        ),
        site=call if call and _POOL.search(stage.name) else short(stage.name),
    )


def reads_of(stage: r.Stage, by_id: dict[int, r.Stage]) -> tuple[AppShuffle, ...]:
    """What a stage reads: what its parents write; where the log lacks these, what its own RDDs take from outside."""
    parents = stage.parents
    if parents is not None and all(parent in by_id and by_id[parent].rdds for parent in parents):
        return tuple(AppShuffle(rdd) for rdd in sorted({by_id[parent].rdds[0].id for parent in parents}))
    own = {rdd.id for rdd in stage.rdds}
    return tuple(AppShuffle(rdd) for rdd in sorted({p for rdd in stage.rdds for p in rdd.parents} - own))


def final_of(stages: Iterable[r.Stage]) -> int:
    """The id of a job's final stage: the one that is no other one's parent; -1 of a job without partitions."""
    parents = {parent for stage in stages for parent in stage.parents or ()}
    return max((stage.id for stage in stages if stage.id not in parents), default=_NO_STAGE)


def names_no_parents(stages: Iterable[r.Stage], by_id: dict[int, r.Stage]) -> bool:
    """Whether no stage of a job names its parents, as before Spark 1.5; that a single stage has none says nothing."""
    return len(by_id) > 1 and not any(stage.parents is not None or reads_of(stage, by_id) for stage in stages)


def _behind(stage: r.Stage, reads: tuple[AppShuffle, ...]) -> tuple[AppShuffle, ...]:
    """Which of its reads may lie behind its persisted RDDs: where these are cached, it need not read them.

    Only what is surely read past the caches is not among them: what nothing but RDDs that it computes itself reads.
    """
    if not any(rdd.persisted for rdd in stage.rdds):
        return ()
    own = {rdd.id: rdd for rdd in stage.rdds}
    if not own.keys().isdisjoint(reads):  # one of its own RDDs is another's input too: the walk would go past that
        return reads
    computed: set[int] = set()
    to_see = [stage.rdds[0].id]
    while to_see:
        rdd = own.get(to_see.pop())
        if rdd is not None and not rdd.persisted and rdd.id not in computed:
            computed.add(rdd.id)
            to_see.extend(rdd.parents)
    spared = {parent for rdd in stage.rdds if rdd.id not in computed for parent in rdd.parents}
    direct = {parent for rdd in computed for parent in own[rdd].parents} - spared
    return tuple(read for read in reads if read not in direct)


def writes_files(plan: r.Plan) -> bool:
    """Whether a plan holds a command or an operator that writes a table or files."""
    return (
        plan.node == "WriteFiles"
        or plan.node.startswith(_WRITERS)
        or "TableAsSelect" in plan.node
        or any(map(writes_files, plan.children))
    )


def short(text: str | None) -> str:
    """The beginning of a text, as much as is kept; None is empty."""
    return (text or "")[:_LONGEST_TEXT]
