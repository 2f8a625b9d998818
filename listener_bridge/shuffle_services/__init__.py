"""Adapters to what stores shuffle data, behind one contract (`api`)."""
