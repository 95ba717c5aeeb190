"""The methods of the papers as printed, one package each: references for comparisons, used with ``engine="paper"``.

- ``inferdt``: the smallest tree by incremental SAT (Avellaneda 2020)
- ``maxsat_bdd``: binary decision diagrams by SAT and MaxSAT, and the heuristics that the paper compares them with (Hu,
  Huguet, Siala 2022)
- ``odd``: the mixed-integer program for diagrams of a skeleton (Florio, Martins, Schiffer, Serra, Vidal 2023)
- ``rfxpl``: explanations of majority votes by SAT (Izza, Marques-Silva 2021)

The method of the fifth paper, ConTree (Brita, van der Linden, Demirović 2025), is the search in
:mod:`proofwood.engines.trees`; its rules can be switched off one by one.

No engine imports a paper (decisions/0078-papers-rooms). The packages here use the engine of their task for everything
that is not part of the paper: the clock, the incumbent and the bound, and the size of a diagram for chosen tests.
"""
