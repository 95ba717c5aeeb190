"""RFxpl: explanations of forests that vote by majority, as printed by Izza and Marques-Silva (2021).

- ``clauses``: the form of a forest in the paper, and its equations 3 to 6, which say that another class wins
- ``formula``: these clauses in an incremental SAT solver, which fixes features by assumptions

Sums are encoded by the cardinality networks in :mod:`proofwood.solvers.cardinality`. The searches that use the formula
(deletion of features, and MARCO for all explanations) are in :mod:`proofwood.explain.search`, as for all engines.

This is a reference for comparisons. The searches in :mod:`proofwood.explain.oracles` give the same answers, and were
faster on every forest tried.
"""
