"""Logs as Spark DataFrames, and analyses on them.

Responsible for the events frame: one row an event, whatever it was read from (docs/frames.md). Refuses to know the live
system. Invariant: the same log gives the same rows, from a store, an archive, a log file, Parquet or Arrow, on every
Spark.

    from replay import frames

    events = frames.events(spark, "sqlite:///var/lib/shuffles.db")          # every Spark from 3.5 on
    frames.register(spark)                                                  # Spark 4.0 and later:
    events = spark.read.format("shuffle_lifecycle").load("/exports")
"""

from replay.frames.reading import events, register

__all__ = ["events", "register"]
