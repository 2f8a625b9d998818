"""The older RDD interface of MLlib: ALS and k-means called on RDDs that come from shuffles. Needs numpy."""

import sys

from pyspark.mllib.clustering import KMeans
from pyspark.mllib.recommendation import ALS, Rating
from pyspark.mllib.stat import Statistics
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("MLlib RDDs").getOrCreate()
sc = spark.sparkContext
rows = int(8_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))

seen = sc.parallelize(range(rows), 4).map(lambda n: ((n * 7919 % 200, n * 104729 % 150), float(n % 5 + 1)))
ratings = seen.reduceByKey(max, 4).map(lambda pair: Rating(pair[0][0], pair[0][1], pair[1]))
model = ALS.train(ratings, 3, iterations=3, seed=1, blocks=4)
wanted = ratings.map(lambda rating: (rating[0], rating[1])).distinct(4)
predicted = model.predictAll(wanted).map(lambda rating: ((rating[0], rating[1]), rating[2]))
joined = ratings.map(lambda rating: ((rating[0], rating[1]), rating[2])).join(predicted, 4)
error = joined.values().map(lambda pair: (pair[0] - pair[1]) ** 2).mean()
users = model.userFeatures().mapValues(lambda found: len(found)).values().sum()

vectors = ratings.map(lambda rating: (rating[0] % 4, [float(rating[2]), float(rating[1])])).groupByKey(4)
points = vectors.flatMap(lambda pair: [[pair[0] * 50.0 + p[0], p[1]] for p in pair[1]])
clusters = KMeans.train(points, 2, maxIterations=4, seed=1)
counts = points.map(lambda point: (clusters.predict(point), 1)).reduceByKey(lambda a, b: a + b)
means = Statistics.colStats(points).mean()
print("result:", round(error, 1), users, joined.count(), sum(n for _, n in counts.collect()), round(float(means[0]), 2))
spark.stop()
