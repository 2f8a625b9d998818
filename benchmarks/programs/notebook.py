"""Cells of a notebook, typed one after the other: any name may be read again. Run by cells."""

# %%
import random
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("notebook").getOrCreate()
megabytes = 3 * float(sys.argv[1] if len(sys.argv) > 1 else 1)


# %%
def rows(part, _):
    chance = random.Random(part)
    for number in range(int(megabytes * 1_000)):
        yield number % 977, chance.randbytes(250)


sales = spark.sparkContext.parallelize(range(4), 4).mapPartitionsWithIndex(rows)
by_shop = sales.groupByKey(4).mapValues(list)
by_shop.count()

# %%
sizes = by_shop.mapValues(len)
sizes.sortBy(lambda pair: -pair[1]).take(3)

# %%
frame = sizes.toDF(["shop", "size"]).repartition(4, "shop")
frame.groupBy("size").count().orderBy("size").show(3)

# %%
top = frame.orderBy("size", "shop").limit(10)
first = top.collect()

# %%
# back to an earlier cell
again = by_shop.mapValues(lambda blocks: sum(map(len, blocks))).values().sum()

# %%
print("result:", again, [tuple(row) for row in first], frame.count())
