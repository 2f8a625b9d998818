"""What PySpark offers, feature by feature: short programs, each with something that may go too early between two steps.

Responsible for: what people use. Refuses to know: the plugin; what must hold of a program (`tests/spark/features`).
Invariant: a feature is a function of a session and of a step; it gives results that compare equal from run to run, and
leaves nothing behind in the session. Between two steps all that can go is let go.
"""
