"""A cached data frame: filled in part by a `take`, then whole, read, unpersisted, and computed again."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("cached").getOrCreate()
rows = int(60_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))
spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")

base = spark.range(rows, numPartitions=4).withColumn("k", F.pmod(F.xxhash64("id"), F.lit(3_000)))
base = base.withColumn("p", F.sha2(F.col("id").cast("string"), 256))
groups = base.groupBy("k").agg(F.max("p").alias("p"), F.count("*").alias("n"), F.sum("id").alias("s")).cache()
print("some", len(groups.take(2)))
most = groups.orderBy(F.desc("n"), "k").limit(3).collect()
print("all", groups.count())
by_n = groups.groupBy("n").agg(F.sum("s").alias("s")).orderBy("n").collect()
groups.unpersist()
later = groups.where("n > 15").agg(F.sum("s"), F.max("p")).first()
groups.createOrReplaceTempView("groups")
spark.sql("cache table groups")
odd = spark.sql("select count(*) from groups where n % 2 = 1").first()[0]
spark.sql("uncache table groups")
even = spark.sql("select count(*) from groups where n % 2 = 0").first()[0]
print("result:", [tuple(row) for row in most], len(by_n), tuple(later), odd, even)
spark.stop()
