"""What `spark-submit` takes for the driver's Python, or before an unmodified program: it attaches the plugin.

    spark-submit --conf spark.pyspark.driver.python=shuffle-lifecycle-python \\
                 --conf spark.shuffleLifecycle.policy=reachable … app.py ARG …
    spark-submit --conf spark.shuffleLifecycle.policy=reachable … "$(python -m listener_bridge)" app.py ARG …

The first is conf alone, so a driver that starts in a cluster can have it too; tried was a driver of one's own machine.

Responsible for what `spark-submit` would have done with the program itself: its name, its arguments, its exit code.
Refuses to take options of its own: all wishes are conf. Invariant: as of `program` and `contexts`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

GATEWAY = "PYSPARK_GATEWAY_PORT"  #: How PySpark finds the JVM that `spark-submit` has started.
USAGE = "usage: spark-submit … %s APP.PY [ARG …]: name the program to run"


def python() -> None:
    """The command `shuffle-lifecycle-python APP.PY [ARG …]`."""
    main(sys.argv[1:])


def main(arguments: list[str]) -> None:
    """Runs the first argument with the others."""
    from listener_bridge.running import contexts, program

    if not arguments:
        sys.exit(USAGE % __file__)
    contexts.attach_to_each({})
    _name_after(arguments[0])
    try:
        program.start(arguments[0], arguments[1:])
    except program.NoProgramError as error:
        sys.exit(str(error))


def _name_after(program: str) -> None:
    """Spark calls an application after the file that it was given, where nobody has named it.

    Without `spark-submit` it was given none, and a JVM that starts now would know nothing of the program's own conf.
    """
    if GATEWAY not in os.environ:
        return
    from pyspark import SparkContext

    SparkContext._ensure_initialized()  # noqa: SLF001 - as making a conf does: the JVM waits already
    system = SparkContext._jvm.java.lang.System  # type: ignore[union-attr] # noqa: SLF001
    if system.getProperty("spark.app.name") == Path(__file__).name:
        system.setProperty("spark.app.name", Path(program).name)


if __name__ == "__main__":
    main(sys.argv[1:])
