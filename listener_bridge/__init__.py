"""The driver's side of the shuffle lifecycle coordinator: it listens to Spark, reports, and carries out directives.

Invariant: it never raises into the driver and never blocks it. Without a coordinator the job is as without the bridge.
"""
