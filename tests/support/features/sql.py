"""SQL texts."""

from __future__ import annotations

from typing import Any

from tests.support.features.made import Step, orders, rows, since, views


def a_common_table_expression_that_is_read_twice(spark: Any, step: Step) -> Any:
    with views(spark, orders=orders(spark)):
        found = spark.sql("""
            with sums as (select k, sum(v) as s from orders group by k)
            select a.k, a.s, b.s as t from sums a join sums b on a.k = b.k + 1""")
        first = rows(found)
        step()
        return first, found.count()


@since("4.1")
def a_recursive_query(spark: Any, step: Step) -> Any:
    with views(spark, orders=orders(spark)):
        found = spark.sql("""
            with recursive steps(n, s) as (
                select k, sum(v) from orders where k < 3 group by k
                union all
                select n + 1, s + n from steps where n < 12)
            select n, sum(s) as s from steps group by n""")
        first = rows(found)
        step()
        return first, rows(found.filter("n > 5"))


def subqueries_of_every_kind(spark: Any, step: Step) -> Any:
    with views(spark, orders=orders(spark), names=orders(spark).selectExpr("k as name", "v as w").distinct()):
        found = spark.sql("""
            select k, v, (select max(w) from names) as top,
                (select count(*) from names n where n.name = orders.k) as same
            from orders
            where k in (select name from names where w > 10) and exists (select 1 from names where name = k)
                and v > (select avg(v) from orders)""")
        first = rows(found)
        step()
        return first, found.groupBy("k").count().count()


def grouping_sets_and_rollups(spark: Any, step: Step) -> Any:
    with views(spark, orders=orders(spark)):
        cube = spark.sql("select k, v % 3 as m, sum(v) as s, grouping_id() as g from orders group by cube(k, v % 3)")
        total = rows(cube.filter("g = 3"))
        step()
        sets = spark.sql("select k, count(distinct v) as n from orders group by grouping sets ((k), ())")
        return total, cube.count(), rows(sets)


def pivots_back_and_forth(spark: Any, step: Step) -> Any:
    with views(spark, orders=orders(spark)):
        wide = spark.sql("select * from (select k, v % 2 as m, v from orders) pivot (sum(v) for m in (0 as a, 1 as b))")
        first = rows(wide)
        step()
        long = wide.unpivot("k", ["a", "b"], "name", "value")
        return first, rows(long.groupBy("name").sum("value"))


def lateral_views_and_samples(spark: Any, step: Step) -> Any:
    with views(spark, orders=orders(spark)):
        listed = spark.sql("select k, collect_list(v) as vs from orders group by k")
        listed.createOrReplaceTempView("listed")
        opened = spark.sql("select k, each from listed lateral view explode(vs) t as each")
        count = opened.count()
        step()
        sampled = spark.sql("select * from listed tablesample (100 percent)").count()
        spark.catalog.dropTempView("listed")
        step()
        return count, sampled, opened.count()


def a_table_that_is_made_filled_and_overwritten(spark: Any, step: Step) -> Any:
    with views(spark, orders=orders(spark)):
        spark.sql("drop table if exists sums")
        spark.sql("create table sums using parquet as select k, sum(v) as s from orders group by k")
        step()
        spark.sql("insert into sums select k + 100, count(*) from orders group by k")
        step()
        first = rows(spark.table("sums"))
        spark.sql("insert overwrite sums select k, max(v) from orders group by k distribute by k sort by k")
        step()
        second = rows(spark.table("sums"))
        spark.sql("drop table sums")
        return first, second


def buckets_that_need_no_exchange(spark: Any, step: Step) -> Any:
    spark.sql("drop table if exists bucketed")
    orders(spark).groupBy("k").count().write.bucketBy(3, "k").sortBy("k").saveAsTable("bucketed")
    step()
    table = spark.table("bucketed")
    joined = table.join(orders(spark).groupBy("k").sum("v"), "k")
    first = rows(joined)
    step()
    result = first, joined.count(), table.join(table.withColumnRenamed("count", "n"), "k").count()
    spark.sql("drop table bucketed")
    return result


def a_table_cached_by_a_statement(spark: Any, step: Step) -> Any:
    with views(spark, orders=orders(spark)):
        spark.sql("cache lazy table sums as select k, sum(v) as s from orders group by k")
        head = spark.sql("select count(*) from (select * from sums limit 1)").collect()[0][0]
        step()
        first = rows(spark.table("sums"))
        step()
        spark.sql("uncache table sums")
        step()
        second = rows(spark.sql("select sum(s) as s from sums"))
        spark.catalog.dropTempView("sums")
        return head, first, second


