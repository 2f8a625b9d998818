"""Figures for Prometheus: what a replica has done, and what stands on it."""
