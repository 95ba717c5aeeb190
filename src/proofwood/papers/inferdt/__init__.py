"""InferDT: the smallest decision tree by incremental SAT, as printed by Avellaneda (2020).

- ``clauses``: equations (1) to (10), one function each
- ``solve``: Algorithm 3, the incremental step, which adds misclassified rows to the formula one by one; and DT_depth
  and DT_size, based on it

This is a reference for comparisons. The search in :mod:`proofwood.engines.minimal` proves the same results, and was
faster on every table tried.
"""
