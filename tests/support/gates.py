"""Gates that open whatever happens.

Responsible for: letting held tasks go when a test fails behind a closed gate, so that it fails and does not hang.
Refuses to know: who waits. Invariant: after the block nobody is held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TypeVar

from tests.support.spark import Gate, in_background

T = TypeVar("T")


@contextmanager
def held_at(gate: Gate, job: Callable[[], T]) -> Iterator[Future[T]]:
    """A job in a thread of its own, whose tasks come to this gate; the gate is open when the block is left."""
    with in_background(job) as running:
        try:
            yield running
        finally:
            gate.open()
