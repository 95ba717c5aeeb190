"""Formulas that say that a row of a box has another class, for SAT solvers and certificates."""
