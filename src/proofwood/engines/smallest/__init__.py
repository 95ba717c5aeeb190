"""Smallest trees by dynamic programming over boxes and row sets, or by refining witness trees."""

from proofwood.engines.smallest.options import MinimalOptions
from proofwood.engines.smallest.solve import solve

__all__ = ["MinimalOptions", "solve"]
