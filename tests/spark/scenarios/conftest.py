"""Sessions in JVMs of their own, for stories that `tests/spark/bridge` does not tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from shuffle_lifecycle.v1 import common_pb2

from tests.spark.bridge.conftest import Log, Run
from tests.support.own_spark import own_spark
from tests.support.spark import LOCAL


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder: Path = tmp_path_factory.mktemp("spark")
    with own_spark(folder, LOCAL, **{"spark.sql.adaptive.enabled": "true"}) as spark:
        yield Run(spark, folder, tmp_path_factory.mktemp("logs"))


def deleted(log: Log) -> list[int]:
    """The app shuffles of the generations that our directives have deleted, in order."""
    events = log.events("generation_deleted")
    generations = log.generations()
    return [generations[event.shuffle_id] for event in events if event.cause == common_pb2.DELETION_POLICY]
