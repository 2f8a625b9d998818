"""`applyInPandas` and a pandas UDF between shuffles. Needs numpy, pandas, pyarrow."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("grouped pandas").getOrCreate()
rows = int(20_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))


def centred(group):
    return group.assign(v=group.v - group.v.min())


table = spark.range(rows, numPartitions=4).select(
    "id", F.pmod(F.xxhash64("id"), F.lit(60)).alias("k"), (F.col("id") * 7919 % 1000).alias("v")
)
moved = table.groupBy("k").applyInPandas(centred, "id long, k long, v long")
sums = moved.groupBy("k").agg(F.sum("v").alias("s"))
first = sums.orderBy("k").limit(3).toPandas()
twice = moved.groupBy("k").cogroup(sums.groupBy("k"))
both = twice.applyInPandas(lambda left, right: left.assign(v=left.v + right.s.max()), "id long, k long, v long")
print("result:", first.s.tolist(), both.agg(F.max("v")).first()[0], sums.count(), both.count())
spark.stop()
