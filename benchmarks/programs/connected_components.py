"""Connected components: rounds until nothing changes any more, with a join of the last two rounds to find out."""

import random
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("connected components").getOrCreate()
nodes = int(6_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))


def pairs(part):
    chance = random.Random(part)
    for _ in range(nodes // 3):
        a = chance.randrange(nodes)
        yield a, min(nodes - 1, a + chance.choice((1, 2, 500)))


one_way = spark.sparkContext.parallelize(range(4), 4).flatMap(pairs)
edges = one_way.union(one_way.map(lambda pair: (pair[1], pair[0]))).distinct(4).partitionBy(4)
components = edges.keys().distinct(4).map(lambda node: (node, node))

changed, rounds = 1, 0
while changed and rounds < 4:
    offers = edges.join(components, 4).map(lambda pair: pair[1])
    better = offers.union(components).reduceByKey(min, 4)
    changed = better.join(components, 4).filter(lambda pair: pair[1][0] != pair[1][1]).count()
    components = better
    rounds += 1

sizes = components.map(lambda pair: (pair[1], 1)).reduceByKey(lambda a, b: a + b)
print("result:", rounds, changed, sizes.count(), sizes.values().max())
spark.stop()
