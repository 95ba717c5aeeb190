"""Decision diagrams of a given skeleton: construction, local search, bounds, and exact engines side by side."""
