"""Comparison of optimal trees with other classifiers on the same folds: how much accuracy a readable model loses."""

from proofwood.comparison.comparing import compare
from proofwood.comparison.growing import GrowingEnsemble, GrowingRegressor
from proofwood.comparison.models import default_models
from proofwood.comparison.one_hot import OneHotTable
from proofwood.comparison.result import ComparedModel, Comparison
from proofwood.estimators.validation import Interval

__all__ = [
    "ComparedModel",
    "Comparison",
    "GrowingEnsemble",
    "GrowingRegressor",
    "Interval",
    "OneHotTable",
    "compare",
    "default_models",
]
