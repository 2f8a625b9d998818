"""Advice on applications from their Spark history logs: what they would give back, how much, at what risk.

Responsible for what people and programs read: `report.Report`, of `advice.Advice`, one for each run of an application.
Refuses to know how logs are read (`replay.history`) and how policies decide (the core, driven by `replay.simulate`).
Invariant: nothing is claimed that a history log cannot show; what it does not show is said.

    from replay.advise import frames
    advice = frames.read(spark, ["hdfs:///spark-logs"])     # a DataFrame, a row for each run of an application
"""
