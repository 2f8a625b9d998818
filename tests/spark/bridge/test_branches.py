"""What the coordinator learns where a branch that stayed is written again beside one that was lost."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.support.spark import shuffle_of, wait_for

pytestmark = pytest.mark.spark


def test_a_branch_that_stayed_is_lost_to_the_coordinator_too(run: Any) -> None:
    def both(rdd: Any, beside: Any) -> tuple[Any, Any, Any]:
        left, right = run.again(rdd), run.again(rdd)
        whole = run.spark.sparkContext.union([left, right, beside])
        return left, right, run.keep(whole.reduceByKey(lambda one, other: one + other, 3))

    expected = sorted(both(run.keyed(), run.again(run.keyed(maps=1, reduces=1)))[-1].collect())
    with run.attached() as (attachment, log):
        held = run.gate()
        rows = run.keyed()
        left, right, sums = both(rows, run.again(run.keyed(maps=1, reduces=1), held))
        with run.job(lambda: sorted(sums.collect()), held) as job:
            a, c1, c2 = (shuffle_of(rdd) for rdd in (rows, left, right))
            wait_for(lambda: a in log.app_shuffles("generation_deleted"), "A to go")
            tracker = attachment._bridge._tap.driver.map_output_tracker
            output = tracker.shuffleStatuses().get(c2).get().mapStatuses()[0]
            tracker.unregisterMapOutput(c2, 0, output.location())
            held.open()
            assert job.result() == expected
        run.settled(attachment)
        written = Counter(log.map_stages())
        assert (written[a], written[c1], written[c2]) == (2, 2, 2)
        generations = log.generations()
        assert {c1, c2} <= set(log.app_shuffles("generation_lost"))
        assert [generations[missed.shuffle_id] for missed in log.events("premature_deletion")] == [a]
        gone = [{generations[one] for one in recovery.gone} for recovery in log.events("recovery_opened")]
        assert gone == [{a}, {c1, c2}], "the stage that reads both is told once"
