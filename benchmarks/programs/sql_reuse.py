"""SQL text: a CTE that is used twice, a scalar subquery, a union of both halves, and the same query again."""

import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("SQL").getOrCreate()
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
rows = int(60_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))
spark.range(rows, numPartitions=4).selectExpr(
    "id", "pmod(xxhash64(id), 500) as k", "pmod(xxhash64(id, 1), 1000) as v", "sha2(cast(id as string), 256) as p"
).createOrReplaceTempView("facts")

query = """
    with sums as (select k, sum(v) as total, max(p) as p from facts group by k),
         days as (select k, v, count(*) as n from facts group by k, v)
    select a.k, a.total, b.total as other, d.n
    from sums a join sums b on a.k = b.k + 1 join (select k, max(n) as n from days group by k) d on d.k = a.k
    where a.total > (select avg(total) from sums)
    union all
    select k, total, 0, 0 from sums where total <= (select avg(total) from sums)
    order by 1
"""
found = spark.sql(query).collect()
again = spark.sql(query)
print("again", again.count())
top = again.where("other > 0").limit(3).collect()
missing = spark.sql("select count(*) from facts f where not exists (select 1 from facts g where g.k = f.id)").first()[0]
spark.catalog.dropTempView("facts")
print("result:", len(found), sum(row.total for row in found), [tuple(row) for row in top], missing)
spark.stop()
