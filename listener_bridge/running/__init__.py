"""Unmodified PySpark programs with the plugin attached.

Responsible for starting one as `python` would (`program`), from `shufflectl run` or from `spark-submit` (`submitted`),
and for attaching to the contexts that it makes (`contexts`). Refuses to know what the plugin does. Invariant: the
program imports (`names`), finds and returns what it would without us.
"""
