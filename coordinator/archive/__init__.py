"""Where logs go that leave the store: files in a folder, or behind any URL that fsspec reads.

Responsible for keeping them so that a log is read as one, wherever its parts lie. Refuses to know the store, and when
something leaves it (`runtime.archiving`). Invariant: what counts as kept was read back.

    places        api, open, folder, remote
    what is kept  files, keeping, tries
"""
