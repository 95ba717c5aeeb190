"""MaxSAT-BDD: binary decision diagrams by SAT and MaxSAT, as printed by Hu, Huguet, Siala (2022).

- ``examples``: the rows in the form that the formulas need
- ``clauses``: constraints (1) to (9) of the encodings BDD1 and BDD2, one function each
- ``maxsat``: the MaxSAT form of BDD2, and a core-boosted linear search in place of Loandra, the paper's solver
- ``heuristic``: the tests of a CART tree, the only candidates of the paper's heuristic variant
- ``solve``: a diagram by any of these, or by the oblivious trees and graphs that the paper compares with

This is a reference for comparisons. The search in :mod:`proofwood.engines.bdd` proves the same results, and was faster
on every table tried.
"""

OF_ERRORS = ("maxsat", "heuristic", "greedy")
OF_FEATURES = ("bdd2", "bdd1")
VARIANTS = (*OF_ERRORS, *OF_FEATURES)
"""The variants of ``solve``. For the fewest errors: MaxSAT, a search over the tests of a CART tree, and the oblivious
trees and graphs of Kohavi and Li, with which the paper compares. For the fewest features: encodings BDD2 and BDD1."""
