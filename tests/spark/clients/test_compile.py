"""Our Java for remote shuffle services compiles against the stock clients, so that a changed class is noticed.

The clients are those that Maven Central has: for Spark 3, of Celeborn 0.5.4. Spark fetches them as it does for people,
by `spark.jars.packages`.
"""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest

from listener_bridge.shuffle_services import celeborn
from listener_bridge.tap.tap import Tap
from tests.support.own_spark import own_spark

ROOT = Path(__file__).resolve().parents[3]
CELEBORN = "org.apache.celeborn:celeborn-client-spark-3-shaded_2.12:0.5.4"
LOGGING = ",".join(
    (
        "org.apache.logging.log4j:log4j-api",
        "org.apache.logging.log4j:log4j-core",
        "org.apache.logging.log4j:log4j-slf4j-impl",
        "org.slf4j:slf4j-api",
    )
)

pytestmark = [
    pytest.mark.skipif(not pyspark.__version__.startswith("3.5"), reason="Maven Central has clients for Spark 3"),
    pytest.mark.timeout(300),
]


def test_java_for_celeborn_fits_the_client_of_maven_central(tmp_path: Path) -> None:
    fetched = {
        "spark.jars.packages": CELEBORN,
        "spark.jars.excludes": LOGGING,
        "spark.jars.ivy": str(ROOT / ".cache" / "ivy"),
    }
    with own_spark(tmp_path, **fetched) as spark:
        tap = Tap.open(spark)
        loader = celeborn.load(tap)
        service = loader.loadClass("shufflelifecycle.CelebornService")
        verbs = {str(method.getName()) for method in service.getDeclaredMethods()}
        tap.close()
    assert {"holds", "fence", "free", "forget", "begins", "ends"} <= verbs
