"""ALS: ratings that were cleaned by a shuffle, a split, a model, its error, and recommendations. Needs numpy."""

import sys

from pyspark.ml.evaluation import RegressionEvaluator
from pyspark.ml.recommendation import ALS
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("recommender").getOrCreate()
rows = int(12_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))

raw = spark.range(rows, numPartitions=4).select(
    F.pmod(F.xxhash64("id"), F.lit(300)).cast("int").alias("user"),
    F.pmod(F.xxhash64("id", F.lit(1)), F.lit(200)).cast("int").alias("item"),
)
raw = raw.withColumn("rating", ((F.col("user") % 5 + F.col("item") % 7) / 2).cast("float"))
ratings = raw.groupBy("user", "item").agg(F.max("rating").alias("rating"))
train, test = ratings.where("(user + item) % 5 > 0"), ratings.where("(user + item) % 5 = 0")
als = ALS(rank=4, maxIter=3, regParam=0.05, userCol="user", itemCol="item", seed=1, numUserBlocks=4, numItemBlocks=4)
model = als.setColdStartStrategy("drop").fit(train)
error = RegressionEvaluator(labelCol="rating").evaluate(model.transform(test))
best = model.recommendForAllUsers(2).where("user < 3").orderBy("user").collect()
factors = model.userFactors.count() + model.itemFactors.count()
print("result:", round(error, 2), [len(row.recommendations) for row in best], factors, ratings.count())
spark.stop()
