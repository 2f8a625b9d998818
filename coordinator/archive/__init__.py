"""Where logs go that leave the store: files in a folder, or behind any URL that fsspec reads."""
