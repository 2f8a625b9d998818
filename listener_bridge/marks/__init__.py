"""No mixing of generations: what is computed again from a deleted shuffle is written again as a whole.

Responsible for telling Spark's scheduler which stages may differ, in time, and people where that is impossible. Refuses
to know Python, but to be started (`marks`), and the coordinator: it goes on without either. Invariant: that of `Marks`,
which has the order of everything.

    the order        marks, Marks, Errands, MarkListener, MarkWatch, Choices
    what follows     Recomputation, Branches, OwedWritings, Sides, Tasks
    what was read    History, Ages, Stages, Submitted, LateReads
    what is done     MarkedStages, Levels, Kills, Epochs
    cached blocks    CachedBlocks, Removals, PersistedInputs, NearPersisted, TornBeside
    results          Results, WatchedResult, EndedJobs, TornJobs, Mixes
"""
