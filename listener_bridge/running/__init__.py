"""Unmodified PySpark programs with the plugin attached."""
