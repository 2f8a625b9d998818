"""Scenario 16 with a real listener queue that is too short: Spark itself drops what we should have been told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.spark.bridge.conftest import Log, Run
from tests.spark.scenarios.conftest import deleted
from tests.support.own_spark import own_spark
from tests.support.spark import LOCAL, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]

CAPACITY = "spark.scheduler.listenerbus.eventqueue.shuffleLifecycle.capacity"
#: Somebody else on our queue, who takes his time; without him no burst is fast enough to overtake the tap.
SLOW = """package shufflelifecycle;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskStart;
public class Slow extends SparkListener {
  public void onTaskStart(SparkListenerTaskStart start) {
    try {
      Thread.sleep(100L);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
"""


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder: Path = tmp_path_factory.mktemp("spark")
    with own_spark(folder, LOCAL, **{CAPACITY: "50"}) as spark:
        yield Run(spark, folder, tmp_path_factory.mktemp("logs"))


@contextmanager
def slowed(run: Run, attachment: Any) -> Iterator[None]:
    driver = attachment._bridge._tap.driver
    slow = driver.construct(driver.load([SLOW]), "Slow")
    bus = run.spark.sparkContext._jsc.sc().listenerBus()
    bus.addToQueue(slow, "shuffleLifecycle")
    try:
        yield
    finally:
        bus.removeListener(slow)


def gaps(log: Log) -> list[Any]:
    return [gap for gap in log.events("gap_recorded") if gap.where == "bus"]


def test_16_events_that_spark_drops_are_a_gap_and_nothing_goes_until_the_jobs_of_then_have_ended(short: Run) -> None:
    held = short.gate()
    with short.attached() as (attachment, log):
        alone = short.keyed(reduces=1)  # one task waits, and leaves a core to the others
        assert alone.count() == 400
        short.settled(attachment)
        with short.job(short.again(alone, held).count, held) as waiting:
            wait_for(held.arrived, "the job that outlives the gap")
            with slowed(short, attachment):
                while not gaps(log):
                    assert short.spark.sparkContext.parallelize(range(60), 60).count() == 60
            wait_for(lambda: log.events("gap_recorded")[-1].resynced, "the truth after the last gap")
            assert list(log.events("gap_recorded")[-1].until)
            first = short.keyed()
            second = short.again(first)
            told = sorted(second.collect())
            short.settled(attachment)
            assert log.events("generation_expired") == []
            assert deleted(log) == []
            held.open()
            assert waiting.result() == 400
        assert told == sorted((n % 19, n % 20 + n) for n in range(400))
        gone = log.map_stages()[-2]
        wait_for(lambda: gone in deleted(log), "deletion to go on")
        assert sorted(second.collect()) == told
        assert log.events("premature_deletion") == []
