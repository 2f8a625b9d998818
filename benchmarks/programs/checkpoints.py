"""A lineage that grows, cut by a checkpoint every third round, and by a local one at the end."""

import random
import sys
import tempfile

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("checkpoints").getOrCreate()
sc = spark.sparkContext
megabytes = 3 * float(sys.argv[1] if len(sys.argv) > 1 else 1)
folder = tempfile.TemporaryDirectory()
sc.setCheckpointDir(folder.name)


def rows(part):
    chance = random.Random(part)
    return ((chance.randrange(10_000), chance.randbytes(500)) for _ in range(int(megabytes * 500)))


state = sc.parallelize(range(4), 4).flatMap(rows).partitionBy(4)
counts = []
for round_ in range(1, 8):
    state = state.map(lambda pair: ((pair[0] * 31 + 7) % 10_000, pair[1])).partitionBy(4)
    if round_ % 3 == 0:
        state.checkpoint()
    counts.append(state.count())

after = state.map(lambda pair: (pair[0] % 100, 1)).reduceByKey(lambda a, b: a + b)
after.localCheckpoint()
print("groups", after.count())
print("result:", counts, after.values().sum(), sorted(after.collect())[:3], state.keys().max())
spark.stop()
folder.cleanup()
