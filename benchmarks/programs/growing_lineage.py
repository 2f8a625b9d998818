"""A plain loop in a function: count, and a shuffle more, 40 times."""

import random
import sys

from pyspark.sql import SparkSession


def rows(part):
    chance = random.Random(part)
    return [(chance.randrange(1_000), chance.randbytes(200)) for _ in range(rows_each)]


def grow(sc, rounds):
    r = sc.parallelize(range(2), 2).flatMap(rows).partitionBy(2)
    counts = []
    for _ in range(rounds):
        counts.append(r.count())
        r = r.mapPartitions(lambda pairs: ((key + 1, block) for key, block in pairs)).partitionBy(2)
    return sum(counts), r.keys().sum()


rows_each = int(500 * float(sys.argv[1] if len(sys.argv) > 1 else 1))
spark = SparkSession.builder.appName("growing lineage").getOrCreate()
print("result:", grow(spark.sparkContext, rounds=40))
spark.stop()
