"""Three ways to use shuffles: a chain, a loop, an adaptive SQL query.

Responsible for computing something that can be compared. Refuses to know the plugin. Invariant: equal sizes give equal
results, in any run: all data come from seeded generators.

Sizes are megabytes (10^6 bytes) per shuffle; the data do not compress.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BLOCK_BYTES = 50_000
_MAPS = 4

Pair = tuple[int, bytes]


def _blocks(megabytes: int) -> Callable[[int, Iterable[int]], Iterator[Pair]]:
    each = megabytes * 1_000_000 // _MAPS // _BLOCK_BYTES

    def generate(partition: int, _: Iterable[int]) -> Iterator[Pair]:
        chance = random.Random(partition)
        for number in range(each):
            yield partition * each + number, chance.randbytes(_BLOCK_BYTES)

    return generate


def _step(salt: int) -> Callable[[Iterable[Pair]], Iterator[Pair]]:
    def move(pairs: Iterable[Pair]) -> Iterator[Pair]:
        return ((key * 31 + salt, block) for key, block in pairs)

    return move


def _weigh(pairs: Iterable[Pair]) -> Iterator[int]:
    yield sum(zlib.crc32(block) * (key % 1_000 + 1) for key, block in pairs)


def _source(spark: SparkSession, megabytes: int) -> Any:
    numbers = spark.sparkContext.parallelize(range(_MAPS), _MAPS)
    return numbers.mapPartitionsWithIndex(_blocks(megabytes))


def chain(spark: SparkSession, megabytes: int) -> str:
    """One job over five shuffles; every step has a name and only the last one is used."""
    rdd1 = _source(spark, megabytes).partitionBy(_MAPS)
    rdd2 = rdd1.mapPartitions(_step(1)).partitionBy(_MAPS)
    rdd3 = rdd2.mapPartitions(_step(2)).partitionBy(_MAPS)
    rdd4 = rdd3.mapPartitions(_step(3)).partitionBy(_MAPS)
    rdd5 = rdd4.mapPartitions(_step(4)).partitionBy(_MAPS)
    return str(sum(rdd5.mapPartitions(_weigh).collect()))


def loop(spark: SparkSession, megabytes: int) -> str:
    """Five rounds; each adds a shuffle to the lineage and counts."""
    return grow(spark, megabytes, rounds=5)


def grow(spark: SparkSession, megabytes: int, rounds: int) -> str:
    """So many rounds of it."""
    ranks = _source(spark, megabytes).partitionBy(_MAPS)
    counts = []
    for round_ in range(rounds):
        counts.append(ranks.count())
        ranks = ranks.mapPartitions(_step(round_)).partitionBy(_MAPS)
    return f"{counts} {sum(ranks.mapPartitions(_weigh).collect())}"


def sql(spark: SparkSession, megabytes: int) -> str:
    """Two adaptive joins and an aggregate over tables that are shuffled, not broadcast."""
    payload = (
        "concat_ws('', transform(sequence(1, 7), i -> sha2(concat(cast(id as string), '/', cast(i as string)), 512)))"
    )
    rows = megabytes * 1_000_000 // 550
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    facts = spark.range(0, rows, 1, _MAPS).selectExpr("id", "id % 1000 as k", f"{payload} as p")
    parts = spark.range(0, rows, 1, _MAPS).selectExpr("id", "id * 7 % 900 as m", f"{payload} as q")
    more = spark.range(0, rows, 1, _MAPS).selectExpr("id", f"{payload} as r")
    joined = facts.join(parts, "id").join(more, "id")
    answer = joined.groupBy("m").agg({"k": "sum", "p": "max", "q": "min", "r": "max"}).orderBy("m").collect()
    return str(zlib.crc32("\n".join(str(tuple(row)) for row in answer).encode()))


WORKLOADS: dict[str, Callable[[Any, int], str]] = {"chain": chain, "loop": loop, "sql": sql}
