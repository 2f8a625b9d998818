"""From data frames to RDDs and out: `rdd`, `foreach`, `foreachPartition`, `toLocalIterator`, `toJSON`."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("frame to RDD").getOrCreate()
sc = spark.sparkContext
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
rows = int(40_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))

left = spark.range(rows, numPartitions=4).withColumn("k", F.pmod(F.xxhash64("id"), F.lit(5_000)))
right = left.groupBy("k").agg(F.sum("id").alias("s"), F.count("*").alias("n"))
joined = left.join(right, "k").groupBy("n").agg(F.sum("s").alias("s"), F.count("*").alias("c"))

seen = sc.accumulator(0)
joined.foreach(lambda row: seen.add(row.c))
parts = sc.accumulator(0)
joined.foreachPartition(lambda found: parts.add(sum(row.s for row in found)))
as_rdd = joined.rdd
pairs = as_rdd.map(lambda row: (row.n % 3, row.c)).reduceByKey(lambda a, b: a + b)
first = sorted(pairs.collect())
print("again", as_rdd.count())
streamed = sum(row.c for row in joined.toLocalIterator())
texts = joined.toJSON().filter(lambda text: '"n":1' in text).count()
print("result:", seen.value, parts.value, first, streamed, texts, pairs.count())
spark.stop()
