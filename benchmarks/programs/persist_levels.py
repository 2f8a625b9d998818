"""Persisted at every level, read again, and unpersisted."""

import random
import sys

from pyspark import StorageLevel
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("persisted").getOrCreate()
sc = spark.sparkContext
megabytes = 3 * float(sys.argv[1] if len(sys.argv) > 1 else 1)


def rows(part):
    chance = random.Random(part)
    return ((chance.randrange(1_000), chance.randbytes(500)) for _ in range(int(megabytes * 500)))


raw = sc.parallelize(range(4), 4).flatMap(rows)
in_memory = raw.groupByKey(4).mapValues(list).persist(StorageLevel.MEMORY_ONLY)
print("filled", in_memory.count())
on_disk = in_memory.flatMapValues(lambda blocks: blocks).partitionBy(4).persist(StorageLevel.DISK_ONLY)
print("partly", on_disk.take(1)[0][0])
print("filled", on_disk.count())
sums = on_disk.mapValues(len).reduceByKey(lambda a, b: a + b, 4).persist(StorageLevel.MEMORY_AND_DISK)
total = sums.values().sum()
in_memory.unpersist()
again = in_memory.mapValues(len).values().sum()
on_disk.unpersist(blocking=True)
evens = on_disk.filter(lambda pair: pair[0] % 2 == 0).count()
most = sums.map(lambda pair: (pair[1], pair[0])).top(2)
sums.unpersist()
print("result:", total, again, evens, most)
spark.stop()
