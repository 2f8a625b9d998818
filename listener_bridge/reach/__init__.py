"""Looks at the program: what a computation can still start from, and which shuffles that needs.

Responsible for the roots and their cuts, as far as a driver's Python and JVM show them. Refuses to know what is
concluded from them. Invariant: looking runs nothing of the program's and changes nothing of it; in doubt it finds a
root too many.

Begin with `looker`, which takes looks, and `sight`, which puts the two halves of one together. Which names the program
will not read again is a room of its own (`liveness`):

    a look         looker, pace, opening, sight, findings, reports, telling
    from facts     candidates, announced, written
    handles        handles, registry, counting, containers, attributes, ways, cycles
    their names    naming, whose, stacks, advice
    calls          calls, slots, actions, regions
    in the JVM     walk, Walk, Look, Bindings, Deadline, Effort
    its lineages   Lineage, Parents, Checkpoints, CachedRdds, LibraryRdds, Intact, Ids
    its plans      Executions, Queries, PlanCut, Stages, Forms, Caches, Sources
    its objects    Contents, Fields, Sessions, Streams
"""
