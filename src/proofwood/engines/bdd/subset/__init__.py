"""Sets of tests of least error, and smallest sets without avoidable error, by branch and bound over sets."""

from proofwood.engines.bdd.subset.fewest import fewest_tests
from proofwood.engines.bdd.subset.fewest_run import FewestResult
from proofwood.engines.bdd.subset.options import FewestOptions, SubsetOptions
from proofwood.engines.bdd.subset.search import SubsetResult, best_subset, optimal_subsets, subset_errors

__all__ = [
    "FewestOptions",
    "FewestResult",
    "SubsetOptions",
    "SubsetResult",
    "best_subset",
    "fewest_tests",
    "optimal_subsets",
    "subset_errors",
]
