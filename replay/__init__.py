"""Replay: what a log tells, after the fact.

Responsible for what people read out of a log: `explain.explain` gives the story of one shuffle, `phrases.phrase` one
sentence an event. Refuses to know the live system. Invariant: everything told here can be told again from the same
recorded events, today, in a year, and on somebody else's machine.
"""
