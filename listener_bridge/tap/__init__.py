"""The tap on a running driver: Java compiled in the driver at run time, and its Python end.

Responsible for the facts of Spark in one order, and for work in the scheduler's own thread. Refuses to know what facts
mean. Invariant: the driver neither waits for it nor hears of it; facts that are lost are counted in their place.

    in Python       tap, jvm, rows, facts
    what is told    Tap, FactListener, Describe, Row, RowBuffer, Allowance
    its place       Marker, Told
    the scheduler   Scheduler, Ticket, Work, Call, Snapshot
    what it knows   LiveJobs, RunningExecutions, StageMemory, StoredBlocks, DirectReads, Outputs, SparkRemovals
"""
