"""Ordinary Spark history logs.

Responsible for finding and reading them: `run.Run` is what one application's log tells. Refuses to judge policies
(`replay.advise`). Invariant: a log that cannot be read, wholly or in part, costs a warning and nothing else.
"""
