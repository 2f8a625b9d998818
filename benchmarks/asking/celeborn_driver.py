"""A PySpark application on Celeborn that holds one shuffle and tells where its LifecycleManager listens."""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession


def main() -> None:
    """Prints a line of JSON, and ends with its standard input."""
    spark = SparkSession.builder.master("local[2]").appName("asking").getOrCreate()
    context: Any = spark.sparkContext
    keyed = context.parallelize(range(1_000), 4).map(lambda n: (n % 10, n)).partitionBy(2)
    assert keyed.count() == 1_000
    manager = _lifecycle_manager(context)
    told = {"host": manager.getHost(), "port": manager.getPort(), "application": manager.appUniqueId(), "shuffle": 0}
    print(json.dumps(told), flush=True)
    sys.stdin.read()
    spark.stop()


def _lifecycle_manager(context: Any) -> Any:
    manager = context._jvm.org.apache.spark.SparkEnv.get().shuffleManager()
    kept = manager.getClass().getDeclaredField("lifecycleManager")
    kept.setAccessible(True)
    return kept.get(manager)


if __name__ == "__main__":
    main()
