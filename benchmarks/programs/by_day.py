"""A list of days and a dictionary of steps: what they hold is read through them, until nothing reads these again."""

import functools
import random
import sys

from pyspark.sql import SparkSession


class Report:
    def __init__(self, rows):
        self.sorted = rows.sortByKey(numPartitions=4)
        self.largest = self.sorted.map(lambda pair: (pair[0] % 50, pair[1])).reduceByKey(max, 4)

    def lines(self):
        return [self.sorted.count(), sorted(self.largest.collect())[:3]]


def day(sc, number, megabytes):
    def rows(part, _):
        chance = random.Random(100 * number + part)
        for _ in range(int(megabytes * 250)):
            yield chance.randrange(1_000), chance.randbytes(1_000)

    return sc.parallelize(range(4), 4).mapPartitionsWithIndex(rows).partitionBy(4)


spark = SparkSession.builder.appName("by_day").getOrCreate()
megabytes = 2 * float(sys.argv[1] if len(sys.argv) > 1 else 1)

days = [day(spark.sparkContext, number, megabytes) for number in range(3)]
counts = [one.count() for one in days]
week = functools.reduce(lambda left, right: left.union(right), days)

steps = {"grouped": week.groupByKey(3)}
steps["longest"] = steps["grouped"].mapValues(lambda blocks: max(map(len, blocks))).reduceByKey(max, 5)
found = [steps["longest"].values().max(), steps["grouped"].mapValues(len).values().sum()]

sums = steps["grouped"].map(lambda pair: (pair[0] % 100, sum(block[0] for block in pair[1]))).partitionBy(4)
found.append(sums.count())

report = Report(sums)
found += report.lines()

last = sums.map(lambda pair: (pair[0] % 10, pair[1])).groupByKey(4).mapValues(sum)
found.append(sorted(last.collect())[:3])
found.append(last.map(lambda pair: (pair[1] % 7, 1)).reduceByKey(lambda a, b: a + b, 4).collect())
print("result:", counts, found[:-1], sorted(found[-1]))
spark.stop()
