"""One replica: the core's decisions, made durable in a state backend and told to those who wait for them.

Responsible for one log an application, however many ask and however many replicas append to it. Refuses to know rules,
transport, and which store it is. Invariant: nothing is told before it is durable, and nothing is done as if this
replica were the only one.

Begin with `api`, the promises, and `replica`, which keeps them by means of the others:

    promises         api, errors, options, limits, replica
    one application  engines, engine, waiting, proposing, drafting, due
    its log          journal, places, moves, snapshot, snapshotting, shelf, loading, tail, verifying
    its driver       sessions, pulse, signs
    other replicas   registration, peers, following, census
    done by one      housekeeping, reaping, archiving, retention
    questions        views, listing, audit, observing
    time             clock, aside
"""
