"""Two jobs at a time, from two threads over one shared RDD, and a thread pool over several frames."""

import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("threads").getOrCreate()
sc = spark.sparkContext
scale = float(sys.argv[1] if len(sys.argv) > 1 else 1)


def rows(part):
    chance = random.Random(part)
    return ((chance.randrange(1_000), chance.randbytes(500)) for _ in range(int(1_500 * scale)))


shared = sc.parallelize(range(4), 4).flatMap(rows).partitionBy(4)
print("shared", shared.count())
found = {}


def sizes():
    grouped = shared.groupByKey().mapValues(len)
    again = grouped.map(lambda pair: (pair[1], pair[0])).groupByKey(4)
    found["sizes"] = again.count()
    found["most"] = again.keys().max()


def blocks():
    firsts = shared.mapValues(lambda block: block[0]).reduceByKey(max)
    found["firsts"] = firsts.values().sum()
    found["sorted"] = firsts.sortBy(lambda pair: (pair[1], pair[0])).take(3)


both = [threading.Thread(target=work) for work in (sizes, blocks)]
for thread in both:
    thread.start()
for thread in both:
    thread.join()


def table(number):
    frame = spark.range(int(40_000 * scale), numPartitions=4).withColumn("k", F.xxhash64("id", F.lit(number)) % 50)
    groups = frame.repartition(4, "k").groupBy("k").agg(F.sum("id").alias("s"), F.count("*").alias("n"))
    return groups.where("n > 10").agg(F.sum("s")).first()[0], groups.count()


with ThreadPoolExecutor(2) as pool:
    tables = list(pool.map(table, range(4)))
print("result:", sorted(found.items()), tables, shared.keys().max())
spark.stop()
