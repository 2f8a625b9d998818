"""All features, in one list."""

from __future__ import annotations

import inspect
from types import ModuleType

from tests.support.features import frames, ml, pandas_on_spark, rdds, sql, streams
from tests.support.features.made import Feature


def _features(module: ModuleType) -> list[Feature]:
    own = [one for one in vars(module).values() if inspect.isfunction(one) and one.__module__ == module.__name__]
    return [one for one in own if not one.__name__.startswith("_")]


FEATURES = [feature for module in (sql, frames, rdds, streams, ml, pandas_on_spark) for feature in _features(module)]
