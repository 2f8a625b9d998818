"""Questions to logs, each a function from the events frame to a DataFrame.

Responsible for the answers that people build on; docs/frames.md has every column with its unit. Refuses to collect
anything to the driver. Invariant: an answer is computed by Spark alone, from one or from a thousand applications, and
is the same for the same events in whatever order and parts they come.

An analysis reads the events several times: `events.cache()` first, where they are more than a file.
"""

from replay.frames.analyses.delays import deletion_delays
from replay.frames.analyses.generations import generations, readers
from replay.frames.analyses.holders import top_holders
from replay.frames.analyses.missed import premature_rate, recomputations
from replay.frames.analyses.weights import byte_seconds

__all__ = [
    "byte_seconds",
    "deletion_delays",
    "generations",
    "premature_rate",
    "readers",
    "recomputations",
    "top_holders",
]
