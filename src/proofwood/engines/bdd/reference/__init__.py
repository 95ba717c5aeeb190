"""Diagrams by SAT, MaxSAT and greedy growth: the papers' own methods, and checks of the search."""
