"""The wire: between the core's values and bytes, both ways, and nothing else.

Responsible for every form in which a value is stored or sent. Refuses to know what it means, and where its bytes go.
Invariant: what is read is what was written, or an error that names the place; what a release has written, every
later one reads.

    the log         codec, upcast, versions
    beside the log  records, snapshots, tables
    requests        messages, status
    files           logfile, framing, lessons
    all of them     shapes, sealing, bounds, numbers, errors
"""
