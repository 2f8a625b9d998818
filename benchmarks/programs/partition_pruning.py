"""Joins with partitioned and bucketed tables: dynamic pruning, and shuffles that bucketing saves."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("pruning").getOrCreate()
rows = int(40_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))

sales = spark.range(rows, numPartitions=4).select(
    "id", (F.col("id") % 20).alias("day"), F.pmod(F.xxhash64("id"), F.lit(400)).alias("shop")
)
sales.repartition(4, "day").write.mode("overwrite").partitionBy("day").saveAsTable("sales")
sales.write.mode("overwrite").bucketBy(4, "shop").saveAsTable("by_shop")
days = spark.range(20).select(F.col("id").alias("day"), (F.col("id") % 7).alias("weekday"))
days.write.mode("overwrite").saveAsTable("days")

pruned = spark.table("sales").join(spark.table("days").where("weekday = 3"), "day")
per_day = pruned.groupBy("day").agg(F.count("*").alias("n"), F.sum("shop").alias("s")).orderBy("day").collect()
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
shops = pruned.groupBy("shop").agg(F.sum("id").alias("s"))
bucketed = spark.table("by_shop").groupBy("shop").agg(F.max("id").alias("last"))
both = bucketed.join(shops, "shop").where("last > s / 20")
print("result:", [tuple(row) for row in per_day], both.count(), both.agg(F.sum("last")).first()[0])
for table in ("sales", "by_shop", "days"):
    spark.sql(f"drop table {table}")
spark.stop()
