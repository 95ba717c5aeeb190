"""InferDT, the smallest decision tree by incremental SAT, as Avellaneda (2020) prints it.

- ``clauses``: equations (1) to (10), a function each
- ``solve``: Algorithm 3 (rows that a tree gets wrong come into the formula one by one), DT_depth and DT_size around it

A reference for comparisons: the search of :mod:`proofwood.engines.minimal` proves the same, faster on
every table tried.
"""
