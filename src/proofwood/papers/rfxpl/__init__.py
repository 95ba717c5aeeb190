"""RFxpl, explanations of forests that vote by majority, as Izza and Marques-Silva (2021) print them.

- ``clauses``: a forest as the paper sees it, and equations 3 to 6: a class other than a given one wins
- ``formula``: these clauses in an incremental SAT solver, features fixed by assumptions

Sums are the cardinality networks of :mod:`proofwood.solvers.cardinality`. The searches that ask (deletion of features,
and MARCO for all explanations) are those of :mod:`proofwood.explain.search`, whatever the engine.

A reference for comparisons: the searches of :mod:`proofwood.explain.oracles` answer the same, faster on every forest
tried.
"""
