"""Targets of trees: what rows are to be told apart by, what a leaf costs, and how the native search gets them."""

from proofwood.problem.targets.base import Classes, RoundedTarget, SumTarget, Target, recorded_classes
from proofwood.problem.targets.numbers import Numbers, Rewards
from proofwood.problem.targets.rates import ExponentialRates, GammaMeans, PoissonRates, Rates
from proofwood.problem.targets.shares import ClassShares, Gini, LogLoss

__all__ = [
    "ClassShares",
    "Classes",
    "ExponentialRates",
    "GammaMeans",
    "Gini",
    "LogLoss",
    "Numbers",
    "PoissonRates",
    "Rates",
    "Rewards",
    "RoundedTarget",
    "SumTarget",
    "Target",
    "recorded_classes",
]
