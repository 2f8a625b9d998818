"""k-means by hand: the points come from a shuffle and are read in every round; centres are collected."""

import random
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("k-means").getOrCreate()
count = int(3_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))


def draw(part):
    chance = random.Random(part)
    for _ in range(count):
        corner = chance.randrange(4)
        yield tuple(chance.gauss(10 * (corner >> axis & 1), 1) for axis in range(8))


def nearest(point, centres):
    return min(range(len(centres)), key=lambda c: sum((a - b) ** 2 for a, b in zip(point, centres[c], strict=True)))


def add(left, right):
    return tuple(a + b for a, b in zip(left[0], right[0], strict=True)), left[1] + right[1]


points = spark.sparkContext.parallelize(range(4), 4).flatMap(draw).repartition(4)
centres = [tuple(10.0 * (k >> axis & 1) + 0.5 for axis in range(8)) for k in range(4)]
for _ in range(5):
    chosen = points.map(lambda point, now=tuple(centres): (nearest(point, now), (point, 1)))
    sums = chosen.reduceByKey(add).collect()
    centres = [tuple(round(x / n, 6) for x in total) for _, (total, n) in sorted(sums)]

final = list(centres)
error = points.map(lambda point: sum((a - b) ** 2 for a, b in zip(point, final[nearest(point, final)], strict=True)))
print("result:", [[round(x, 2) for x in centre[:3]] for centre in centres], round(error.sum(), 1))
spark.stop()
