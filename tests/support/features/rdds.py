"""RDDs."""

from __future__ import annotations

import operator
import tempfile
from collections.abc import Iterator
from typing import Any

from pyspark import StorageLevel

from tests.support.features.made import Step, pairs


def joins_and_groups(spark: Any, step: Step) -> Any:
    sums = pairs(spark).reduceByKey(operator.add, 3)
    counts = pairs(spark).mapValues(lambda _: 1).reduceByKey(operator.add, 5)
    joined = sums.join(counts)
    first = sorted(joined.collect())
    step()
    outer = sums.fullOuterJoin(counts.filter(lambda pair: pair[0] > 9))
    second = sorted(outer.collect())
    step()
    grouped = sums.groupWith(counts, joined).mapValues(lambda each: [sorted(one) for one in each])
    return first, second, sorted(grouped.collect()), sums.subtractByKey(counts).count()


def trees_of_sums(spark: Any, step: Step) -> Any:
    sums = pairs(spark).reduceByKey(operator.add, 8)
    first = sums.values().treeReduce(operator.add, 3)
    step()
    second = sums.values().treeAggregate(0, operator.add, operator.add, 2)
    step()
    return first, second, sums.values().aggregate(0, operator.add, operator.add)


def sorted_in_every_way(spark: Any, step: Step) -> Any:
    sums = pairs(spark).reduceByKey(operator.add, 4)
    ordered = sums.sortBy(lambda pair: -pair[1])
    first = ordered.take(3)
    step()
    within = sums.repartitionAndSortWithinPartitions(2, lambda k: k % 2)
    second = within.glom().collect()
    step()
    numbered = ordered.zipWithIndex()
    third = numbered.lookup(first[0])
    step()
    return first, second, third, sorted(sums.sortByKey(False).zipWithUniqueId().values().collect())


def products_of_two(spark: Any, step: Step) -> Any:
    sums = pairs(spark).reduceByKey(operator.add, 2)
    crossed = sums.cartesian(sums.filter(lambda pair: pair[0] < 3))
    first = crossed.count()
    step()
    return first, sorted(crossed.map(lambda two: two[0][1] - two[1][1]).distinct().collect()), sums.zip(sums).count()


def sets_of_elements(spark: Any, step: Step) -> Any:
    low = pairs(spark).filter(lambda pair: pair[0] < 12).distinct()
    high = pairs(spark).filter(lambda pair: pair[0] > 7).distinct()
    both = low.intersection(high)
    first = sorted(both.collect())
    step()
    return first, sorted(low.subtract(high).collect()), low.union(high).distinct().count()


def statistics(spark: Any, step: Step) -> Any:
    sums = pairs(spark).reduceByKey(operator.add, 4).values()
    told = sums.stats().count(), sums.max(), sums.histogram(3)
    step()
    return told, sums.top(3), sums.takeOrdered(2), sorted(sums.countByValue().items()), sums.countApproxDistinct()


def samples(spark: Any, step: Step) -> Any:
    sums = pairs(spark).map(lambda pair: (pair, 1)).reduceByKey(operator.add, 4).sortByKey()
    first = sums.sample(False, 0.5, 3).count()
    step()
    parts = [part.count() for part in sums.randomSplit([1.0, 2.0], 5)]
    step()
    return first, parts, len(sums.takeSample(False, 5, 1))


def a_pipe_through_a_process(spark: Any, step: Step) -> Any:
    sums = pairs(spark).reduceByKey(operator.add, 3)
    piped = sums.map(lambda pair: f"{pair[0]} {pair[1]}").pipe("cat")
    first = sorted(piped.collect())
    step()
    return first, piped.map(lambda line: (line[0], 1)).reduceByKey(operator.add).count()


def checkpoints(spark: Any, step: Step) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        spark.sparkContext.setCheckpointDir(folder)
        found = pairs(spark).reduceByKey(operator.add, 3)
        for turn in range(3):
            found = found.map(lambda pair: (pair[0] % 10, pair[1])).reduceByKey(operator.add, 3)
            if turn == 1:
                found.checkpoint()
            found.count()
            step()
        return sorted(found.collect())


def local_checkpoints(spark: Any, step: Step) -> Any:
    sums = pairs(spark).reduceByKey(operator.add, 3)
    sums.localCheckpoint()
    again = sums.map(lambda pair: (pair[1], pair[0])).groupByKey(2).mapValues(sorted)
    first = sorted(again.collect())
    step()
    return first, sums.count(), again.count()


def levels_of_storage(spark: Any, step: Step) -> Any:
    found = []
    for level in (StorageLevel.MEMORY_ONLY, StorageLevel.DISK_ONLY, StorageLevel.MEMORY_AND_DISK_2):
        sums = pairs(spark).reduceByKey(operator.add, 3).persist(level)
        found.append(sums.count())
        step()
        found.append(sorted(sums.map(lambda pair: (pair[0] % 3, pair[1])).reduceByKey(operator.add).collect()))
        step()
        if not level.useDisk:  # what is wholly cached with disk has let its shuffle go
            sums.unpersist(blocking=True)
            found.append(sums.count())
            step()
        sums.unpersist(blocking=True)
    return found


