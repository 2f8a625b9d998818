"""Nightly ETL: three tables read, joined, aggregated, written as Parquet, and read back for a check."""

import sys
import tempfile

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("ETL").getOrCreate()
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
rows = int(40_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))
folder = tempfile.TemporaryDirectory()

orders = spark.range(rows, numPartitions=4).select(
    F.col("id").alias("order"),
    F.pmod(F.xxhash64("id"), F.lit(2_000)).alias("customer"),
    F.pmod(F.xxhash64("id", F.lit(1)), F.lit(300)).alias("product"),
    F.sha2(F.col("id").cast("string"), 512).alias("note"),
)
customers = spark.range(2_000).select(F.col("id").alias("customer"), (F.col("id") % 50).alias("city"))
products = spark.range(300).select(F.col("id").alias("product"), (F.col("id") % 97 + 1).alias("price"))
orders.write.parquet(f"{folder.name}/orders")

read = spark.read.parquet(f"{folder.name}/orders")
enriched = read.join(customers, "customer").join(products, "product")
by_city = enriched.groupBy("city").agg(
    F.sum("price").alias("sales"), F.countDistinct("customer").alias("customers"), F.max("note").alias("last")
)
enriched.repartition(4, "city").write.partitionBy("city").parquet(f"{folder.name}/enriched")
by_city.orderBy("city").write.parquet(f"{folder.name}/by_city")

check = spark.read.parquet(f"{folder.name}/enriched")
back = spark.read.parquet(f"{folder.name}/by_city")
difference = check.groupBy("city").agg(F.sum("price").alias("again")).join(back, "city").where("again <> sales")
print("result:", check.count(), difference.count(), [tuple(row)[:3] for row in back.orderBy("city").take(3)])
spark.stop()
folder.cleanup()
