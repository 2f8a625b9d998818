"""The wire: between the core's values and bytes, both ways, and nothing else."""