def sets_of_rows(spark: Any, step: Step) -> Any:
    with views(spark, orders=orders(spark)):
        low, high = "(select k from orders where k < 12)", "(select k from orders where k > 7)"
        found = [spark.sql(f"{low} {operator} {high}") for operator in ("intersect", "except", "union", "minus all")]
        counts = [each.count() for each in found]
        step()
        return counts, [rows(each) for each in found[:3]]


def windows_over_windows(spark: Any, step: Step) -> Any:
    with views(spark, orders=orders(spark)):
        ranked = spark.sql("""
            select k, v, row_number() over (partition by k order by v) as r,
                sum(v) over (partition by v % 3 order by k, v rows between 2 preceding and current row) as s
            from orders""")
        ranked.createOrReplaceTempView("ranked")
        best = rows(spark.sql("select * from ranked where r <= 2"))
        step()
        again = spark.sql("select sum(s), max(r) from ranked").collect()
        spark.catalog.dropTempView("ranked")
        return best, [tuple(row) for row in again]


def several_inserts_of_one_query(spark: Any, step: Step) -> Any:
    for table in ("low", "high"):
        spark.sql(f"drop table if exists {table}")
        spark.sql(f"create table {table} (k long, s long) using parquet")
    with views(spark, orders=orders(spark)):
        spark.sql("""
            from (select k, sum(v) as s from orders group by k)
            insert into low select k, s where k < 5
            insert into high select k, s where k >= 5""")
        step()
        found = rows(spark.table("low")), rows(spark.table("high"))
    for table in ("low", "high"):
        spark.sql(f"drop table {table}")
    return found


@since("4.1")
def a_script_with_variables(spark: Any, step: Step) -> Any:
    with views(spark, orders=orders(spark)):
        found = spark.sql("""
            begin
                declare top bigint default 0;
                set top = (select max(s) from (select sum(v) as s from orders group by k));
                while top > 100 do
                    set top = top / 2;
                end while;
                select k, sum(v) as s, top as t from orders group by k, top;
            end""")
        first = rows(found)
        step()
        return first, rows(found)


@since("4.0")
def a_text_that_is_run_at_once(spark: Any, step: Step) -> Any:
    with views(spark, orders=orders(spark)):
        found = spark.sql("execute immediate 'select k, count(*) as n from orders where v > ? group by k' using 10")
        first = rows(found)
        step()
        return first, found.count()


@since("4.0")
def a_query_by_pipes(spark: Any, step: Step) -> Any:
    with views(spark, orders=orders(spark)):
        found = spark.sql("""
            from orders |> where v > 3 |> aggregate sum(v) as s group by k |> order by s desc, k |> limit 5""")
        first = [tuple(row) for row in found.collect()]
        step()
        return first, found.count()


def parameters_and_frames_in_a_text(spark: Any, step: Step) -> Any:
    sums = orders(spark).groupBy("k").sum("v").toDF("k", "s")
    text = "select a.k, a.s from {a} a join {b} b on a.k = b.k where a.s > :least"
    found = spark.sql(text, {"least": 5}, a=sums, b=sums)
    del sums
    first = rows(found)
    step()
    return first, found.count()


def statistics_of_a_table(spark: Any, step: Step) -> Any:
    spark.sql("drop table if exists told")
    orders(spark).repartition(3, "k").write.saveAsTable("told")
    step()
    spark.sql("analyze table told compute statistics for all columns")
    step()
    found = spark.sql("describe extended told k").filter("info_name = 'distinct_count'").collect()[0][1]
    joined = rows(spark.table("told").groupBy("k").count().join(spark.table("told").groupBy("k").max("v"), "k"))
    spark.sql("drop table told")
    return found, joined


def dynamic_pruning_by_a_join(spark: Any, step: Step) -> Any:
    spark.sql("drop table if exists facts")
    orders(spark).selectExpr("v", "k % 4 as part").write.partitionBy("part").saveAsTable("facts")
    chosen = orders(spark).groupBy("k").count().filter("k < 3").selectExpr("k as part", "count as n")
    joined = spark.table("facts").join(chosen, "part").groupBy("part").sum("v", "n")
    first = rows(joined)
    step()
    second = rows(joined), chosen.count()
    spark.sql("drop table facts")
    return first, second
