"""Our Java for remote shuffle services compiles against the stock clients, so that a changed class is noticed.

The clients are those that Maven Central has for Spark 3: of Celeborn 0.5.4, of Uniffle 0.9.2. Spark fetches them as it
does for people, by `spark.jars.packages`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from listener_bridge.shuffle_services import celeborn, uniffle
from listener_bridge.tap.tap import Tap
from tests.support.own_spark import own_spark

ROOT = Path(__file__).resolve().parents[3]
CELEBORN = "org.apache.celeborn:celeborn-client-spark-3-shaded_2.12:0.5.4"
UNIFFLE = "org.apache.uniffle:rss-client-spark3-shaded:0.9.2"
#: What the clients bring and Spark has.
EXCLUDED = ",".join(
    (
        "org.apache.logging.log4j:log4j-api",
        "org.apache.logging.log4j:log4j-core",
        "org.apache.logging.log4j:log4j-slf4j-impl",
        "org.slf4j:slf4j-api",
        "com.google.errorprone:error_prone_annotations",
        "javax.activation:activation",
    )
)

pytestmark = [
    pytest.mark.skipif(not pyspark.__version__.startswith("3.5"), reason="Maven Central has clients for Spark 3"),
    pytest.mark.timeout(300),
]


@pytest.fixture(scope="module")
def tap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tap]:
    """Of a driver that has all of the clients on its class path."""
    fetched = {
        "spark.jars.packages": f"{CELEBORN},{UNIFFLE}",
        "spark.jars.excludes": EXCLUDED,
        "spark.jars.ivy": str(ROOT / ".cache" / "ivy"),
    }
    with own_spark(tmp_path_factory.mktemp("spark"), **fetched) as spark:
        tap = Tap.open(spark)
        yield tap
        tap.close()


def verbs_of(loader: Any, name: str) -> set[str]:
    service = loader.loadClass(f"shufflelifecycle.{name}")
    return {str(method.getName()) for method in service.getDeclaredMethods()}


def test_java_for_celeborn_fits_the_client_of_maven_central(tap: Tap) -> None:
    verbs = verbs_of(celeborn.load(tap), "CelebornService")
    assert {"holds", "fence", "free", "forget", "begins", "ends"} <= verbs


def test_java_for_uniffle_fits_the_client_of_maven_central(tap: Tap) -> None:
    verbs = verbs_of(uniffle.load(tap), "UniffleService")
    assert {"holds", "fence", "free", "forget", "cannotMove"} <= verbs
