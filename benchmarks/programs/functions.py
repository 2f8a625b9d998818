"""Every step is a function that takes an RDD and gives one; `main` has a local name for each."""

import random
import sys

from pyspark.sql import SparkSession


def read(sc, megabytes):
    def rows(part, _):
        chance = random.Random(part)
        for _ in range(int(megabytes * 250)):
            yield chance.randrange(2_000), chance.randbytes(1_000)

    return sc.parallelize(range(4), 4).mapPartitionsWithIndex(rows)


def longest(rows):
    return rows.mapValues(lambda block: max(block)).reduceByKey(max)


def grouped(rows):
    return rows.groupByKey(4).mapValues(lambda blocks: b"".join(sorted(blocks)))


def joined(left, right):
    return left.join(right, 4)


def report(rows):
    counts = rows.mapValues(lambda pair: len(pair[0]) + pair[1])
    print("keys", counts.count())
    return counts.values().sum()


def main(megabytes):
    spark = SparkSession.builder.appName("functions").getOrCreate()
    rows = read(spark.sparkContext, megabytes)
    groups = grouped(rows)
    print("groups", groups.count())
    peaks = longest(rows)
    both = joined(groups, peaks)
    total = report(both)
    best = both.mapValues(lambda pair: pair[1]).sortBy(lambda pair: (-pair[1], pair[0])).take(5)
    print("result:", total, best)
    spark.stop()


if __name__ == "__main__":
    main(4 * float(sys.argv[1] if len(sys.argv) > 1 else 1))
