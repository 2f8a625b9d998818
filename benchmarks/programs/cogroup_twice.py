"""One co-grouped RDD that several results are made of."""

import random
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("co-grouped").getOrCreate()
sc = spark.sparkContext
megabytes = 3 * float(sys.argv[1] if len(sys.argv) > 1 else 1)


def rows(seed):
    def make(part, _):
        chance = random.Random(seed * 100 + part)
        for _ in range(int(megabytes * 500)):
            yield chance.randrange(3_000), chance.randbytes(500)

    return make


orders = sc.parallelize(range(4), 4).mapPartitionsWithIndex(rows(1))
returns = sc.parallelize(range(4), 4).mapPartitionsWithIndex(rows(2))
both = orders.cogroup(returns, 4)
sizes = both.mapValues(lambda pair: (len(pair[0]), len(pair[1])))
kept = sizes.filter(lambda pair: pair[1][0] > pair[1][1]).count()
lost = both.flatMapValues(lambda pair: list(pair[1])[:1]).partitionBy(3)
print("lost", lost.count())
most = sizes.map(lambda pair: (sum(pair[1]), pair[0])).top(3)
left = orders.subtractByKey(returns, 4).keys().distinct().count()
print("result:", kept, most, left, both.count(), lost.keys().max())
spark.stop()
