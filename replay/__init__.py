"""Replay: what a log tells, after the fact.

Responsible for what people read out of a log: `explain.explain` gives the story of one shuffle, `phrases.phrase` one
sentence an event. Refuses to know the live system. Invariant: everything told here can be told again from the same
recorded events, today, in a year, and on somebody else's machine.

Larger questions have rooms of their own (the folders below). Here is what people ask of one log:

    a shuffle      explain, story, telling, ending, users, blocks, causes
    a moment       points, travel, moments, changes
    who holds      holders, holding
    in words       phrases, names, units, plain, numbers
"""
