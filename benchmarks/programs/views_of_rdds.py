"""Data frames and temporary views made of RDDs, whose names are gone when they are read."""

import random
import sys

from pyspark.sql import Row, SparkSession

spark = SparkSession.builder.appName("views of RDDs").getOrCreate()
sc = spark.sparkContext
scale = float(sys.argv[1] if len(sys.argv) > 1 else 1)


def rows(part):
    chance = random.Random(part)
    return ((chance.randrange(2_000), chance.randbytes(400).hex()) for _ in range(int(1_000 * scale)))


counted = sc.parallelize(range(4), 4).flatMap(rows).groupByKey(4)
frame = spark.createDataFrame(counted.map(lambda pair: Row(k=pair[0], n=len(list(pair[1])))))
counted = sc.parallelize(range(4), 4).flatMap(rows).reduceByKey(max, 4)
spark.createDataFrame(counted, "k int, p string").createOrReplaceTempView("longest")
counted = None

one = frame.groupBy("n").count().orderBy("n").collect()
two = spark.sql("select count(*), max(p) from longest where k % 3 = 0").first()
both = frame.join(spark.table("longest"), "k").where("p > '8'")
three = both.count()
named = spark.table("longest").repartition(3, "k").rdd.map(lambda row: (row.k % 10, len(row.p)))
four = named.reduceByKey(lambda a, b: a + b).toDF(["k", "n"])
four.createOrReplaceTempView("lengths")
del four, named
five = spark.sql("select sum(n) from lengths").first()[0] + spark.sql("select count(*) from lengths").first()[0]
print("result:", [tuple(row) for row in one][:3], tuple(two)[0], two[1][:12], three, five, frame.count())
spark.stop()
