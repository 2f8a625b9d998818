"""Attaching to whatever Spark context a program makes.

Responsible for hearing of every context of this process as soon as it has started. Refuses to know what runs here.
Invariant: the program finds no session, no variable and no name that it would not find without us.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any


def attach_to_each(overrides: Mapping[str, str]) -> None:
    """From here on, with these arguments of `listener_bridge.attach`. Raises `ImportError` where PySpark is absent."""
    from pyspark import SparkContext

    patched: Any = SparkContext
    plain = patched.__init__

    @functools.wraps(plain)
    def started(context: Any, *arguments: Any, **named: Any) -> None:
        plain(context, *arguments, **named)
        _attach(context, overrides)

    patched.__init__ = started


def _attach(context: Any, overrides: Mapping[str, str]) -> None:
    from listener_bridge import attach

    attach(ContextAsSession(context), **overrides)  # type: ignore[arg-type]


class ContextAsSession:
    """What `attach` asks of a session, from a context: no session is made that the program would find there."""

    def __init__(self, context: Any) -> None:
        self.sparkContext = self._sc = context
        self.conf = self

    @property
    def version(self) -> str:
        return str(self._sc.version)

    def get(self, key: str, default: str | None = None) -> str | None:
        """A setting of the context."""
        found: str | None = self._sc.getConf().get(key, default)
        return found
