"""Text files in, text files out: the word count of every tutorial, and what comes after it."""

import pathlib
import random
import sys
import tempfile

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("log analysis").getOrCreate()
sc = spark.sparkContext
lines_each = int(20_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))
folder = tempfile.TemporaryDirectory()
for day in range(3):
    chance = random.Random(day)
    with open(f"{folder.name}/day{day}.log", "w") as log:
        log.writelines(
            f"{chance.choice(('INFO', 'WARN', 'ERROR'))} host{chance.randrange(200)} took {chance.random()}\n"
            for _ in range(lines_each)
        )

lines = sc.textFile(f"{folder.name}/day*.log", 4)
words = lines.flatMap(str.split).map(lambda word: (word[:6], 1)).reduceByKey(lambda a, b: a + b)
words.saveAsTextFile(f"{folder.name}/words")
errors = lines.map(str.split).filter(lambda fields: fields[0] == "ERROR")
by_host = errors.map(lambda fields: (fields[1], float(fields[3]))).groupByKey(4)
slow = by_host.mapValues(max).filter(lambda pair: pair[1] > 0.99)
print("slow hosts", slow.count())
means = by_host.mapValues(lambda times: sum(times) / len(times)).sortBy(lambda pair: -pair[1])
means.map(lambda pair: f"{pair[0]}\t{pair[1]:.6f}").saveAsTextFile(f"{folder.name}/means")
written = sorted(sum(1 for _ in part.open()) for part in pathlib.Path(folder.name, "words").glob("part-*"))
print("result:", sum(written), slow.count(), sc.textFile(f"{folder.name}/means").take(2), means.count())
spark.stop()
folder.cleanup()
