"""No mixing of generations: what is computed again from a deleted shuffle is written again as a whole.

Responsible for telling Spark's scheduler which stages may differ, in time, and people where that is impossible. Refuses
to know Python, but to be started (`marks`), and the coordinator: it goes on without either. Invariant: that of `Marks`,
which has the order of everything.

    the order        marks, Marks, Errands, MarkListener, MarkWatch, Choices
    what follows     Recomputation, Branches, OwedWritings, Sides, Tasks
    what was read    History, Ages, Stages, Submitted, LateReads
    what is done     MarkedStages, Levels, Kills, Epochs
    cached blocks    CachedBlocks, PersistedRdds, BlockReaders, Removals
    made of them     PersistedInputs, NearPersisted, GoneBlocks, Links, Older, TornBeside
    results          Results, ResultReads, WatchedResult, EndedJobs, TornJobs, Mixes

Spark numbers tasks through all of an application, and each output knows the task that wrote it (`Tasks`). So "before"
and "since" are numbers of tasks, and the words of this room follow from them:

    owed             outputs of tasks from a number on may differ from what was read before: the app shuffle is owed a
                     writing as a whole by such tasks, and paid when that was done (`Generations.owe`)
    old, new         outputs of tasks before, and from, the number since which their app shuffle is owed
    written again    an app shuffle whose outputs are replaced as a whole, and with it each incomplete reader of it
    mix              outputs of tasks that have read the old generation, beside outputs of tasks that have read the new
    late             said of a mix that was there before we came to it: it is forgotten and written again
    overtaken        said of what running tasks write that may have read the old generation: they are killed, and what
                     they have written counts as old
    stays            a complete reader of the old generation that nobody will write now: it is right, and owed from here
    side             whether what was made of an app shuffle was made of its old or its new generation (`Sides`)
    torn             a job that reads both sides; a persisted RDD of which blocks have gone since it was read
"""
