"""Label propagation with data frames: `labels` is bound anew in each round and written out now and then."""

import sys

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("label propagation").getOrCreate()
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
people = int(8_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))

known = spark.range(people * 5, numPartitions=4).select(
    (F.xxhash64("id") % people).alias("a"), (F.xxhash64("id", F.lit(1)) % 97).alias("step")
)
known = known.select("a", ((F.col("a") + F.col("step")) % people).alias("b"))
edges = known.union(known.select("b", "a")).distinct()
labels = edges.select(F.col("a").alias("who")).distinct().withColumn("label", F.col("who"))
order = Window.partitionBy("who").orderBy(F.desc("votes"), "label")

for _ in range(3):
    votes = edges.join(labels, edges.b == labels.who).groupBy(F.col("a").alias("who"), "label")
    votes = votes.agg(F.count("*").alias("votes"))
    labels = votes.withColumn("place", F.row_number().over(order)).where("place = 1").select("who", "label")
    labels = labels.localCheckpoint()

found = labels.groupBy("label").count().orderBy(F.desc("count"), "label").limit(5).collect()
print("result:", [tuple(row) for row in found], labels.count())
spark.stop()
