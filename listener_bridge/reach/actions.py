"""Calls whose jobs need no waiting for the call: what is known of PySpark's own.

Responsible for: the table of such calls.
Refuses to know: what becomes of the others (`regions`: what their jobs write is held until they return).
Invariant: a call that is not listed is an algorithm that may read again what it wrote.

By method, since a call of py4j's says the class only of static ones. A method is listed where it means the same on
every class of Spark's that has it: the RDD's `count` is one job, the Dataset's an execution.
"""

from __future__ import annotations

ONE_ACTION = frozenset({
    # one job, or jobs over one RDD that the caller holds: the cut of the live job and of the object says what is needed
    "collectAndServe", "collectAndServeWithJobGroup", "runJob", "saveAsTextFile", "saveAsObjectFile",
    "saveAsSequenceFile", "saveAsHadoopFile", "saveAsHadoopDataset", "saveAsNewAPIHadoopFile",
    "saveAsNewAPIHadoopDataset", "count", "collect", "isEmpty",
    # one execution, whose plan is looked at
    "collectToPython", "collectAsArrowToPython", "tailToPython", "getRowsToPython", "showString", "htmlString",
    # these run nothing, they wait for what others run
    "awaitTermination", "awaitTerminationOrTimeout", "awaitAnyTermination", "processAllAvailable", "getResult", "stop",
})  # fmt: skip

EXECUTIONS = frozenset({
    # whatever of them runs as an SQL execution has a plan that is looked at; jobs beside it do not
    "sql", "save", "saveAsTable", "insertInto", "parquet", "json", "csv", "orc", "text", "jdbc", "xml", "append",
    "overwrite", "overwritePartitions", "create", "replace", "createOrReplace", "mergeInto", "merge", "load", "table",
    "cacheTable", "toTable", "start",
})  # fmt: skip

EAGER = frozenset({"checkpoint", "localCheckpoint"})
"""Executions like those, where they are to be done at once. Else what they return reads what they have written, and is
not there to be looked at before they return."""


def reads_again(method: str, in_execution: bool, at_once: bool = False, in_steps: bool = False) -> bool:
    """Whether a call may read again what this job of its writes. `at_once`: its first argument is true.

    `in_steps`: it is a SQL script that reads a query's result a partition at a time, long after the query's execution,
    and what the result is read from is in variables of the script's.
    """
    if method in ONE_ACTION:
        return False
    return in_steps or not (in_execution and (method in EXECUTIONS or (at_once and method in EAGER)))
