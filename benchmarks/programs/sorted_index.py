"""Sorting and indexing, which run jobs of their own to sample and to count."""

import random
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("sorted index").getOrCreate()
megabytes = 3 * float(sys.argv[1] if len(sys.argv) > 1 else 1)


def words(part):
    chance = random.Random(part)
    for _ in range(int(megabytes * 1_000)):
        yield chance.randrange(10**9), chance.randbytes(250)


words_in = spark.sparkContext.parallelize(range(4), 4).flatMap(words)
unique = words_in.reduceByKey(max, 4)
ordered = unique.sortByKey(numPartitions=4)
indexed = ordered.zipWithIndex().map(lambda pair: (pair[1], pair[0]))
middle = indexed.filter(lambda pair: pair[0] % 1_000 == 0).mapValues(lambda pair: pair[0]).collect()
backwards = indexed.sortBy(lambda pair: -pair[0], numPartitions=4)
last = backwards.map(lambda pair: pair[1][0]).take(3)
numbered = backwards.zipWithUniqueId().values().max()
print("result:", middle[-1], last, numbered, indexed.count())
spark.stop()
