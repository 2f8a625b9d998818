"""The gRPC services over a replica, thin.

Responsible for who is let in, how fast, and in which words a call ends. Refuses to know rules and the store. Invariant:
whatever is sent, its sender gets a reply or a status that says why there is none, and nobody else is harmed.

    the port       server, interfaces, certificates, options, web
    every call     service, reading, pace, statuses
    who calls      security, tokens
    single calls   calls, questions, shown, beside
    a session      sessions, line
"""
