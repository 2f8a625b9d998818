"""Benchmarks: one file a question, one runner, every figure beside a baseline of the same run.

    make bench                             all of them
    python -m benchmarks disk --megabytes 400

This is no test: nothing is asserted, machines differ. What counts is the ratio within one run.
"""
