"""Formulas that say that a row has another class, for the engine that uses a SAT solver.

- ``majority``: the paper's clauses for majority votes (Izza, Marques-Silva 2021); its sums are the cardinality networks
  of :mod:`proofwood.solvers.cardinality`
- ``lemmas``: clauses that refine it where it is too coarse: a class must come before all others, not one
"""
