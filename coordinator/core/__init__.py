"""The pure heart: ``decide(state, command)`` gives events, ``evolve(state, event)`` gives state.

Responsible for every rule about the life of shuffle data. Refuses to know clocks, chance, I/O, logging, gRPC and
protobuf: time, ids and outcomes come in as values. The one invariant: equal logs give equal states, anywhere.

Begin with `lifecycle`, the table, and with `decide`, where every command finds its rule:

    words           ids, values, commands, events, rejections
    state           lifecycle, state, overlay, tracked, making, digest
    a decision      decide, desk
    who asks        numbering, tally
    what is told    scheduler, looks, gaps, directives
    what is asked   readers, writers, missing, attempts, answers
    what follows    sweep, touching, policies, pressure, disks, recovery, planning, losses
    what reaches    cuts, caches, lineages
    what events do  evolve, fold_application, fold_scheduler, fold_stages, fold_generation, fold_recovery
    proof           invariants, steps, proving, exhaustive
"""
