"""shufflectl: what a person at a terminal asks of coordinators, stores and logs.

Every verb that reads works against a server, a store or an exported log. `main` puts the verbs together, `verb` gives
each its options, `here` what it works with; one module a family of verbs.
"""
