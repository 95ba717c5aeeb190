"""Smallest trees by incremental SAT, as InferDT finds them: the paper's own method, and a check of the search."""
