"""MaxSAT-BDD, binary decision diagrams by SAT and MaxSAT, as Hu, Huguet, Siala (2022) print it.

- ``examples``, ``clauses``: what the formulas see of the rows; constraints (1) to (9), a function each, for the
  encodings BDD1 and BDD2
- ``maxsat``: the MaxSAT form of BDD2, and a core-boosted linear search in the place of the paper's Loandra
- ``heuristic``: the tests of a CART tree, to which the paper's heuristic variant keeps
- ``solve``: a diagram by any of these, or by the oblivious trees and graphs that the paper compares with

A reference for comparisons: the search of :mod:`proofwood.engines.bdd` proves the same, faster on every table tried.
"""

OF_ERRORS = ("maxsat", "heuristic", "greedy")
OF_FEATURES = ("bdd2", "bdd1")
VARIANTS = (*OF_ERRORS, *OF_FEATURES)
"""What ``solve`` can follow: MaxSAT for fewest errors, a search over the tests of a CART tree, the oblivious trees and
graphs of Kohavi and Li, with which the paper compares; the encodings BDD2 and BDD1 for fewest features."""
