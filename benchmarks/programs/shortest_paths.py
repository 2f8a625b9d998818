"""Breadth-first search: the frontier is bound anew each round, what was reached grows by union."""

import random
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("shortest paths").getOrCreate()
sc = spark.sparkContext
nodes = int(20_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))


def edges(part):
    chance = random.Random(part)
    return ((chance.randrange(nodes), chance.randrange(nodes)) for _ in range(nodes))


graph = sc.parallelize(range(4), 4).flatMap(edges).groupByKey(4).mapValues(list)
reached = frontier = sc.parallelize([(0, 0)], 1)
sizes = []
while len(sizes) < 4:
    step = frontier.join(graph, 4).flatMap(lambda pair: [(node, pair[1][0] + 1) for node in pair[1][1]]).distinct(4)
    frontier = step.subtractByKey(reached, 4)
    reached = reached.union(frontier).coalesce(4)
    sizes.append(frontier.count())
    if not sizes[-1]:
        break

print("result:", sizes, reached.count(), reached.values().max())
spark.stop()
