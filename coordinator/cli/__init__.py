"""shufflectl: what a person at a terminal asks of coordinators, stores and logs.

Responsible for verbs, and for answers that people and programs can read. Refuses to know rules. Invariant: every verb
that reads works the same against a server, a store or an exported log, and changes none of them.

`main` is where a call begins and ends, `families` lists the verbs, `command` puts them together, `verb` gives each its
options, `here` what it works with; one module a family of verbs:

    a call               main, families, command, verb, here, exits
    one application      looking, history, missing, travelling, drawing, changing
    many of them         reporting, proving, exporting, refused
    other people's runs  advising, simulating, learning
    processes            serving, running, showing, checking, choosing
    what is meant        finding, targets, recordings, dialing, spark
    what is shown        output, fitting, rows, stories, trees, reference
"""
