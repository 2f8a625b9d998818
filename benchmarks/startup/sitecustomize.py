"""Loaded by the interpreter before the program: has what the program does watched (`benchmarks.program_job`).

So the program is `__main__` itself, with no frame below its own, as where people run it. Only the driver is watched,
not the Python workers that it starts.
"""

import os

if "SHUFFLE_BENCHMARK_PROGRAM" in os.environ:
    from benchmarks import program_job

    program_job.watch(os.environ.pop("SHUFFLE_BENCHMARK_PROGRAM"))
