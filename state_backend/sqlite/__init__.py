"""The state backend in one SQLite file: the default, and what one replica needs.

Responsible for: the contract on a local file, also among several processes. Refuses to know: anything above it.
Invariant: what was acknowledged is on disk (write-ahead log, `synchronous = FULL`), and every record has a checksum.
"""
