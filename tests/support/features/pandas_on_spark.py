"""pandas on Spark."""

from __future__ import annotations

import warnings
from typing import Any

from tests.support.features.made import Step, orders, since


@since("4.0")  # before that, with an older NumPy
def frames_of_pandas(spark: Any, step: Step) -> Any:
    warnings.filterwarnings("ignore")
    frame = orders(spark).pandas_api()
    sums = frame.groupby("k").sum().sort_index()
    first = sums["v"].to_list()
    step()
    merged = sums.reset_index().merge(frame.groupby("k").size().to_frame("n").reset_index(), on="k")
    second = sorted(merged["n"].to_list())
    step()
    ranked = merged.sort_values(["v", "k"]).head(3)
    return first, second, ranked["k"].to_list(), len(merged), merged["v"].value_counts().sum()


@since("4.0")
def series_shifted_and_filled(spark: Any, step: Step) -> Any:
    warnings.filterwarnings("ignore")
    from pyspark import pandas

    frame = orders(spark).pandas_api().sort_values(["k", "v"]).reset_index(drop=True)
    shifted = frame["v"].shift(1).fillna(0)
    first = float(shifted.sum())
    step()
    rolled = frame["v"].rolling(3).sum().dropna()
    second = len(rolled)
    step()
    pivoted = frame.groupby("k")[["v"]].sum()
    both = pandas.concat([pivoted, pivoted])
    return first, second, len(both), sorted(both["v"].to_list())[:3], frame.describe()["v"]["count"]
