"""Smallest trees by dynamic programming over boxes and row sets."""

from proofwood.engines.minimal.options import MinimalOptions
from proofwood.engines.minimal.solve import solve

__all__ = ["MinimalOptions", "solve"]
