"""ODD: the mixed-integer program of decision diagrams, as printed by Florio, Martins, Schiffer, Serra, Vidal (2023).

- ``slots``: nodes and arcs of the skeleton
- ``model``: equations 1 to 20; eq. 12 breaks the symmetry between nodes of a layer
- ``program``: variables and linear rows as arrays
- ``scipy``, ``scip``: the program in HiGHS, which is part of SciPy, and in SCIP, each in a separate process
- ``costs``: integer costs from a solver's floating-point bound
- ``decode``: a diagram from a solver's solution, whose cost is counted again
- ``solve``: first heuristics, then the program, then exact searches for a proof, since the solver's result is no proof

This is a reference for comparisons. The searches in :mod:`proofwood.engines.diagram` found and proved more on nearly
all tables tried. SCIP found 13 of the 200 best oblique diagrams (decisions/0074-learning-engines-that-went).
"""

VARIANTS = ("scipy", "scip")
"""The variants of ``solve``: "scipy" solves the program as printed with SciPy's solver, "scip" a smaller program with
SCIP."""
