"""The hook needs nobody (scenario 33b): detached, bridge dead, no coordinator. `attach` has started it, that is all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import listener_bridge
from tests.spark.mixing.conftest import RIGHT, App, application, partly_lost
from tests.support.spark import wait_for

pytestmark = pytest.mark.spark
NOBODY = "127.0.0.1:1"


@pytest.fixture(scope="module")
def bare(folder: Path) -> Iterator[App]:
    with application(folder, hooked=False) as found:
        yield found


def detached(attachment: Any) -> None:
    attachment.detach()


def dead(attachment: Any) -> None:
    """Its threads are gone, and nobody has told anybody."""
    bridge = attachment._bridge
    bridge._tap.close()
    bridge.client.close(1.0)
    wait_for(lambda: not bridge._listening.is_alive(), "the end of the tap's thread")


def without_coordinator(attachment: Any) -> None:
    wait_for(lambda: attachment.status().state == "away", "nobody there")


@pytest.mark.parametrize(
    "ending",
    [without_coordinator, *(pytest.param(ending, marks=pytest.mark.newest) for ending in (dead, detached))],
)
def test_33b_all_of_b_is_written_again(bare: App, ending: Callable[[Any], None]) -> None:
    attachment = listener_bridge.attach(bare.spark, policy="observe", address=NOBODY)
    assert attachment.application, attachment.status().why
    ending(attachment)
    assert partly_lost(bare) == RIGHT
    _, b, _ = bare.shuffles()
    assert len(set(bare.submissions(b))) == 1
    attachment.detach()
