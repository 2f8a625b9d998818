"""Looking at the same data frame again and again: `count`, `show`, `collect`, `describe`, and frames made of it."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("collected twice").getOrCreate()
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
rows = int(40_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))

facts = spark.range(rows, numPartitions=4).withColumn("k", F.pmod(F.xxhash64("id"), F.lit(2_000)))
facts = facts.withColumn("p", F.sha2(F.col("id").cast("string"), 256))
groups = facts.groupBy("k").agg(F.max("p").alias("p"), F.count("*").alias("n"))
result = groups.join(facts.select("k", "id").where("id % 5 = 0"), "k").orderBy("id")
first = result.collect()
print("counted", result.count())
result.show(2, truncate=30)
second = result.collect()
few = result.limit(3).collect()
some = groups.where("n > 20")
numbers = [some.count(), some.count(), len(some.collect())]
spread = groups.describe("n").collect()
print("result:", first == second, len(first), few[0][0], numbers, [row[1] for row in spread][:1], groups.count())
spark.stop()
