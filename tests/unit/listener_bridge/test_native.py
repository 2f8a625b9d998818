"""Where Spark's own shuffle is only observed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from listener_bridge.shuffle_services import native
from listener_bridge.tap.jvm import DriverJvm

SORT = "org.apache.spark.shuffle.sort.SortShuffleManager"


def obstacles(version: tuple[int, int], **conf: str) -> list[str]:
    return obstacles_of(version, {f"spark.shuffle.{key.replace('_', '.')}": value for key, value in conf.items()})


def obstacles_of(version: tuple[int, int], settings: dict[str, str]) -> list[str]:
    manager = SimpleNamespace(getClass=lambda: SimpleNamespace(getName=lambda: SORT))
    driver: Any = SimpleNamespace(
        version=version, shuffle_manager=manager, conf=lambda key, default: settings.get(key, default)
    )
    return list(native._obstacles(cast("DriverJvm", driver)))


@pytest.mark.parametrize("version", native.ACTED_UPON)
def test_nothing_is_in_the_way_of_a_session_as_it_comes(version: tuple[int, int]) -> None:
    assert obstacles(version) == []
    assert obstacles(version, service_enabled="true") == []


def test_the_oldest_spark_cannot_clean_what_was_fenced_where_its_service_removes_shuffles() -> None:
    both = {"service_enabled": "true", "service_removeShuffle": "true"}
    (reason,) = obstacles((3, 5), **both)
    assert "removeShuffle" in reason
    assert obstacles((4, 0), **both) == []


@pytest.mark.parametrize("value", ["true", " TRUE ", "${env:PUSH}"])
def test_what_spark_may_read_as_set_is_in_the_way(value: str) -> None:
    """Spark leaves out blanks around a value, and looks up what it refers to."""
    (reason,) = obstacles((4, 1), push_enabled=value)
    assert reason.startswith("spark.shuffle.push.enabled=true: merged copies")
    assert obstacles((4, 1), push_enabled=" False ") == []


def test_checksum_files_are_named_as_spark_names_them_however_the_conf_is_written() -> None:
    settings = {"spark.shuffle.service.enabled": "true", "spark.shuffle.checksum.algorithm": "crc32"}
    parts = SimpleNamespace(master=lambda: "master", blockStoreClient=lambda: "client")
    driver: Any = SimpleNamespace(
        block_manager=parts,
        context=SimpleNamespace(isLocal=lambda: False),
        conf=lambda key, default: settings.get(key, default),
        construct=lambda _, name, *arguments: (name, *arguments),
    )
    assert native._deletion(driver, None) == ("Deletion", "master", None, "client", ".checksum.CRC32")


def test_a_driver_that_serves_spark_connect_is_only_observed() -> None:
    """As PySpark makes one for `SparkSession.builder.remote("local")`: of its clients' frames no handle is here."""
    plugins = {"spark.plugins": "mine.Plugin,org.apache.spark.sql.connect.SparkConnectPlugin"}
    (reason,) = obstacles_of((4, 1), plugins)
    assert "this driver serves Spark Connect" in reason
    assert obstacles_of((4, 1), {"spark.plugins": "mine.Plugin"}) == []
