"""Searches sets of tests by branch and bound: the fewest errors, or the smallest set without avoidable errors."""
