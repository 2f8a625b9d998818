"""PageRank as in Spark's own examples: `links` is used in every round, `ranks` is bound anew."""

import random
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("PageRank").getOrCreate()
pages = int(4_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))


def contributions(pair):
    _, (neighbours, rank) = pair
    return [(page, rank / len(neighbours)) for page in neighbours]


def edges(part):
    chance = random.Random(part)
    return ((chance.randrange(pages), int(pages * chance.random() ** 2)) for _ in range(pages * 3))


links = spark.sparkContext.parallelize(range(4), 4).flatMap(edges).distinct(4).groupByKey(4)
ranks = links.mapValues(lambda _: 1.0)
for round_ in range(5):
    sums = links.join(ranks, 4).flatMap(contributions).reduceByKey(lambda a, b: a + b)
    ranks = sums.mapValues(lambda rank: rank * 0.85 + 0.15)
    print("round", round_, ranks.count())

best = ranks.sortBy(lambda pair: -pair[1]).take(10)
print("result:", [page for page, _ in best], round(ranks.values().sum(), 3))
spark.stop()
