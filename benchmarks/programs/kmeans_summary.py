"""k-means of the library, its summary's predictions read twice, and a tree of decisions. Needs numpy."""

import sys

from pyspark.ml.classification import DecisionTreeClassifier
from pyspark.ml.clustering import KMeans
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("k-means summary").getOrCreate()
rows = int(6_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))

table = spark.range(rows * 2, numPartitions=4).select((F.col("id") % rows).alias("k"), F.col("id").alias("v"))
table = table.groupBy("k").agg((F.max("v") % 4 * 100 + F.min("v") % 7).alias("x"), (F.max("k") % 4 * 50).alias("y"))
points = VectorAssembler(inputCols=["x", "y"], outputCol="features").transform(table)
model = KMeans(k=4, seed=1, maxIter=5, initMode="random").fit(points)
first = model.summary.predictions.count()
sizes = sorted(model.summary.clusterSizes)
second = model.summary.predictions.groupBy("prediction").count().count()
labelled = model.transform(points).withColumnRenamed("prediction", "label").withColumn("label", F.col("label") * 1.0)
tree = DecisionTreeClassifier(maxDepth=3, seed=1).fit(labelled.select("features", "label"))
right = tree.transform(labelled).where("prediction = label").count()
print("result:", first, sum(sizes), second, tree.depth > 0, right > rows / 2, points.count())
spark.stop()
