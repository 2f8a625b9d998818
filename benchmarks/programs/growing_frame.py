"""A loop that binds one data frame anew: joined with a new column each round, cut by a checkpoint to disk."""

import sys
import tempfile

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("growing frame").getOrCreate()
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
rows = int(15_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))
folder = tempfile.TemporaryDirectory()
spark.sparkContext.setCheckpointDir(folder.name)

wide = spark.range(rows, numPartitions=4).withColumnRenamed("id", "k")
for month in range(4):
    sales = spark.range(rows * 3, numPartitions=4).select(
        F.pmod(F.xxhash64("id", F.lit(month)), F.lit(rows)).alias("k"), F.col("id").alias("v")
    )
    monthly = sales.groupBy("k").agg(F.sum("v").alias(f"m{month}"))
    wide = wide.join(monthly, "k", "left")
    if month % 2:
        wide = wide.checkpoint()
    print("month", month, wide.where(f"m{month} is null").count())

everything = wide.unionByName(wide.withColumn("k", -F.col("k")))
sums = everything.groupBy(F.col("k") % 5).agg(*(F.sum(f"m{month}") for month in range(4)))
print("result:", sorted(map(tuple, sums.collect())), wide.count())
spark.stop()
folder.cleanup()
