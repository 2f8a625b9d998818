"""What nearly every test of the client begins with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from listener_bridge.shuffle_services.api import Fenced, Freed
from tests.unit.listener_bridge.client.attached import Attached
from tests.unit.listener_bridge.fakes import LOCATOR, FakeCoordinator


@pytest.fixture
def coordinator() -> Iterator[FakeCoordinator]:
    with FakeCoordinator() as running:
        yield running


@pytest.fixture
def attached(coordinator: FakeCoordinator) -> Iterator[Attached]:
    here = Attached(coordinator.address, fence=Fenced(LOCATOR, 5, "mark"), free=Freed(5))
    here.bridge.start()
    yield here
    here.bridge.stop("the test has ended")
