"""Greedy learners: tests by information gain, and those that a CART tree uses. Fast; they prove nothing."""
