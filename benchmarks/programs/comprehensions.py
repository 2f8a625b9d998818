"""Names that only nested code reads: generators, comprehensions and lambdas at module level."""

import random
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("comprehensions").getOrCreate()
sc = spark.sparkContext
scale = float(sys.argv[1] if len(sys.argv) > 1 else 1)
rows = sc.parallelize(range(4), 4).flatMap(
    lambda part: [(n % 800, random.Random(part * 9_999 + n).randbytes(400)) for n in range(int(1_500 * scale))]
)

a = rows.partitionBy(4)
counts = [a.filter(lambda pair, k=k: pair[0] % 4 == k).count() for k in range(4)]

b = rows.mapValues(len).reduceByKey(lambda x, y: x + y, 4)
later = [lambda: b.count(), lambda: b.keys().max()]

c = rows.groupByKey(4).mapValues(list)
steps = (c.filter(lambda pair, k=k: pair[0] < k).count() for k in (100, 400, 800))
first = next(steps)


def parts():
    d = rows.partitionBy(3)
    yield d.count()
    e = d.map(lambda pair: (pair[1][:1], pair[0])).groupByKey(3)
    yield e.count()
    yield d.keys().max()
    yield e.mapValues(len).values().max()


made = dict(zip("pqrs", parts(), strict=True))
others = [call() for call in later]
rest = list(steps)
by_name = {"a": a, "c": c}
sizes = {name: rdd.count() for name, rdd in by_name.items()}
print("result:", counts, first, made, others, rest, sizes)
spark.stop()
