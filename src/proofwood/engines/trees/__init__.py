"""Optimal trees over thresholds by branch and bound (Brita, van der Linden, Demirović 2025; ConTree)."""

from proofwood.engines.trees.options import SearchOptions
from proofwood.engines.trees.solve import solve

__all__ = ["SearchOptions", "solve"]
