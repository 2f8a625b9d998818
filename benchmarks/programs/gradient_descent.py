"""Gradient descent over training data that were joined and shuffled once and are read in every round."""

import math
import random
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("gradient descent").getOrCreate()
sc = spark.sparkContext
rows = int(2_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))


def features(part):
    chance = random.Random(part)
    for number in range(rows):
        yield part * rows + number, [1.0, *(chance.gauss(0, 1) for _ in range(15))]


def label(key_and_row):
    key, row = key_and_row
    return key, 1.0 if sum(row[1:6]) > 0 else 0.0


raw = sc.parallelize(range(4), 4).flatMap(features)
labels = raw.map(label)
training = raw.join(labels, 4).values()
split = training.randomSplit([0.8, 0.2], seed=1)
train, test = split
weights = [0.0] * 16


def gradient(now):
    def of(pair):
        row, wanted = pair
        guess = 1 / (1 + math.exp(-sum(w * x for w, x in zip(now, row, strict=True))))
        return [(guess - wanted) * x for x in row]

    return of


for _ in range(5):
    steps = train.map(gradient(tuple(weights)))
    total = steps.treeReduce(lambda a, b: [x + y for x, y in zip(a, b, strict=True)])
    weights = [w - 4 * g / (3.2 * rows) for w, g in zip(weights, total, strict=True)]

chosen = tuple(weights)
right = test.filter(lambda pair: (sum(w * x for w, x in zip(chosen, pair[0], strict=True)) > 0) == (pair[1] > 0.5))
print("result:", [round(w, 4) for w in weights[:6]], right.count(), test.count())
spark.stop()
