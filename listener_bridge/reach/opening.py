"""Eyes for a driver: the parts of a look, made for one session.

Responsible for: which parts there are in this Python, for this driver, as people chose.
Refuses to know: what the parts do.
Invariant: where names cannot be analysed every handle that lives counts; where nothing can be looked at nobody looks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING

from listener_bridge.reach import liveness
from listener_bridge.reach.calls import of_gateway
from listener_bridge.reach.handles import Handles, ReadNames, proxies_of, released_of
from listener_bridge.reach.regions import Regions
from listener_bridge.reach.sight import ProgramSight
from listener_bridge.reach.walk import Walker
from listener_bridge.tap.tap import Tap

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def eyes(spark: SparkSession, tap: Tap, uses_liveness: bool) -> ProgramSight:
    """The eyes of looks at this session's program, open."""
    calls = of_gateway(tap.driver.gateway, spark.sparkContext._jsc)  # noqa: SLF001 - PySpark has no public way
    read_names: ReadNames = liveness.dead_references if uses_liveness else _all_alive
    client = tap.driver.gateway._gateway_client  # noqa: SLF001 - py4j has no public way
    handles = Handles(proxies_of(client), read_names=read_names, released=released_of(client))
    sight = ProgramSight(calls, Regions(calls), handles, Walker(tap))
    try:
        sight.open()
    except BaseException:
        sight.close()
        raise
    return sight


def _all_alive(is_own: Callable[[FrameType], bool], wanted: liveness.Wanted | None = None) -> liveness.Dead:
    """No name is dead; what people call the handles is told all the same."""
    return replace(liveness.dead_references(is_own, wanted), references={})
