"""No mixing of generations: what is computed again from a deleted shuffle is written again as a whole."""
