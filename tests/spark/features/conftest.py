"""One session of its own for all features."""

from tests.spark.live_cut.conftest import run

__all__ = ["run"]
