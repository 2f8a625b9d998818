"""Iterators that are read for a while, put aside, and read on."""

import itertools
import random
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("half consumed").getOrCreate()
sc = spark.sparkContext
scale = float(sys.argv[1] if len(sys.argv) > 1 else 1)


def rows(part):
    chance = random.Random(part)
    return ((chance.randrange(10**6), chance.randbytes(400)) for _ in range(int(1_500 * scale)))


def ordered():
    return sc.parallelize(range(4), 4).flatMap(rows).sortByKey(numPartitions=6)


iterator = ordered().toLocalIterator()
head = [key for key, _ in itertools.islice(iterator, 10)]

frames = spark.range(int(30_000 * scale), numPartitions=4).withColumn("k", F.xxhash64("id") % 1_000)
grouped = frames.repartition(6, "k").groupBy("k").agg(F.sum("id").alias("s")).repartition(5, "s")
sums = grouped.select("s").toLocalIterator()
some = sum(row.s for row in itertools.islice(sums, 100))
del frames, grouped

other = sc.parallelize(range(4), 4).flatMap(rows).groupByKey(4).count()
rest = sum(key for key, _ in iterator)
more = sum(row.s for row in sums)
ahead = sum(1 for _ in ordered().toLocalIterator(prefetchPartitions=True))
print("result:", head[:3], some + more, other, rest, ahead)
spark.stop()
