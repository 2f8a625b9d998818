"""A job as a class: each step puts its RDD into an attribute of `self`, and a later step may read any of them."""

import random
import sys

from pyspark.sql import SparkSession


class Job:
    def __init__(self, spark, megabytes):
        self.sc = spark.sparkContext
        self.megabytes = megabytes
        self.events = None
        self.sessions = None
        self.users = None

    def load(self):
        megabytes = self.megabytes

        def events(part, _):
            chance = random.Random(part)
            for _ in range(int(megabytes * 500)):
                yield chance.randrange(500), (chance.randrange(86_400), chance.randbytes(500))

        self.events = self.sc.parallelize(range(4), 4).mapPartitionsWithIndex(events).partitionBy(4)
        return self.events.count()

    def sessionize(self):
        self.sessions = self.events.groupByKey().flatMapValues(lambda seen: enumerate(sorted(seen)))
        self.sessions = self.sessions.map(lambda pair: ((pair[0], pair[1][0]), pair[1][1])).partitionBy(4)
        return self.sessions.count()

    def enrich(self):
        names = self.sc.parallelize([(user, f"user {user}") for user in range(500)], 2)
        self.users = self.sessions.map(lambda pair: (pair[0][0], pair[1][0])).join(names, 4)
        return self.users.values().map(lambda pair: pair[0]).sum()

    def run(self):
        found = [self.load(), self.sessionize(), self.enrich()]
        self.events = None
        found.append(self.users.map(lambda pair: pair[0] * len(pair[1][1])).sum())
        found.append(self.sessions.keys().map(lambda key: key[1]).max())
        return found


spark = SparkSession.builder.appName("classes").getOrCreate()
job = Job(spark, 4 * float(sys.argv[1] if len(sys.argv) > 1 else 1))
print("result:", job.run())
spark.stop()
