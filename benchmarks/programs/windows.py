"""Window functions over one table: ranks, gaps, running sums."""

import sys

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("windows").getOrCreate()
rows = int(40_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))

clicks = spark.range(rows, numPartitions=4).select(
    F.pmod(F.xxhash64("id"), F.lit(700)).alias("user"), F.xxhash64("id", F.lit(1)).alias("at"), F.col("id").alias("n")
)
by_user = Window.partitionBy("user").orderBy("at")
steps = clicks.withColumn("before", F.lag("at").over(by_user)).withColumn("place", F.row_number().over(by_user))
firsts = steps.where("place = 1")
gaps = steps.where("before is not null").withColumn("gap", F.col("at") / 2 - F.col("before") / 2)
running = steps.withColumn("so_far", F.sum("n").over(by_user.rowsBetween(Window.unboundedPreceding, 0)))
tenths = firsts.withColumn("tenth", F.ntile(10).over(Window.orderBy("at")))
found = [
    firsts.count(),
    gaps.groupBy(F.col("user") % 10).agg(F.max("place")).count(),
    running.agg(F.max("so_far")).first()[0],
    tenths.groupBy("tenth").count().orderBy("tenth").first()[1],
]
print("result:", found)
spark.stop()
