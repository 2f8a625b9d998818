"""Jobs that fail in between; the program goes on with what it has."""

import random
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("exceptions").getOrCreate()
sc = spark.sparkContext
scale = float(sys.argv[1] if len(sys.argv) > 1 else 1)


def rows(part):
    chance = random.Random(part)
    return ((chance.randrange(1_000), chance.randbytes(500)) for _ in range(int(1_500 * scale)))


def picky(pair):
    if pair[0] == 500:
        raise ValueError("500 is not allowed")
    return pair


good = sc.parallelize(range(4), 4).flatMap(rows).partitionBy(4)
caught = []
try:
    good.map(picky).partitionBy(2).count()
except Exception as error:
    caught.append("500 is not allowed" in str(error))

kept = good.filter(lambda pair: pair[0] != 500)
try:
    checked = kept.map(picky).partitionBy(4)
    print("checked", checked.count())
    checked.mapPartitions(lambda _: [1 / 0]).count()
except Exception as error:
    caught.append("ZeroDivisionError" in str(error))
finally:
    total = checked.keys().sum()

frame = spark.range(int(20_000 * scale)).repartition(4).withColumn("k", F.col("id") % 7)
groups = frame.groupBy("k").agg(F.sum("id").alias("s"))
try:
    groups.select(F.raise_error("no")).collect()
except Exception as error:
    caught.append("no" in str(error))
print("result:", caught, total, sorted(map(tuple, groups.collect())), good.count())
spark.stop()
