"""A stream over files: `foreachBatch` with jobs of its own, beside a stateful count into memory."""

import json
import pathlib
import sys
import tempfile

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("stream").getOrCreate()
each = int(4_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))
folder = tempfile.TemporaryDirectory()
pathlib.Path(folder.name, "in").mkdir()
for number in range(3):
    with open(f"{folder.name}/in/{number}.json", "w") as file:
        file.writelines(
            json.dumps({"user": (n * 7 + number) % 300, "n": n, "text": f"{n:040d}"}) + "\n" for n in range(each)
        )

lines = spark.readStream.schema("user long, n long, text string").option("maxFilesPerTrigger", 1)
events = lines.json(f"{folder.name}/in")
totals = []


def each_batch(batch, number):
    users = batch.groupBy("user").agg(F.sum("n").alias("s"), F.max("text").alias("t")).repartition(3, "s")
    users.persist()
    heavy = users.where(f"s > {each}").count()
    totals.append((number, users.count(), heavy, users.agg(F.sum("s")).first()[0]))
    users.unpersist()


counting = events.groupBy("user").count().writeStream.format("memory").queryName("counts").outputMode("complete")
counted = counting.trigger(availableNow=True).start()
handled = events.writeStream.foreachBatch(each_batch).trigger(availableNow=True).start()
counted.awaitTermination()
handled.awaitTermination()
counts = spark.table("counts")
print("result:", sorted(totals), counts.count(), counts.agg(F.sum("count")).first()[0])
spark.stop()
folder.cleanup()
