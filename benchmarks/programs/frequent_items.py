"""Frequent item sets: the model's own data frames are read after the fit. Needs numpy."""

import sys

from pyspark.ml.fpm import FPGrowth
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("frequent items").getOrCreate()
rows = int(20_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))

bought = spark.range(rows, numPartitions=4).select(
    F.pmod(F.xxhash64("id"), F.lit(rows // 8)).alias("basket"),
    F.pmod(F.xxhash64("id", F.lit(1)), F.lit(40)).alias("a"),
)
bought = bought.withColumn("item", F.floor(F.sqrt("a")))
baskets = bought.groupBy("basket").agg(F.sort_array(F.collect_set("item")).alias("items"))
model = FPGrowth(minSupport=0.1, minConfidence=0.3, numPartitions=4).fit(baskets)
sets = model.freqItemsets
frequent = sets.count()
largest = sets.agg(F.max("freq"), F.max(F.size("items"))).first()
rules = model.associationRules.count()
helped = model.transform(baskets).where(F.size("prediction") > 0).count()
print("result:", frequent, tuple(largest), rules, helped, sets.count())
spark.stop()
