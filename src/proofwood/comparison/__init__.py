"""An optimal tree beside other classifiers, on the same folds: what a readable model costs in accuracy."""

from proofwood.comparison.comparing import compare, default_models
from proofwood.comparison.result import ComparedModel, Comparison

__all__ = ["ComparedModel", "Comparison", "compare", "default_models"]
