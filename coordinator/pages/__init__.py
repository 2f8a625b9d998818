"""Live pictures of applications over HTTP, read-only, behind a port of their own.

Responsible for `pictures` (one picture an application, kept up to date) and `http` (who asks for which). Refuses to
know how a picture is drawn (`replay.timeline`). Invariant: whatever is asked, nothing is changed, and what the pages
take of the replica's time and memory is bounded.
"""
