"""Optimal binary decision diagrams: the best set of tests first, then the smallest diagram over it."""