def files_written_and_read(spark: Any, step: Step) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        sums = pairs(spark).reduceByKey(operator.add, 3)
        sums.saveAsTextFile(f"{folder}/text")
        step()
        sums.saveAsPickleFile(f"{folder}/pickle")
        step()
        sums.saveAsSequenceFile(f"{folder}/sequence")
        back = spark.sparkContext.pickleFile(f"{folder}/pickle").join(sums)
        return sorted(back.collect()), spark.sparkContext.textFile(f"{folder}/text").count()


def a_barrier(spark: Any, step: Step) -> Any:
    from pyspark import BarrierTaskContext

    def together(part: Iterator[Any]) -> Iterator[int]:
        BarrierTaskContext.get().barrier()
        yield sum(v for _, v in part)

    sums = pairs(spark).reduceByKey(operator.add, 2)
    first = sorted(sums.barrier().mapPartitions(together).collect())
    step()
    return first, sums.count()


def a_loop_that_joins_itself(spark: Any, step: Step) -> Any:
    links = pairs(spark).map(lambda pair: (pair[0], pair[1] % 20)).distinct().groupByKey(3).mapValues(sorted).cache()
    ranks = links.mapValues(lambda _: 1.0)
    for _ in range(3):
        shared = links.join(ranks).flatMap(lambda one: [(to, one[1][1] / len(one[1][0])) for to in one[1][0]])
        ranks = shared.reduceByKey(operator.add).mapValues(lambda rank: 0.15 + 0.85 * rank)
        ranks.count()
        step()
    result = sorted((k, round(v, 6)) for k, v in ranks.collect())
    links.unpersist()
    return result


def broadcast_variables(spark: Any, step: Step) -> Any:
    sums = pairs(spark).reduceByKey(operator.add, 3)
    known = spark.sparkContext.broadcast(dict(sums.collect()))
    step()
    told = sums.map(lambda pair: (pair[1] % 3, known.value[pair[0]])).reduceByKey(operator.add)
    first = sorted(told.collect())
    step()
    known.unpersist()
    second = told.count()
    known.destroy()
    return first, second


def iterators_side_by_side(spark: Any, step: Step) -> Any:
    sums = pairs(spark).reduceByKey(operator.add, 3).sortByKey()
    one, other = sums.toLocalIterator(), sums.values().toLocalIterator()
    found = [next(one), next(other)]
    del sums
    step()
    return found, list(one), list(other)


def jobs_of_some_partitions(spark: Any, step: Step) -> Any:
    sums = pairs(spark).reduceByKey(operator.add, 4)
    first = spark.sparkContext.runJob(sums, lambda part: [len(list(part))], [1, 2])
    step()
    second = sums.take(1)
    step()
    return first, len(second), sums.isEmpty(), sums.getNumPartitions(), spark.sparkContext.runJob(sums, _len_of)


def _len_of(part: Iterator[Any]) -> list[int]:
    return [sum(1 for _ in part)]


def keys_by_functions(spark: Any, step: Step) -> Any:
    numbers = pairs(spark).values()
    keyed = numbers.keyBy(lambda n: n % 7)
    folded = keyed.foldByKey(0, operator.add, 3)
    first = sorted(folded.collect())
    step()
    combined = keyed.combineByKey(lambda n: [n], lambda a, b: [*a, b], lambda a, b: a + b, 2).mapValues(sorted)
    second = sorted(combined.collect())
    step()
    grouped = numbers.groupBy(lambda n: n % 3).mapValues(lambda each: sum(each))
    return first, second, sorted(grouped.collect()), sorted(keyed.countByKey().items()), folded.collectAsMap()


def coalesced_and_repartitioned(spark: Any, step: Step) -> Any:
    sums = pairs(spark).reduceByKey(operator.add, 6)
    few = sums.coalesce(2)
    many = few.repartition(5)
    first = many.count()
    step()
    shuffled = many.coalesce(3, shuffle=True).mapPartitionsWithIndex(lambda at, part: [(at, sum(1 for _ in part))])
    return first, sum(n for _, n in shuffled.collect()), few.count()


def a_union_of_what_is_partitioned_alike(spark: Any, step: Step) -> Any:
    one = pairs(spark).reduceByKey(operator.add, 3)
    other = pairs(spark).mapValues(lambda v: -v).reduceByKey(operator.add, 3)
    together = one.union(other)
    first = together.reduceByKey(operator.add, 3).count()
    step()
    return first, spark.sparkContext.union([one, other, one]).count(), sorted(one.leftOuterJoin(other).collect())


def jobs_by_groups_and_tags(spark: Any, step: Step) -> Any:
    context = spark.sparkContext
    context.setJobGroup("sums", "summed up", interruptOnCancel=True)
    sums = pairs(spark).reduceByKey(operator.add, 3)
    first = sums.count()
    step()
    context.cancelJobGroup("sums")
    second = sums.map(lambda pair: (pair[0] % 2, 1)).reduceByKey(operator.add).count()
    context.setLocalProperty("spark.jobGroup.id", None)
    return first, second
