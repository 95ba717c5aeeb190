"""Diagrams of a skeleton by mixed-integer programming."""
