"""A tidy script: `del` for what is done with, and a name that is used again for something else."""

import random
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("del").getOrCreate()
sc = spark.sparkContext
scale = float(sys.argv[1] if len(sys.argv) > 1 else 1)


def rows(part):
    chance = random.Random(part)
    return ((chance.randrange(3_000), chance.randbytes(1_000)) for _ in range(int(1_000 * scale)))


raw = sc.parallelize(range(4), 4).flatMap(rows).partitionBy(4)
groups = raw.groupByKey().mapValues(len).partitionBy(3)
print("groups", groups.count())
del raw
swapped = groups.map(lambda pair: (pair[1], pair[0])).groupByKey(4)
print("swapped", swapped.count())
del groups
raw = swapped.flatMapValues(list).partitionBy(4)
tables = {"raw": raw, "swapped": swapped}
del raw
found = [tables["raw"].count(), tables["swapped"].count()]
tables.clear()
del swapped
found.append(sc.parallelize(range(10_000), 4).map(lambda n: (n % 10, n)).reduceByKey(max).values().sum())
print("result:", found)
spark.stop()
