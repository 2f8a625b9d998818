"""A script with a name for every step; only the last one is used at the end."""

import random
import sys
import zlib

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("named steps").getOrCreate()
sc = spark.sparkContext
megabytes = 4 * float(sys.argv[1] if len(sys.argv) > 1 else 1)


def blocks(part, _):
    chance = random.Random(part)
    for number in range(int(megabytes * 5)):
        yield part * 100_000 + number, chance.randbytes(50_000)


def move(pairs):
    return ((key * 31 + 7, block) for key, block in pairs)


rdd1 = sc.parallelize(range(4), 4).mapPartitionsWithIndex(blocks).partitionBy(4)
print("read", rdd1.count())
rdd2 = rdd1.mapPartitions(move).partitionBy(4)
print("second", rdd2.count())
rdd3 = rdd2.mapPartitions(move).partitionBy(4)
rdd4 = rdd3.mapPartitions(move).partitionBy(4)
print("fourth", rdd4.count())
rdd5 = rdd4.mapPartitions(move).partitionBy(4)
rdd6 = rdd5.mapPartitions(move).partitionBy(4)
weights = rdd6.map(lambda pair: zlib.crc32(pair[1]) * (pair[0] % 1000 + 1)).collect()
print("result:", sum(weights))
spark.stop()
