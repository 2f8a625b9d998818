"""The coordinator's loggers: structlog's, as the process has configured it.

Responsible for: a logger by its name; passing its lines to `logging` in a process that is somebody else's.
Refuses to know: who logs what, and where lines go in the end.
Invariant: nothing of the process is configured here: a program that uses structlog as it comes notices nothing. A line
that cannot be said is lost and stops nothing: the disk under a log may be full, and a program's own processors may want
what our lines do not have.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import Any

import structlog

_PROCESSORS = (
    structlog.stdlib.filter_by_level,
    structlog.processors.format_exc_info,
    structlog.processors.KeyValueRenderer(key_order=["event"]),
)
_is_guest = threading.Event()


class _Log:
    """Made anew for each line: the program may configure structlog at any time."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, verb: str) -> Any:
        def say(*words: Any, **more: Any) -> None:
            with suppress(Exception):
                getattr(_made(self._name), verb)(*words, **more)

        return say


def logger(name: str) -> Any:
    """The logger of a module."""
    return _Log(name)


def through_logging() -> None:
    """From now on lines go through `logging`, unless the program has said what structlog does."""
    _is_guest.set()


def _made(name: str) -> Any:
    if not _is_guest.is_set() or structlog.is_configured():
        return structlog.get_logger(name)
    wrapper = structlog.stdlib.BoundLogger
    return structlog.wrap_logger(logging.getLogger(name), processors=_PROCESSORS, wrapper_class=wrapper)
