"""Diagrams of a skeleton by CP-SAT."""
