"""Cross-validation with two candidates and two folds, over a data frame that was shuffled. Needs numpy."""

import sys

from pyspark.ml.evaluation import RegressionEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.regression import LinearRegression
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("cross-validation").getOrCreate()
rows = int(5_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))

table = spark.range(rows * 2, numPartitions=4).select((F.col("id") % rows).alias("k"), (F.col("id") % 97).alias("v"))
table = table.groupBy("k").agg(F.sum("v").alias("v"), F.count("*").alias("n"))
table = table.withColumn("label", F.col("v") * 0.5 + F.col("k") % 3)
features = VectorAssembler(inputCols=["v", "n"], outputCol="features").transform(table).repartition(4, "k")
regression = LinearRegression(maxIter=5, solver="l-bfgs")
grid = ParamGridBuilder().addGrid(regression.regParam, [0.01, 10.0]).build()
search = CrossValidator(
    estimator=regression, estimatorParamMaps=grid, evaluator=RegressionEvaluator(), numFolds=2, seed=5, parallelism=2
)
model = search.fit(features)
errors = [round(float(metric), 1) for metric in model.avgMetrics]
best = model.bestModel
residuals = best.summary.residuals.count()
print("result:", errors, round(float(best.coefficients[0]), 2), residuals, model.transform(features).count())
spark.stop()
