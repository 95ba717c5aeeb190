"""ODD, the mixed-integer program of decision diagrams, as Florio, Martins, Schiffer, Serra, Vidal (2023) print it.

- ``slots``, ``model``, ``program``: nodes and arcs of the skeleton; equations 1 to 20; variables and rows as arrays
- ``scipy``, ``scip``: the program in HiGHS, which SciPy carries, and in SCIP, each in a process of its own
- ``costs``, ``decode``: what a solver's bound says about costs; from its solution to a diagram, counted anew
- ``solve``: heuristics first, then the program, then a proof by exact searches, since a solver's word is none

A reference for comparisons: the searches of :mod:`proofwood.engines.diagram` find and prove more on nearly all tables
tried. SCIP found 13 of the 200 best oblique diagrams (decisions/0074-learning-engines-that-went).
"""

VARIANTS = ("scipy", "scip")
"""The program as printed, by the solver that comes with SciPy; and made smaller, by SCIP."""
