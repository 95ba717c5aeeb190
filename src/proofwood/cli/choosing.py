"""The option ``--cv`` of ``proofwood fit``, which chooses the size of a tree by cross-validation."""

# Imports inside functions are of modules that load numpy and scikit-learn, so that --help starts at once.

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any

from proofwood.cli.answers import INTEGER, NUMBER, described, listing, nullable, record
from proofwood.cli.corrections import one_of
from proofwood.cli.errors import stops_told
from proofwood.exceptions import DataError
from proofwood.hints import parameter

if TYPE_CHECKING:
    import polars as pl

MOST_DEPTH = 3
"""The greatest depth to try by default."""

_PARAMETERS = {"max_depth": INTEGER, "alpha": NUMBER, "min_samples_leaf": INTEGER}
SIZE = nullable(
    record(
        {
            "folds": INTEGER,
            "chosen": described(INTEGER, "index of the chosen candidate in candidates"),
            "best": described(INTEGER, "index of the candidate with the greatest mean score"),
            "standard_error": nullable(NUMBER, "standard error of the greatest mean score"),
            "candidates": listing(
                record(
                    {
                        **_PARAMETERS,
                        "accuracy": described(
                            NUMBER, "mean over the folds; of numbers R2, of times concordance, or what --scoring names"
                        ),
                        "leaves": described(NUMBER, "mean over the folds"),
                        "proved": described(INTEGER, "folds in which the tree is proved optimal"),
                    },
                    more={"max_leaf_nodes": described(INTEGER, "the most leaves, if they are limited")},
                )
            ),
        }
    ),
    "results of the cross-validation with --cv; else null",
)


def require_scoring(name: str | None, *, of_times: bool = False) -> None:
    """Raise DataError if there is no score of this name; the message suggests one.

    Parameters
    ----------
    name : name of a score of scikit-learn, or None
    of_times : whether it is a score of survival times instead
    """
    if name is None:
        return
    if of_times:
        from proofwood.estimators.survival_scores import SCORES

        one_of(name, list(SCORES), parameter("scoring", name))
        return
    from sklearn.metrics import get_scorer_names

    one_of(name, get_scorer_names(), parameter("scoring", name))


def choose_size(
    model: str, folds: int, settings: Mapping[str, Any], features: pl.DataFrame, labels: Any, **more: Any
) -> Any:
    """Fit a search over the sizes of trees and return it; print one line per candidate on standard error.

    Parameters
    ----------
    model : learner of the trees, "tree", "regressor" or "survival"
    folds : number of folds of the cross-validation
    settings : parameters of the tree; ``max_depth`` is the greatest depth to try, and ``alpha`` the only price to try
    features, labels : the training rows
    more : further arguments for ``fit``
    """
    from proofwood.estimators.optimal_regressor_cv import OptimalTreeRegressorCV
    from proofwood.estimators.optimal_survival_cv import OptimalSurvivalTreeCV
    from proofwood.estimators.optimal_tree_cv import OptimalTreeCV
    from proofwood.problem.tree import BY_DEPTH, check_depth

    if folds < 2:
        raise DataError(f"--cv {folds}: expected a number of folds from 2")
    deepest = settings.get("max_depth", MOST_DEPTH)
    check_depth(deepest, BY_DEPTH % "a cross-validation")
    given = {**settings, "max_depth": tuple(range(min(1, deepest), deepest + 1))}
    searches = {"tree": OptimalTreeCV, "regressor": OptimalTreeRegressorCV, "survival": OptimalSurvivalTreeCV}
    search: Any = searches[model]
    unknown = next((name for name in given if name not in signature(search).parameters), None)
    if unknown is not None:
        raise DataError(
            f"{parameter(unknown, given[unknown])} cannot be combined with --cv, whose search has no such option: "
            "leave out one of them"
        )
    with stops_told():  # a report is about the chosen tree, and so says nothing of candidates that were not tried
        return search(cv=folds, verbose=1, **given).fit(features, labels, **more)


def size_answer(tree: Any) -> dict[str, Any]:
    """The results of :func:`choose_size` as an answer with the schema :data:`SIZE`."""
    found = tree.cv_results_
    candidates = [
        {
            **params,
            "accuracy": found["mean_test_score"][k],
            "leaves": found["mean_n_leaves"][k],
            "proved": found["n_optimal"][k],
        }
        for k, params in enumerate(found["params"])
    ]
    return {
        "folds": tree.n_splits_,
        "chosen": tree.best_index_,
        "best": tree.top_index_,
        "standard_error": tree.standard_error_,
        "candidates": candidates,
    }
