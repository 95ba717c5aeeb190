"""Engines for decision diagrams of a given skeleton: construction, local search, bounds, and exact search."""
