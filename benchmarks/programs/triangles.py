"""Triangles of a graph with data frames: the edges are joined with themselves, and then once more."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("triangles").getOrCreate()
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
nodes = int(3_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))

drawn = spark.range(nodes * 8, numPartitions=4).select(
    F.pmod(F.xxhash64("id"), F.lit(nodes)).alias("x"), F.pmod(F.xxhash64("id", F.lit(3)), F.lit(nodes)).alias("y")
)
edges = drawn.where("x <> y").select(F.least("x", "y").alias("a"), F.greatest("x", "y").alias("b")).distinct()
degrees = edges.select(F.explode(F.array("a", "b")).alias("node")).groupBy("node").count()
second = edges.select(F.col("a").alias("b"), F.col("b").alias("c"))
wedges = edges.join(second, "b")
closing = edges.select("a", F.col("b").alias("c"))
triangles = wedges.join(closing, ["a", "c"])
count = triangles.count()
possible = degrees.select(F.sum(F.col("count") * (F.col("count") - 1) / 2)).first()[0]
top = triangles.groupBy("a").count().orderBy(F.desc("count"), "a").limit(3).collect()
print("result:", count, round(3 * count / possible, 6), [tuple(row) for row in top])
spark.stop()
