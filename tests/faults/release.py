"""A replica of one of two releases: `python -m tests.faults.release newer|older HISTORY CLOCK NAME serve …`.

Responsible for making of the code as it is two releases that differ: `newer` has added `ExecutorLost` in version 2 of
the records' form, `older` is the one before it, without that event and that command. Refuses to know what a replica
does with its store (`replica`). Invariant: a process is of one release from before its first import of what looks at
versions.

There is no release yet whose records differ; this event changes no state, so that any number of it may be told.
"""

from __future__ import annotations

import sys
from enum import Enum
from typing import Any, NoReturn

from coordinator.core.events import ExecutorLost
from coordinator.wire import codec, messages, upcast, versions
from coordinator.wire.errors import Malformed
from coordinator.wire.shapes import Shape


class Release(Enum):
    """Which of the two; the value is the version of records that it reads."""

    OLDER = 1
    NEWER = 2


#: What the newer one has added, by the names that the protocol has for them.
EVENT, COMMAND = "executor_lost", "report_executor_lost"


class Without(dict[str, Shape[Any]]):
    """A table of shapes from which one was taken: who meets it hears that nobody here knows it."""

    def __init__(self, table: dict[str, Shape[Any]], name: str) -> None:
        super().__init__({known: shape for known, shape in table.items() if known != name})

    def __missing__(self, name: str) -> NoReturn:
        raise Malformed(f"{name!r} is of a newer release", "what this release knows")


def become(release: Release) -> None:
    """Makes this process one of that release, for good."""
    if release is Release.NEWER:
        vars(upcast)["VERSION"] = release.value
        upcast.UPCASTS[Release.OLDER.value] = lambda record: None
        versions.SINCE[ExecutorLost] = release.value
    else:
        vars(codec)["_SHAPES"] = Without(vars(codec)["_SHAPES"], EVENT)
        vars(messages)["_COMMANDS"] = Without(vars(messages)["_COMMANDS"], COMMAND)


def main() -> None:
    """The replica, of the release that is named first."""
    become(Release[sys.argv.pop(1).upper()])
    from tests.faults import replica  # it looks at the version where it is imported

    replica.main()


if __name__ == "__main__":
    main()
