"""Formulas that say that a row has another class, for SAT solvers and certificates.

- ``majority``: the paper's clauses for majority votes (Izza, Marques-Silva 2021); its sums are the cardinality networks
  of :mod:`proofwood.solvers.cardinality`
- ``bound``: sums of scores, rounded where there are too many, in clauses that can be checked one by one
- ``lemmas``: clauses that refine it where it is too coarse
"""
