"""What PySpark offers, feature by feature: with every deletion as soon as it can be, the same results, nothing
computed twice, and nothing left over.

`-k` and a part of a feature's name runs it alone.
"""

from __future__ import annotations

from typing import Any

import pyspark
import pytest

from tests.spark.bridge.conftest import Run
from tests.spark.live_cut.conftest import attached, let_go_of_caches
from tests.support.features import ml
from tests.support.features.all import FEATURES
from tests.support.features.made import SINCE, Feature, version_of

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]

HERE = version_of(pyspark.__version__)
OFFERED = [feature for feature in FEATURES if getattr(feature, SINCE, HERE) <= HERE]


def result_of(feature: Feature, spark: Any, step: Any) -> Any:
    found = feature(spark, step)
    let_go_of_caches(spark)
    return found


@pytest.mark.parametrize("feature", OFFERED, ids=lambda feature: feature.__name__)
def test_a_feature_neither_notices_nor_leaves_anything(run: Run, feature: Feature) -> None:
    alone = result_of(feature, run.spark, lambda: None)
    with attached(run) as program:
        assert result_of(feature, run.spark, program.look) == alone
        if HERE >= (4, 0) or feature.__module__ != ml.__name__:  # `fit` has unread exchanges there (docs/limits.md)
            program.wait_gone(*program.written())
