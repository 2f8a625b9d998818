"""A pipeline: index, assemble, scale, logistic regression; the model is used and its summary read. Needs numpy."""

import sys

from pyspark.ml import Pipeline
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import StandardScaler, StringIndexer, VectorAssembler
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("ML pipeline").getOrCreate()
rows = int(8_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))

people = spark.range(rows, numPartitions=4).select(
    F.pmod(F.xxhash64("id"), F.lit(5)).cast("string").alias("city"), (F.col("id") % 83).alias("age"), "id"
)
spent = spark.range(rows * 3, numPartitions=4).select(
    F.pmod(F.xxhash64("id", F.lit(2)), F.lit(rows)).alias("id"), (F.col("id") % 100).alias("amount")
)
table = people.join(spent.groupBy("id").agg(F.sum("amount").alias("spent")), "id")
table = table.withColumn("label", (F.col("age") + F.col("spent") / 4 > 75).cast("double"))
train, test = table.randomSplit([0.7, 0.3], seed=3)
steps = [
    StringIndexer(inputCol="city", outputCol="place", stringOrderType="alphabetAsc"),
    VectorAssembler(inputCols=["place", "age", "spent"], outputCol="raw"),
    StandardScaler(inputCol="raw", outputCol="features"),
    LogisticRegression(maxIter=5),
]
model = Pipeline(stages=steps).fit(train)
scored = model.transform(test)
area = BinaryClassificationEvaluator().evaluate(scored)
summary = model.stages[-1].summary
right = scored.where("prediction = label").count()
iterations = len(summary.objectiveHistory)
print("result:", round(area, 3), round(summary.accuracy, 3), iterations, right > 0, summary.predictions.count() > 0)
spark.stop()
