"""The state backend: where the coordinator keeps what must survive.

Responsible for: one contract (`api`), its errors (`errors`), and three stores that keep it: memory, SQLite, etcd.
Refuses to know: applications, shuffles, events. Invariant: importing this package imports no store's machinery;
`open_backend` does when asked for one.
"""
