"""Explanations of every row of a table."""
