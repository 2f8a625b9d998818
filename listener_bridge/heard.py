"""Our few log lines, in a program that has not set up logging.

Responsible for: a handler that shows them on standard error.
Refuses to know: what they say.
Invariant: a program that sets up logging, before or later, shows them itself, and once.
"""

from __future__ import annotations

import logging
import sys

log = logging.getLogger("shuffle_lifecycle")


def show_log() -> None:
    """Has our lines shown if nobody else does."""
    if not log.hasHandlers():
        handler = _Unheard(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s shuffle lifecycle: %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)


class _Unheard(logging.StreamHandler):  # type: ignore[type-arg] # only from Python 3.11 on
    """Shows what nobody else does: a program that sets up logging later shows our lines itself."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            self.stream = sys.stderr  # what it is now: a program may have turned it elsewhere for a while
            super().emit(record)
