"""The pure heart: ``decide(state, command)`` gives events, ``evolve(state, event)`` gives state.

Responsible for every rule about the life of shuffle data. Refuses to know clocks, chance, I/O, logging, gRPC and
protobuf: time, ids and outcomes come in as values. The one invariant: equal logs give equal states, anywhere.
"""
