"""pandas on Spark: a series of steps as a pandas user writes them. Needs pyspark.pandas."""

import sys
import warnings

warnings.simplefilter("ignore")
import pyspark.pandas as ps
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("pandas on Spark").getOrCreate()
rows = int(20_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))
ps.set_option("compute.default_index_type", "distributed")

frame = ps.DataFrame(spark.range(rows, numPartitions=4))
frame["k"] = frame["id"] % 37
frame["v"] = (frame["id"] * 7919) % 1_000
means = frame.groupby("k")["v"].mean().sort_index()
head = means.head(3).to_list()
counts = frame["k"].value_counts().sort_index()
merged = frame.merge(means.rename("mean").reset_index(), on="k")
above = merged[merged["v"] > merged["mean"]]
ordered = above.sort_values(["v", "id"], ascending=False)
print("result:", head, int(counts.max()), len(above), ordered["id"].head(3).to_list(), int(above["v"].sum()))
spark.stop()
