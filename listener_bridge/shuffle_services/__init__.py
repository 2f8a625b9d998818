"""Adapters to what stores shuffle data, behind one contract (`api`).

Responsible for what fencing, freeing and forgetting a generation is with each service. Refuses to know why one goes.
Invariant: that of the contract: a verb acts on the generation that its locator names, or on nothing.

Celeborn and Uniffle have rooms of their own. They use, too, what is here below Spark's own shuffle:

    the contract     api, testing, choosing, in_the_driver, obstacles
    Spark's own      native, NativeService, FenceWork, FreeWork, Hold, Deletion, LocalFiles, Place
    who is busy      FenceDecision, Users, Near
    what is counted  Generations, MapSizes
    what is told     Answer, Outcome
    for the marks    Rewrites, TaskNumbers
    around calls     Patience, Silences, PerApplication, Reflect
"""
