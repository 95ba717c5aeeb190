"""The methods of the papers as printed, a room each: references for comparisons, reached by ``engine="paper"`` alone.

- ``inferdt``: the smallest tree by incremental SAT (Avellaneda 2020)
- ``maxsat_bdd``: binary decision diagrams by SAT and MaxSAT, and the heuristics they are compared with (Hu, Huguet,
  Siala 2022)
- ``odd``: the mixed-integer program of diagrams of a skeleton (Florio, Martins, Schiffer, Serra, Vidal 2023)
- ``rfxpl``: explanations of majority votes by SAT (Izza, Marques-Silva 2021)

The method of the fifth paper, ConTree (Brita, van der Linden, Demirović 2025), is the search of
:mod:`proofwood.engines.trees` itself, whose rules can be switched off one by one.

No engine imports a paper (decisions/0078-papers-rooms). A room builds upon the engine of its task for what is not the
paper's: the clock, the incumbent and the bound, and the size of a diagram once its tests are chosen.
"""
