"""Comparison of optimal trees with other models on the same folds: how much accuracy a readable model loses."""

from proofwood.comparison.comparing import compare
from proofwood.comparison.growing import GrowingEnsemble, GrowingRegressor
from proofwood.comparison.models import default_models, models_of_times
from proofwood.comparison.one_hot import OneHotTable
from proofwood.comparison.result import ComparedModel, Comparison
from proofwood.comparison.survival import RatesOfTimes
from proofwood.estimators.validation import Interval

__all__ = [
    "ComparedModel",
    "Comparison",
    "GrowingEnsemble",
    "GrowingRegressor",
    "Interval",
    "OneHotTable",
    "RatesOfTimes",
    "compare",
    "default_models",
    "models_of_times",
]
