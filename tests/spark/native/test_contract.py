"""Native Spark keeps the contract of shuffle services."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from listener_bridge.shuffle_services.testing import ShuffleServiceContract
from listener_bridge.tap.facts import MarkerPassed
from tests.support.spark import in_background, wait_for

pytestmark = pytest.mark.spark


@dataclass
class NativeWorld:
    run: Any
    _frames: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def service(self) -> Any:
        return self.run.service

    def write(self) -> int:
        keyed = self.run.keyed()
        result = sorted(keyed.collect())
        shuffle: int = self.run.newest_shuffle()
        self._frames[shuffle] = (keyed, result)
        return shuffle

    def read_again(self, app_shuffle: int) -> bool:
        keyed, result = self._frames[app_shuffle]
        return bool(sorted(keyed.collect()) == result)

    @contextmanager
    def reader_running(self, app_shuffle: int) -> Iterator[None]:
        keyed, result = self._frames[app_shuffle]
        gate = self.run.gate()

        def held(index: int, rows: Iterator[Any]) -> Iterator[Any]:
            gate.pass_through(index)
            return rows

        with in_background(lambda: sorted(keyed.mapPartitionsWithIndex(held).collect())) as job:
            try:
                wait_for(gate.arrived, "a reader's task at the gate")
                yield
            finally:
                gate.open()
            assert job.result() == result

    def bytes_stored(self, app_shuffle: int) -> int:
        return sum(self.run.files(app_shuffle).values())

    def marker_passed(self, name: str) -> bool:
        self.run.log.settle()
        return any(marker.name == name for marker in self.run.log.of(MarkerPassed))


class TestNative(ShuffleServiceContract):
    @pytest.fixture
    def world(self, run: Any) -> NativeWorld:
        return NativeWorld(run)
