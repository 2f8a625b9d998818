"""Generated PySpark programs: every way in which Python can hold a handle, let it go, and come back to it.

Responsible for: the text of a program, from a seed: `main(spark)` returns what it computed, and is the same each time.
Refuses to know: what runs it, and whether anything is deleted meanwhile.
Invariant: the text runs to its end on every supported Python and Spark, whatever the seed; what it returns does not
hang on the order of rows.

A statement is made of names that are surely bound where it stands. What a block binds is known only inside of it, what
it binds anew keeps its kind.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

PRELUDE = '''"""Generated from seed {seed}."""
import asyncio
import contextlib
import functools
import threading
from concurrent.futures import ThreadPoolExecutor

from pyspark import StorageLevel
from pyspark.sql import functions as F

KEPT = {{}}


class Box:
    def __init__(self, inner):
        self.inner = inner

    def counted(self):
        return self.inner.count()

    @property
    def stepped(self):
        return step(self.inner)


def start(spark, rows, keys):
    return spark.sparkContext.parallelize(range(rows), 2).map(lambda n: (n % keys, n)).partitionBy(2)


def step(rdd):
    return rdd.map(lambda row: (row[1] % 7, row[0] + row[1])).partitionBy(2)


def summed(rdd):
    return rdd.reduceByKey(lambda a, b: a + b, 2)


def frame(spark, rdd):
    return spark.createDataFrame(rdd, "k long, v long")


def tail(rdd):
    return sorted(rdd.collect())[-3:]


def rows_of(df):
    return sorted(tuple(row) for row in df.collect())[-3:]


def explode(row):
    raise ValueError("planted")


@contextlib.contextmanager
def holding(value):
    yield value


def steps(rdd, times):
    for _ in range(times):
        rdd = step(rdd)
        yield rdd


def last_of(rdd, times):
    held = rdd
    try:
        for held in steps(rdd, times):
            yield held
    finally:
        KEPT[3] = step(held)


def stepper(rdd):
    def again():
        nonlocal rdd
        rdd = step(rdd)
        return rdd.count()

    return again


def deep(rdd, times):
    return rdd if times == 0 else deep(step(rdd), times - 1)


async def later(rdd):
    await asyncio.sleep(0)
    return tail(rdd)
'''

RDD, FRAME, BOX, LIST, SHELF, CALL, ITERATOR, ERROR = "r", "d", "box", "many", "shelf", "call", "it", "error"


_QUERIES = (
    "SELECT k, count(*) FROM {0} GROUP BY k",
    "SELECT k FROM {0} WHERE v >= (SELECT avg(v) FROM {0}) AND k IN (SELECT k FROM {0} WHERE v > 2)",
    "SELECT k FROM {0} WHERE v >= (SELECT avg(i.v) FROM {0} i WHERE i.k = {0}.k)",
    "WITH a AS (SELECT k, max(v) AS v FROM {0} GROUP BY k) SELECT a.k FROM a JOIN a AS b ON a.k = b.k",
)


@dataclass
class _Block:
    """Names that are bound here, by kind; and those that were bound around it."""

    names: dict[str, list[str]] = field(default_factory=dict)


class Author:
    """Writes one program."""

    def __init__(self, seed: int, statements: int = 14) -> None:
        self._seed = seed
        self._chance = random.Random(seed)
        self._left = statements
        self._lines: list[str] = []
        self._indent = 1
        self._blocks = [_Block()]
        self._count = 0
        self._captured: set[str] = set()  # names that a lambda reads when it is called: they stay

    def text(self) -> str:
        """The program."""
        self._say("out = []")
        self._new_rdd()
        while self._left > 0:
            self._statement()
        self._act()
        self._say("return out")
        return PRELUDE.format(seed=self._seed) + "\n\ndef main(spark):\n" + "\n".join(self._lines) + "\n"

    # ---- words ----

    def _say(self, line: str) -> None:
        self._lines.append("    " * self._indent + line)

    def _name(self, kind: str) -> str:
        """A new one, bound in this block."""
        self._count += 1
        name = f"{kind}{self._count}"
        self._blocks[-1].names.setdefault(kind, []).append(name)
        return name

    def _known(self, kind: str) -> list[str]:
        return [name for block in self._blocks for name in block.names.get(kind, [])]

    def _target(self, kind: str) -> str:
        """A new name, or one that loses what it held."""
        known = self._known(kind)
        return self._chance.choice(known) if known and self._chance.random() < 0.35 else self._name(kind)

    def _rdd(self) -> str:
        """An expression for an RDD that is there."""
        ways = [*self._known(RDD)]
        ways += [f"{name}.inner" for name in self._known(BOX)]
        ways += [f"{name}[{self._chance.randrange(-2, 2)}]" for name in self._known(LIST)]
        return self._chance.choice(ways or ["start(spark, 30, 4)"])

    def _new_of(self, rdd: str) -> str:
        """An expression for an RDD made from another one."""
        ways = (
            "step({0})",
            "step({0})",
            "summed({0})",
            "{0}.mapValues(lambda v: v + 1)",
            "{0}.filter(lambda row: row[1] % 3 > 0)",
            "{0}.sortByKey(numPartitions=2)",
            "{0}.groupByKey(2).mapValues(sum)",
            "{0}.union({1})",
            "summed({0}.union({1}))",
            "summed({0}).join(summed({1})).mapValues(sum)",
            "{0}.cogroup({1}, 2).mapValues(lambda pair: sum(map(sum, pair)))",
            "{0}.distinct(2)",
            "deep({0}, 2)",
            "{0}.subtractByKey(summed({1}).filter(lambda row: row[0] % 2), 2)",
            "{0}.coalesce(1)",
            "{0}.repartition(3)",
        )
        return self._chance.choice(ways).format(rdd, self._rdd())

    def _result_of(self, rdd: str) -> str:
        ways = (
            "tail({0})",
            "{0}.count()",
            "{0}.values().sum()",
            "len({0}.take(2))",
            "{0}.isEmpty()",
            "sorted({0}.countByKey().items())",
            "asyncio.run(later({0}))",
            "{0}.zipWithIndex().count()",
            "max({0}.keys().collect(), default=0)",
            "[{0}.count() for _ in range(2)]",
            "sum(1 for _ in {0}.toLocalIterator())",
        )
        return self._chance.choice(ways).format(rdd)

    # ---- statements ----

    def _statement(self) -> None:
        self._left -= 1
        choices = [*_SIMPLE, *_BLOCKS] if self._indent < 3 else _SIMPLE
        weights = [weight for _, weight in choices]
        [(statement, _)] = self._chance.choices(choices, weights)
        statement(self)

    def _body(self, most: int = 2) -> None:
        """Some statements in a block of their own."""
        self._indent += 1
        self._blocks.append(_Block())
        before = len(self._lines)
        for _ in range(self._chance.randint(1, most)):
            self._statement()
        if len(self._lines) == before:
            self._say("pass")
        self._blocks.pop()
        self._indent -= 1

    def _inside(self, *lines: str) -> None:
        self._indent += 1
        for line in lines:
            self._say(line)
        self._indent -= 1

    def _new_rdd(self) -> None:
        rows, keys = self._chance.choice((20, 40, 60)), self._chance.choice((3, 5, 9))
        self._say(f"{self._target(RDD)} = start(spark, {rows}, {keys})")

    def _derive(self) -> None:
        value = self._new_of(self._rdd())
        self._say(f"{self._target(RDD)} = {value}")

    def _act(self) -> None:
        rdd = self._rdd()
        made = rdd if self._chance.random() < 0.6 else self._new_of(rdd)
        self._say(f"out.append({self._result_of(made)})")

    def _swap(self) -> None:
        known = self._known(RDD)
        if len(known) > 1:
            one, other = self._chance.sample(known, 2)
            self._say(f"{one}, {other} = {other}, {one}")

    def _forget(self) -> None:
        here = self._blocks[-1].names.get(RDD, [])
        free = [name for name in here if name not in self._captured]
        if len(free) > 1:
            name = self._chance.choice(free)
            here.remove(name)
            self._say(f"del {name}")

    def _box(self) -> None:
        value = self._rdd()
        self._say(f"{self._target(BOX)} = Box({value})")

    def _class(self) -> None:
        """A box of a class of its own, which holds an RDD as long as it is there."""
        self._count += 1
        name, value, held = f"Box{self._count}", self._rdd(), self._rdd()
        self._say(f"class {name}(Box):")
        self._inside("pass")
        self._say(f"{name}.held = step({held})")
        box = self._target(BOX)
        self._say(f"{box} = {name}({value})")
        self._say(f"out.append(tail({box}.held))")
        self._say(f"out.append({box}.counted())")

    def _use_box(self) -> None:
        for name in self._known(BOX)[-1:]:
            self._say(f"out.append({self._chance.choice((f'{name}.counted()', f'tail({name}.stepped)'))})")

    def _list(self) -> None:
        one, other = self._rdd(), self._rdd()
        ways = (f"[{one}, step({other})]", f"[step(rdd) for rdd in ({one}, {other})]", f"list(steps({one}, 2))")
        self._say(f"{self._target(LIST)} = {self._chance.choice(ways)}")

    def _shelf(self) -> None:
        """Lists, dictionaries, tuples and objects in one another."""
        frame = self._some_frame()
        held = f"'k': [step({self._rdd()}), Box({self._rdd()})], 'f': ({frame}, {frame}.groupBy('k'))"
        self._say(f"{self._target(SHELF)} = {{{held}}}")

    def _use_shelf(self) -> None:
        uses = ("tail({0}['k'][0])", "{0}['k'][1].counted()", "{0}['f'][0].count()", "rows_of({0}['f'][1].count())")
        for name in self._known(SHELF)[-1:]:
            self._say(f"out.append({self._chance.choice(uses).format(name)})")

    def _call(self) -> None:
        rdd = self._rdd()
        self._captured.add(rdd)
        ways = (
            f"lambda: {self._result_of(rdd)}",
            f"functools.partial(tail, {rdd})",
            f"(lambda held: lambda: tail(held))({rdd})",
            f"stepper({rdd})",
        )
        self._say(f"{self._target(CALL)} = {self._chance.choice(ways)}")

    def _use_call(self) -> None:
        for name in self._known(CALL)[-1:]:
            self._say(f"out.append({name}())")

    def _iterator(self) -> None:
        """Begun here, read on later, or never."""
        rdd, name = self._rdd(), self._name(ITERATOR)
        self._say(f"{name} = {rdd}.toLocalIterator()")
        self._say(f"next({name}, None)")

    def _use_iterator(self) -> None:
        for name in self._known(ITERATOR)[-1:]:
            self._say(f"out.append(len(list({name})))")

    def _keep(self) -> None:
        self._say(f"KEPT[{self._chance.randrange(3)}] = {self._rdd()}")

    def _use_kept(self) -> None:
        self._say("out.append([KEPT[key].count() for key in sorted(KEPT)])")

    def _cache(self) -> None:
        rdd, name = self._new_of(self._rdd()), self._name(RDD)
        level = self._chance.choice(("MEMORY_ONLY", "MEMORY_AND_DISK", "DISK_ONLY"))
        self._say(f"{name} = {rdd}.map(tuple).persist(StorageLevel.{level})")
        self._say(f"out.append({self._result_of(name)})")
        if self._chance.random() < 0.5:
            self._say(f"{name}.unpersist()")

    def _checkpoint(self) -> None:
        rdd, name = self._new_of(self._rdd()), self._name(RDD)
        self._say(f"{name} = {rdd}.map(tuple)")
        self._say(f"{name}.localCheckpoint()")
        self._say(f"out.append({name}.count())")

    def _thread(self) -> None:
        rdd, other = self._rdd(), self._rdd()
        self._say("found = []")
        self._say(f"thread = threading.Thread(target=lambda held: found.append(tail(step(held))), args=({rdd},))")
        self._say("thread.start()")
        self._say(f"out.append({self._result_of(other)})")
        self._say("thread.join()")
        self._say("out.append(found)")

    def _futures(self) -> None:
        """They hold what they gave as long as somebody holds them."""
        rdd, other, name = self._rdd(), self._rdd(), self._name(LIST)
        self._say("with ThreadPoolExecutor(2) as pool:")
        self._inside(f"futures = [pool.submit(step, rdd) for rdd in ({rdd}, {other})]")
        self._say(f"{name} = [future.result() for future in futures]")
        if self._chance.random() < 0.5:
            self._say("futures = None")

    def _closed(self) -> None:
        """A generator that is let go of before its end."""
        rdd, name = self._rdd(), self._name(RDD)
        self._say(f"for {name} in last_of({rdd}, 3):")
        self._inside("break")
        self._say("out.append(KEPT[3].count())")

    def _chain(self) -> None:
        """An exception that is kept, with the one that caused it, and the frames of both."""
        rdd, other, name = self._rdd(), self._rdd(), self._name(ERROR)
        self._say("try:")
        self._inside("try:")
        self._inside(f"    step({rdd}).map(explode).count()")
        self._inside("except Exception as cause:", f"    raise RuntimeError({other}.count()) from cause")
        self._say("except RuntimeError as error:")
        self._inside(f"{name} = error")
        self._say(f"out.append('planted' in str({name}.__cause__))")

    def _fail(self) -> None:
        rdd = self._rdd()
        self._say("try:")
        self._inside(f"step({rdd}).map(explode).count()")
        self._say("except Exception as error:")
        self._inside("out.append('planted' in str(error))")

    def _frame(self) -> None:
        rdd = self._rdd()
        self._say(f"{self._target(FRAME)} = frame(spark, {rdd})")

    def _some_frame(self) -> str:
        known = self._known(FRAME)
        return self._chance.choice(known) if known else f"frame(spark, {self._rdd()})"

    def _derive_frame(self) -> None:
        one, other = self._some_frame(), self._some_frame()
        ways = (
            "{0}.groupBy('k').agg(F.sum('v').alias('v'))",
            "{0}.union({1})",
            "{0}.join({1}.groupBy('k').agg(F.max('v').alias('w')), 'k').selectExpr('k', 'v + w AS v')",
            "{0}.orderBy('v', 'k')",
            "{0}.distinct()",
            "{0}.repartition(3, 'k')",
            "{0}.filter('v % 2 = 0')",
            "{0}.groupBy('v').agg(F.count('*').alias('k')).select('k', 'v')",
            "{0}.exceptAll({1}.limit(0))",
            "{0}.join({1}.select('k').filter('k < 3'), 'k', 'left_semi')",
            "{0}.selectExpr('k', 'sum(v) OVER (PARTITION BY k) AS v').distinct()",
            "{0}.repartitionByRange(3, 'v', 'k')",
            "spark.range(20).selectExpr('id % 4 AS k', 'id AS v').unionByName({0})",
        )
        self._say(f"{self._target(FRAME)} = {self._chance.choice(ways).format(one, other)}")

    def _act_frame(self) -> None:
        ways = (
            "rows_of({0})",
            "{0}.count()",
            "len({0}.take(2))",
            "{0}.agg(F.sum('v')).collect()[0][0]",
            "len(list({0}.toLocalIterator()))",
        )
        self._say(f"out.append({self._chance.choice(ways).format(self._some_frame())})")

    def _frame_to_rdd(self) -> None:
        """Read at once: what a plan writes outside an execution stays until somebody reads it (docs/limits.md)."""
        held, name = self._some_frame(), self._target(RDD)
        self._say(f"{name} = {held}.rdd.map(lambda row: (int(row[0]), int(row[1])))")
        self._say(f"out.append({name}.count())")

    def _view(self) -> None:
        self._count += 1
        view = f"view{self._count}"
        self._say(f"{self._some_frame()}.createOrReplaceTempView('{view}')")
        self._say(f"out.append(spark.sql('{self._chance.choice(_QUERIES).format(view)}').count())")
        if self._chance.random() < 0.5:
            self._derive()
            self._say(f"out.append(spark.table('{view}').count())")
        self._say(f"spark.catalog.dropTempView('{view}')")

    def _cache_frame(self) -> None:
        held, name = self._some_frame(), self._name(FRAME)
        self._say(f"{name} = {held}.groupBy('k').agg(F.sum('v').alias('v')).persist()")
        self._say(f"out.append(rows_of({name}))")
        if self._chance.random() < 0.5:
            self._say(f"{name}.unpersist()")

    def _checkpoint_frame(self) -> None:
        """At once, or with the action that comes next."""
        held, name = self._some_frame(), self._name(FRAME)
        how = self._chance.choice(("", "", "eager=False"))
        self._say(f"{name} = {held}.groupBy('k').agg(F.sum('v').alias('v')).localCheckpoint({how})")
        self._say(f"out.append(rows_of({name}))")
        if self._chance.random() < 0.5:
            self._say(f"out.append({name}.join({self._some_frame()}, 'k').count())")

    # ---- blocks ----

    def _for(self) -> None:
        self._say(f"for turn in range({self._chance.randint(2, 3)}):")
        self._body()

    def _while(self) -> None:
        self._count += 1
        self._say(f"turns{self._count} = 2")
        self._say(f"while turns{self._count} > 0:")
        counter = self._count
        self._inside(f"turns{counter} -= 1")
        self._body()

    def _if(self) -> None:
        self._say(f"if len(out) % 2 == {self._chance.randrange(2)}:")
        self._body()
        if self._chance.random() < 0.6:
            self._say("else:")
            self._body()

    def _try(self) -> None:
        rdd = self._rdd()
        self._say("try:")
        self._body()
        self._inside(f"{rdd}.map(explode).count()")
        self._say("except Exception:")
        self._body(1)
        if self._chance.random() < 0.5:
            self._say("finally:")
            self._inside(f"out.append({self._result_of(self._rdd())})")

    def _with(self) -> None:
        value = self._new_of(self._rdd())
        name = self._name(RDD)
        self._say(f"with holding({value}) as {name}:")
        self._body()

    def _function(self) -> None:
        """Its body sees the names around it, and assigns its own only."""
        self._count += 1
        function, argument = f"f{self._count}", self._rdd()
        self._say(f"def {function}(held):")
        around = self._blocks
        self._blocks = [_Block({RDD: ["held"]})]
        self._body()
        self._inside(f"return {self._new_of('held')}")
        self._blocks = around
        self._say(f"{self._target(RDD)} = {function}({argument})")

    def _generator(self) -> None:
        rdd = self._rdd()
        name = self._name(RDD)
        self._say(f"for {name} in steps({rdd}, 3):")
        self._body(1)
        self._inside(*(["break"] if self._chance.random() < 0.3 else [f"out.append({name}.count())"]))


_SIMPLE: tuple[tuple[Callable[[Author], None], int], ...] = (
    (Author._new_rdd, 3),
    (Author._derive, 12),
    (Author._act, 14),
    (Author._swap, 2),
    (Author._forget, 3),
    (Author._box, 2),
    (Author._class, 2),
    (Author._use_box, 2),
    (Author._list, 3),
    (Author._shelf, 3),
    (Author._use_shelf, 4),
    (Author._call, 3),
    (Author._use_call, 3),
    (Author._iterator, 2),
    (Author._use_iterator, 2),
    (Author._keep, 1),
    (Author._use_kept, 1),
    (Author._cache, 2),
    (Author._checkpoint, 1),
    (Author._thread, 2),
    (Author._futures, 2),
    (Author._closed, 2),
    (Author._chain, 1),
    (Author._fail, 2),
    (Author._frame, 3),
    (Author._derive_frame, 5),
    (Author._act_frame, 6),
    (Author._frame_to_rdd, 2),
    (Author._view, 2),
    (Author._cache_frame, 2),
    (Author._checkpoint_frame, 2),
)
_BLOCKS: tuple[tuple[Callable[[Author], None], int], ...] = (
    (Author._for, 4),
    (Author._while, 2),
    (Author._if, 3),
    (Author._try, 2),
    (Author._with, 2),
    (Author._function, 3),
    (Author._generator, 2),
)


def program(seed: int, statements: int = 14) -> str:
    """The text of a program; the same one for the same seed, on every Python of the support range."""
    return Author(seed, statements).text()
