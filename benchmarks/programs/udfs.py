"""Python functions inside SQL: a UDF before and after shuffles, and groups that are mapped as RDDs."""

import sys
import zlib

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("UDFs").getOrCreate()
rows = int(20_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))


@F.udf("long")
def crc(text):
    return zlib.crc32(text.encode())


def summed(key_and_rows):
    key, found = key_and_rows
    return key, sum(row.c % 1_000 for row in found)


table = spark.range(rows, numPartitions=4).withColumn("p", F.sha2(F.col("id").cast("string"), 256))
table = table.withColumn("k", F.substring("p", 1, 2)).repartition(4, "k").withColumn("c", crc("p"))
by_key = table.groupBy("k").agg(F.sum("c").alias("s"), F.max("p").alias("p"))
checked = by_key.withColumn("again", crc("p")).orderBy("k")
first = checked.take(2)
grouped = table.rdd.groupBy(lambda row: row.k).map(summed)
sums = dict(grouped.collect())
wrong = checked.where("again < 0").count()
print("result:", [tuple(row) for row in first], sums["00"], len(sums), wrong, grouped.values().sum())
spark.stop()
