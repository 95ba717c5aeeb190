"""Diagrams by SAT, MaxSAT, RC2, CP-SAT and greedy growth: the papers' own methods, and checks of the search."""
