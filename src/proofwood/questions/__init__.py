"""Questions about all trees of a fit's shape, answered by a few exact fits: a file for each question."""
